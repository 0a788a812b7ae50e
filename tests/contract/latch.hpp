// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

/// \file
/// Lets a test wait for a handler or something else, and a handler for a test.

namespace contract {

/// Closed until somebody opens it, then open for good. *Threads*: any.
class Latch {
public:
    void open() {
        {
            const std::lock_guard guard{mutex_};
            open_ = true;
        }
        changed_.notify_all();
    }

    /// *Throws* after a minute: a test must not hang.
    void wait() {
        if (!wait_for(std::chrono::minutes{1})) {
            throw std::runtime_error{"nobody opened the latch"};
        }
    }
    bool wait_for(std::chrono::milliseconds time) {
        std::unique_lock guard{mutex_};
        return changed_.wait_for(guard, time, [&] { return open_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

/// Whether it comes true before long.
template <class Condition>
[[nodiscard]] bool comes_true(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (std::chrono::steady_clock::now() < until) {
        if (condition()) { return true; }
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    return false;
}

} // namespace contract
