// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <soak/judge.hpp>
#include <soak/program.hpp>
#include <support/soak.hpp>

/// \file
/// What one course of the soak is.

namespace soak {

struct Course {
    bool wal = true;
    std::int64_t changes = 0;
    int writers = 3;
    std::vector<std::string> follower{}; ///< words for the follower
    std::string sabotage{};   ///< SQL behind the library's back, before the writers begin
    bool drop_guards = false; ///< the triggers against REPLACE are taken off
    std::uint64_t seed = test::chosen_seed();
};

} // namespace soak
