// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

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
    /// Locks, unless `stop()` becomes true while it waits: then it answers false, and its turn is
    /// passed over.
    template <class Stop>
    [[nodiscard]] bool lock_unless(Stop stop) {
        constexpr std::chrono::milliseconds between_looks{5};
        std::unique_lock guard{mutex_};
        const std::uint64_t ticket = next_++;
        while (!turn_.wait_for(guard, between_looks, [&] { return ticket == serving_; })) {
            if (!stop()) { continue; }
            abandoned_.push_back(ticket);
            return false;
        }
        return true;
    }
    void unlock() {
        {
            const std::lock_guard guard{mutex_};
            do { ++serving_; } while (std::erase(abandoned_, serving_) != 0);
        }
        turn_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable turn_;
    std::uint64_t next_ = 0;
    std::uint64_t serving_ = 0;
    std::vector<std::uint64_t> abandoned_; // tickets whose holders have gone
};

} // namespace aftertouch::detail
