// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <support/soak.hpp>

/// \file
/// What a course of the soak came to, and how what was handed over is compared with what writers
/// say they committed.

namespace soak {

/// `AFTERTOUCH_SOAK`: `night`, or how many changes.
[[nodiscard]] inline std::int64_t wanted_changes() {
    const char* text = std::getenv("AFTERTOUCH_SOAK");
    if (text == nullptr) { return 200'000; }
    return test::is_night() ? 10'000'000 : std::max(1'000LL, std::atoll(text));
}

struct Verdict {
    std::uint64_t seed = 0;
    std::int64_t changes = 0;
    std::int64_t handled = 0;
    int kills = 0;
    std::int64_t pruned = 0;
    std::int64_t log_rows_at_end = 0;
    std::int64_t peak_kilobytes = 0; ///< of a follower's memory
    std::chrono::milliseconds drained_in{};
    std::vector<std::string> faults{};

    [[nodiscard]] std::string text() const {
        std::string all = "AFTERTOUCH_SEED=" + std::to_string(seed) + ": " +
                          std::to_string(changes) + " changes, " + std::to_string(handled) +
                          " entries, " + std::to_string(kills) + " kills, " +
                          std::to_string(pruned) + " prunings, drained in " +
                          std::to_string(drained_in.count()) + " ms, peak " +
                          std::to_string(peak_kilobytes) + " kB";
        for (std::size_t i = 0; i < faults.size() && i < 5; ++i) { all += "; " + faults[i]; }
        return all;
    }
};

/// The states of one key: its row's version, or nothing where the row is gone.
using States = std::vector<std::optional<std::int64_t>>;
using StatesOfKeys = std::map<std::string, States>;

/// A key and one of its states, as truth and ledger tell it.
struct Said {
    std::string key;
    std::optional<std::int64_t> version;
};

[[nodiscard]] inline StatesOfKeys states_of(std::vector<Said> all) {
    StatesOfKeys states;
    for (Said& said : all) { states[std::move(said.key)].push_back(said.version); }
    return states;
}

/// Every state that a key ever had must be told, in order, each once.
inline void compare_images(const std::string& source, const StatesOfKeys& truth,
    const StatesOfKeys& told, std::vector<std::string>& faults) {
    for (const auto& [key, wanted] : truth) {
        const auto found = told.find(key);
        const States& got = found == told.end() ? States{} : found->second;
        if (got == wanted) { continue; }
        const auto [one, another] =
            std::mismatch(wanted.begin(), wanted.end(), got.begin(), got.end());
        faults.push_back(source + ' ' + key + ": " + std::to_string(wanted.size()) +
                         " states, told " + std::to_string(got.size()) + ", different from " +
                         std::to_string(one - wanted.begin()));
    }
    for (const auto& [key, states] : told) {
        if (!truth.contains(key)) { faults.push_back(source + ' ' + key + " is made up"); }
    }
}

/// Some of a key's states, never an older one behind a newer one, and the last one at the end.
inline void compare_reads(
    const StatesOfKeys& truth, const StatesOfKeys& read, std::vector<std::string>& faults) {
    for (const auto& [key, all] : truth) {
        const auto found = read.find(key);
        if (found == read.end() || found->second.back() != all.back()) {
            faults.push_back("touched item " + key + ": its last state wasn't read");
            continue;
        }
        auto place = all.begin();
        for (const auto& state : found->second) {
            place = std::find(place, all.end(), state);
            if (place == all.end()) {
                faults.push_back("touched item " + key + ": read out of order");
                break;
            }
        }
    }
}

} // namespace soak
