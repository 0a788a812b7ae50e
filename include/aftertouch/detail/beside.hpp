// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

/// \file
/// Runs several things beside each other, and waits for all.

namespace aftertouch::detail {

/// Calls `work(i)`, which throws nothing, for each i below `count`: on threads of their own but for
/// the first, and for those that no thread can be had for.
template <class Work>
void run_beside(std::size_t count, const Work& work) {
    std::vector<std::thread> threads;
    std::size_t started = 1;
    try {
        threads.reserve(count);
        for (; started < count; ++started) {
            threads.emplace_back([&work, started] { work(started); });
        }
    } catch (...) {
        // No thread or no memory for one: the rest one behind the other.
    }
    if (count != 0) { work(std::size_t{0}); }
    for (; started < count; ++started) { work(started); }
    for (std::thread& thread : threads) { thread.join(); }
}

} // namespace aftertouch::detail
