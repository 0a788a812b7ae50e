// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>

/// \file
/// What the environment chooses for tests that draw at random, or that take long.

namespace test {

/// Whether `AFTERTOUCH_SOAK=night` asks for the longer runs.
[[nodiscard]] inline bool is_night() {
    const char* text = std::getenv("AFTERTOUCH_SOAK");
    return text != nullptr && std::string_view{text} == "night";
}

/// What to draw from: `AFTERTOUCH_SEED` repeats a run. Without it a run by day is the same each
/// time, so that a change is judged by what it changed; a run by night looks at something new.
[[nodiscard]] inline std::uint64_t chosen_seed() {
    if (const char* text = std::getenv("AFTERTOUCH_SEED"); text != nullptr) {
        return std::strtoull(text, nullptr, 10);
    }
    return is_night() ? std::random_device{}() : 20'260'101;
}

/// How much of a suite is run: every `stride()`-th point (`AFTERTOUCH_FAULT_STRIDE`, for
/// sanitizers and other slow builds).
[[nodiscard]] inline int stride() {
    const char* text = std::getenv("AFTERTOUCH_FAULT_STRIDE");
    const int asked = text == nullptr ? 1 : std::atoi(text);
    return asked < 1 ? 1 : asked;
}

} // namespace test
