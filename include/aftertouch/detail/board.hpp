// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/status.hpp>

/// \file
/// What a pipeline's thread tells the threads that ask: its state, its counts, its errors, and when
/// it was idle.

namespace aftertouch::detail {

/// *Threads*: any.
class Board {
public:
    static constexpr std::size_t kept_failures = 20;

    Board() { failures_.reserve(kept_failures); }

    /// Changes what `status()` tells; `change(status)` runs under the lock.
    template <class Change>
    void update(Change change) {
        const std::lock_guard lock{mutex_};
        change(status_);
    }
    void set_state(State state) noexcept {
        const std::lock_guard lock{mutex_};
        status_.state = state;
    }
    [[nodiscard]] State state() const noexcept {
        const std::lock_guard lock{mutex_};
        return status_.state;
    }
    [[nodiscard]] Status status() const {
        const std::lock_guard lock{mutex_};
        return status_;
    }

    /// Keeps an error. Without memory for its texts, its time and its cause at least.
    void add(Timestamp at, const std::string& event_id, const std::string& message,
        const std::exception_ptr& cause) noexcept {
        Failure failure{at, {}, {}, cause};
        try {
            failure.event_id = event_id;
            failure.message = message;
        } catch (...) {
            // The cause says it.
        }
        const std::lock_guard lock{mutex_};
        ++status_.failures;
        if (failures_.size() == kept_failures) { failures_.erase(failures_.begin()); }
        failures_.push_back(std::move(failure));
    }
    [[nodiscard]] std::vector<Failure> failures() const {
        const std::lock_guard lock{mutex_};
        return failures_;
    }

    /// \name Idleness
    /// A look that began after a commit and found nothing shows that the commit was handled.
    /// @{
    void look_begins() {
        const std::lock_guard lock{mutex_};
        ++looks_;
        idle_ = false;
    }
    void found_nothing() {
        {
            const std::lock_guard lock{mutex_};
            idle_ = true;
            idle_look_ = looks_;
        }
        changed_.notify_all();
    }
    void busy() {
        const std::lock_guard lock{mutex_};
        idle_ = false;
    }
    void set_running(bool running) {
        {
            const std::lock_guard lock{mutex_};
            running_ = running;
            idle_ = false;
        }
        changed_.notify_all();
    }
    [[nodiscard]] bool running() const {
        const std::lock_guard lock{mutex_};
        return running_;
    }
    [[nodiscard]] bool idle() const {
        const std::lock_guard lock{mutex_};
        return idle_ || !running_;
    }
    /// The number of the next look.
    [[nodiscard]] std::uint64_t next_look() const {
        const std::lock_guard lock{mutex_};
        return looks_ + 1;
    }
    /// Waits until look `number` or a later one found nothing, or nothing runs; false when the time
    /// is over.
    template <class Until>
    bool await(std::uint64_t number, std::optional<Until> until) {
        std::unique_lock lock{mutex_};
        const auto over = [&] { return !running_ || idle_look_ >= number; };
        if (!until) {
            changed_.wait(lock, over);
            return true;
        }
        return changed_.wait_until(lock, *until, over);
    }
    /// Waits until nothing runs; false when the time is over.
    template <class Until>
    bool await_end(Until until) {
        std::unique_lock lock{mutex_};
        return changed_.wait_until(lock, until, [&] { return !running_; });
    }
    /// @}

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Status status_;
    std::vector<Failure> failures_; // its room is had from the beginning
    std::uint64_t looks_ = 0;
    std::uint64_t idle_look_ = 0;
    bool idle_ = false;
    bool running_ = false;
};

} // namespace aftertouch::detail
