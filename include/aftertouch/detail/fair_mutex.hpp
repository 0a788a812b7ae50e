// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

/// \file
/// A mutex that is had in the order in which it was asked for: a pipeline that works through a
/// backlog on a shared connection must not keep the application waiting for more than a batch.

namespace aftertouch::detail {

class FairMutex {
public:
    void lock() {
        std::unique_lock guard{mutex_};
        const std::uint64_t ticket = next_++;
        turn_.wait(guard, [&] { return ticket == serving_; });
    }
    void unlock() {
        {
            const std::lock_guard guard{mutex_};
            ++serving_;
        }
        turn_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable turn_;
    std::uint64_t next_ = 0;
    std::uint64_t serving_ = 0;
};

} // namespace aftertouch::detail
