// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <aftertouch/sqlite/connection.hpp>

/// \file
/// How a pipeline's own connection waits for a lock that another one holds, and lets others have
/// it.

namespace aftertouch::sqlite {

/// Waits in small steps, so that a stop is heard, for as long as it lives; and lets others in
/// behind a batch that took long. *Requires* that `database` and `stopping` live longer.
class LockWait {
public:
    LockWait(
        sqlite3* database, std::chrono::milliseconds timeout, const std::atomic<bool>& stopping)
        : database_{database}, timeout_{timeout}, stopping_{stopping} {
        sqlite3_busy_handler(database_, &LockWait::wait, this);
    }
    LockWait(const LockWait&) = delete;
    LockWait& operator=(const LockWait&) = delete;
    ~LockWait() { sqlite3_busy_handler(database_, nullptr, nullptr); }

    /// The lock is had, or let go.
    void begins() noexcept { began_ = Clock::now(); }
    /// `patient`: what was done with it is of low priority.
    void ends(bool patient = false) noexcept {
        ended_ = Clock::now();
        owed_ = patient ? owed_ + (ended_ - began_) : Clock::duration{};
    }

    /// Nobody queues for the lock: others look again every 100 ms at last, and would never find it
    /// free while one slow batch follows the other; nor while many short ones do, which wait then
    /// where they are of low priority.
    void let_others_in() {
        constexpr std::chrono::milliseconds enough{110};
        constexpr std::chrono::milliseconds slow{50};
        const auto held = ended_ - began_;
        const bool owes = owed_ >= slow;
        if (held < slow && !owes) { return; }
        owed_ = {};
        const auto until = ended_ + (owes ? enough : std::min<Clock::duration>(held / 5, enough));
        while (Clock::now() < until && !stopping_.load(std::memory_order_relaxed)) {
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
    }

private:
    using Clock = std::chrono::steady_clock;

    static int wait(void* self, int attempt) {
        const LockWait& lock = *static_cast<LockWait*>(self);
        constexpr std::chrono::milliseconds step{5};
        if (attempt * step >= lock.timeout_ || lock.stopping_.load(std::memory_order_relaxed)) {
            return 0;
        }
        sqlite3_sleep(attempt < 10 ? 1 : static_cast<int>(step.count()));
        return 1;
    }

    sqlite3* database_;
    std::chrono::milliseconds timeout_;
    const std::atomic<bool>& stopping_;
    Clock::time_point began_{};
    Clock::time_point ended_{};
    Clock::duration owed_{}; // had for what is of low priority since others were let in
};

} // namespace aftertouch::sqlite
