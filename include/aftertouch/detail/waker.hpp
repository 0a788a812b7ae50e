// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

/// \file
/// Hints that there is news, inside a process: for every engine. Polling stays the truth (K7).

namespace aftertouch::detail {

/// Wakes one waiting thread; writes of other processes are found by polling. *Threads*: `notify`
/// from any, `wait` from one.
class Waker {
public:
    void notify() noexcept {
        {
            const std::lock_guard lock{mutex_};
            called_ = true;
        }
        changed_.notify_one();
    }

    /// Returns at a hint (true) or when the time is over.
    bool wait(std::chrono::microseconds timeout) {
        std::unique_lock lock{mutex_};
        const bool called = changed_.wait_for(lock, timeout, [&] { return called_; });
        called_ = false;
        return called;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool called_ = false;
};

/// The wakers of the pipelines over one `Database`. *Threads*: any.
template <class W>
class WakeList {
public:
    void add(W& waker) {
        const std::lock_guard lock{mutex_};
        wakers_.push_back(&waker);
    }
    void remove(W& waker) noexcept {
        const std::lock_guard lock{mutex_};
        std::erase(wakers_, &waker);
    }
    /// Wakes all but the one who calls.
    void notify_all(const W* caller = nullptr) noexcept {
        const std::lock_guard lock{mutex_};
        for (W* waker : wakers_) {
            if (waker != caller) { waker->notify(); }
        }
    }

private:
    std::mutex mutex_;
    std::vector<W*> wakers_;
};

} // namespace aftertouch::detail
