// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <aftertouch/detail/fair_mutex.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/lock_wait.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/session_connection.hpp>

/// \file
/// When a session may use its connection, and write.

namespace aftertouch::sqlite {

/// A batch's turn to write: it has the mutex of a shared connection, or comes in its order among
/// the pipelines that wait for the file's one lock.
///
/// *Threads*: `interrupt` any; the rest one.
class WriteTurn {
    using FairMutex = aftertouch::detail::FairMutex;

public:
    /// *Requires* that `stopping` lives longer.
    WriteTurn(SessionConnection connection, const std::atomic<bool>& stopping)
        : connection_{std::move(connection.connection)},
          shared_{connection.shared},
          mutex_{std::move(connection.mutex)},
          stopping_{stopping} {
        if (!shared_) { lock_wait_.emplace(handle().get(), connection.busy_timeout, stopping); }
    }

    [[nodiscard]] bool shared() const noexcept { return shared_; }
    [[nodiscard]] bool open() const noexcept { return open_; }

    /// Keeps others off a shared connection; inside a batch nobody else is there already.
    [[nodiscard]] std::unique_lock<FairMutex> lock() const {
        return shared_ && !open_ ? std::unique_lock{*mutex_} : std::unique_lock<FairMutex>{};
    }

    /// Waits for the turn, and has it from `begin()` to `end`. *Throws* `Error` (`busy`) where the
    /// pipeline is to stop, or the application has a transaction of its own.
    template <class Begin>
    void take(Begin begin) {
        if (!mutex_->lock_unless([&] { return stopping_.load(std::memory_order_relaxed); })) {
            throw Error{Errc::busy,
                handle().name() + " is in use by another batch, and the pipeline is to stop"};
        }
        std::unique_lock guard{*mutex_, std::adopt_lock};
        if (shared_ && handle().in_transaction()) {
            throw Error{Errc::busy, handle().name() +
                                        " is inside a transaction of the application on the same "
                                        "connection: the pipeline goes on when that has ended"};
        }
        if (lock_wait_) { lock_wait_->let_others_in(); }
        begin();
        held_ = std::move(guard);
        set_open(true);
        if (lock_wait_) { lock_wait_->begins(); }
    }
    /// `patient`: what was done in it is of low priority.
    void end(bool patient) noexcept {
        if (lock_wait_) { lock_wait_->ends(patient); }
        set_open(false);
        held_ = {};
    }

    /// Ends what runs on the connection, unless it is the application's.
    void interrupt() noexcept {
        const std::lock_guard guard{open_mutex_};
        if (!shared_ || open_) { handle().interrupt(); }
    }

private:
    [[nodiscard]] const Handle& handle() const noexcept { return connection_->handle(); }

    void set_open(bool open) noexcept {
        const std::lock_guard guard{open_mutex_};
        open_ = open;
    }

    std::shared_ptr<Connection> connection_;
    bool shared_;
    std::shared_ptr<FairMutex> mutex_;
    const std::atomic<bool>& stopping_;
    std::optional<LockWait> lock_wait_; // of a connection of its own
    std::unique_lock<FairMutex> held_;  // during a batch
    bool open_ = false;     // written under open_mutex_ by the thread that reads it without
    std::mutex open_mutex_; // for interrupt()
};

} // namespace aftertouch::sqlite
