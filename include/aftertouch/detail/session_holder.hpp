// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

/// \file
/// A pipeline's session, with the two calls that other threads make.

namespace aftertouch::detail {

template <class Session>
class SessionHolder {
public:
    [[nodiscard]] Session* operator->() const noexcept { return session_.get(); }
    [[nodiscard]] Session& operator*() const noexcept { return *session_; }
    [[nodiscard]] explicit operator bool() const noexcept { return session_ != nullptr; }

    void hold(std::unique_ptr<Session> session) {
        const std::lock_guard lock{mutex_};
        session_ = std::move(session);
    }

    /// Ends a wait. *Threads*: any.
    void wake() {
        const std::lock_guard lock{mutex_};
        if (session_) { session_->wake(); }
    }
    /// Makes what the handler waits for in the database fail; its batch is undone, and that is no
    /// failure. *Threads*: any.
    void abort() {
        aborted_ = true;
        const std::lock_guard lock{mutex_};
        if (session_) { session_->interrupt(); }
    }
    /// Says that the process of a handler at work is alive. *Threads*: any.
    void keep_alive() {
        const std::lock_guard lock{mutex_};
        if (session_) { session_->keep_alive(); }
    }
    void forget_abort() noexcept { aborted_ = false; }
    [[nodiscard]] bool aborted() const noexcept { return aborted_; }

private:
    std::mutex mutex_; // guards the pointer for the calls of other threads
    std::unique_ptr<Session> session_;
    std::atomic<bool> aborted_{false};
};

} // namespace aftertouch::detail
