// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>

#include <aftertouch/sqlite/connection.hpp>

/// \file
/// How a pipeline's own connection waits for a lock that another one holds.

namespace aftertouch::sqlite {

/// Waits in small steps, so that a stop is heard, for as long as it lives. *Requires* that
/// `database` and `stopping` live longer.
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

private:
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
};

} // namespace aftertouch::sqlite
