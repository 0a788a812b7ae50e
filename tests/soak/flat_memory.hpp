// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <aftertouch/aftertouch.hpp>
#include <support/soak.hpp>

/// \file
/// A handler that is a thousand times slower than its writers: how much memory its program takes
/// while the log grows, and while it is handled.

namespace soak {

namespace at = aftertouch;

struct Reading {
    std::int64_t id = 0;
    std::string text;
};

/// What this program holds in memory now.
[[nodiscard]] inline std::int64_t resident_kilobytes() {
    std::ifstream file{"/proc/self/status"};
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("VmRSS:")) { return std::atoll(line.c_str() + 6); }
    }
    return 0;
}

struct Growth {
    std::int64_t written = 0;
    std::int64_t handled = 0;
    std::int64_t before_kilobytes = 0; ///< when the first batches were handled
    std::int64_t most_kilobytes = 0;   ///< from then on
};

/// Follows "reading" in `database` while `write(from, to)` inserts these ids through another one.
template <class Database, class Write>
[[nodiscard]] Growth follow_slowly(Database& database, std::int64_t changes, Write write) {
    constexpr std::int64_t chunk = 10'000;
    std::atomic<std::int64_t> handled{0};
    const auto slow = [&](const at::Batch<Reading>& batch, auto&) {
        handled += static_cast<std::int64_t>(batch.changes().size());
        std::this_thread::sleep_for(std::chrono::milliseconds{500});
    };
    at::Pipeline pipeline{
        at::source<Reading>().images(), slow, database, {.name = "slow", .observer = {}}};
    pipeline.start();
    write(1, chunk);
    while (handled < 1'000) { std::this_thread::sleep_for(std::chrono::milliseconds{10}); }

    Growth growth{.written = chunk, .before_kilobytes = resident_kilobytes()};
    const auto look = [&] {
        growth.most_kilobytes = std::max(growth.most_kilobytes, resident_kilobytes());
    };
    for (; growth.written < changes; growth.written += chunk, look()) {
        write(growth.written + 1, growth.written + chunk);
    }
    const std::chrono::seconds longer{test::is_night() ? 120 : 8};
    for (const auto end = std::chrono::steady_clock::now() + longer;
        std::chrono::steady_clock::now() < end; look()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    growth.handled = handled;
    pipeline.stop();
    return growth;
}

} // namespace soak
