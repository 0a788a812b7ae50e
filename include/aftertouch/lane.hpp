// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <aftertouch/hash.hpp>

/// \file
/// Lanes: slices of a source's keys, which are handled beside each other (L2).

namespace aftertouch {

/// The lane of a key, of so many: by the FNV-1a hash of its form (`append_key_form`), so one key is
/// always in one lane. *Requires* at least one lane.
[[nodiscard]] constexpr std::size_t lane_of(std::string_view form, std::size_t lanes) noexcept {
    return static_cast<std::size_t>(fnv1a(form) % lanes);
}

/// How a lane's part is made sure of, before it is handled.
enum class Claim {
    none,    ///< nobody else may have it
    if_free, ///< unless another instance has it in hand
    awaited  ///< waiting for another instance that has it in hand
};

/// What a lane's batch is committed as.
struct LaneShare {
    std::int64_t deal = 0;    ///< of which it is the lane's part
    std::size_t lane = 0;     ///< counted from 0
    std::int64_t version = 0; ///< that the pipeline's checkpoint must still have: who has taken it
                              ///< over has raised it
    Claim claim = Claim::none;
};

} // namespace aftertouch
