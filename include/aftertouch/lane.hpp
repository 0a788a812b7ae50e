// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/hash.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Lanes: slices of a source's keys, which are handled beside each other (L2).

namespace aftertouch {

/// The lane of a key, of so many: by the FNV-1a hash of its form (`append_key_form`), so one key is
/// always in one lane. *Requires* at least one lane.
[[nodiscard]] constexpr std::size_t lane_of(std::string_view form, std::size_t lanes) noexcept {
    return static_cast<std::size_t>(fnv1a(form) % lanes);
}

/// What decides which lane a key is dealt to: all of it, by the hash of its form, or some of its
/// parts, the *shard*.
class LaneRule {
public:
    LaneRule() = default;
    /// By the parts at these places of the key.
    explicit LaneRule(std::vector<std::size_t> parts) : parts_{std::move(parts)} {}

    /// A whole number is a shard's number: its lane is what is left when it is divided by `lanes`
    /// (as an unsigned number), so that as many shards as lanes have one each. *Requires* at least
    /// one lane.
    [[nodiscard]] std::size_t lane(
        std::span<const Cell> key, std::span<const KeyFold> folds, std::size_t lanes) {
        form_.clear();
        if (parts_.empty()) { append_key_form(form_, key, folds); }
        if (parts_.size() == 1 && key[parts_.front()].kind() == Kind::integer) {
            return static_cast<std::uint64_t>(key[parts_.front()].as_integer()) % lanes;
        }
        for (const std::size_t part : parts_) { append_key_form(form_, key[part], folds[part]); }
        return lane_of(form_, lanes);
    }
    /// As a checkpoint keeps it: the places, with dots between; empty for all.
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const std::size_t part : parts_) {
            text += (text.empty() ? "" : ".") + std::to_string(part);
        }
        return text;
    }

private:
    std::vector<std::size_t> parts_;
    std::string form_; // kept for its storage
};

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
