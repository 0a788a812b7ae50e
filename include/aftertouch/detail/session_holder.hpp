// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/detail/beside.hpp>
#include <aftertouch/error.hpp>

/// \file
/// A pipeline's session and those of its lanes, with the calls that other threads make.

namespace aftertouch::detail {

template <class Session>
class SessionHolder {
public:
    using Lane = typename LaneOf<Session>::Type;

    [[nodiscard]] Session* operator->() const noexcept { return session_.get(); }
    [[nodiscard]] Session& operator*() const noexcept { return *session_; }
    [[nodiscard]] explicit operator bool() const noexcept { return session_ != nullptr; }

    /// Opens it, if it isn't yet; lanes look at their source anew.
    template <class B>
    void open(B& database, const SessionRequest& request, const std::atomic<bool>& stopping) {
        for (const auto& lane : lanes_) { lane->forget_source(); }
        if (session_) { return; }
        std::unique_ptr<Session> session = database.open_session(request, stopping);
        const std::lock_guard lock{mutex_};
        session_ = std::move(session);
    }

    /// \name Lanes. *Threads*: the one that opened the session, and while none works in a lane.
    /// @{

    /// Closes those that so many lanes don't need; one lane needs none.
    void close_lanes(std::size_t most) {
        if (most == 1) { crew_.dismiss(); }
        const std::lock_guard lock{mutex_};
        if (most == 1) { lanes_.clear(); }
        while (lanes_.size() > most) { lanes_.pop_back(); }
    }
    /// Opens as many, or as can be had: *throws* only where there is none.
    template <class B>
    void open_lanes(std::size_t wanted, B& database, const SessionRequest& request,
        const std::atomic<bool>& stopping) {
        if constexpr (has_lanes<Session>) {
            try {
                while (lanes_.size() < wanted && (lanes_.empty() || !stopping)) {
                    std::unique_ptr<Lane> lane = database.open_lane(request, stopping);
                    const std::lock_guard lock{mutex_};
                    lanes_.push_back(std::move(lane));
                }
            } catch (const Error&) {
                if (lanes_.empty()) { throw; }
            }
        }
    }
    [[nodiscard]] std::size_t lanes() const noexcept { return lanes_.size(); }
    [[nodiscard]] Lane& lane(std::size_t number) const noexcept { return *lanes_[number]; }
    /// The threads that work in them.
    [[nodiscard]] Crew& crew() noexcept { return crew_; }
    /// @}

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
        for (const auto& lane : lanes_) { lane->interrupt(); }
    }
    /// Says that the process of a handler at work is alive. *Threads*: any.
    void keep_alive() {
        const std::lock_guard lock{mutex_};
        if (session_) { session_->keep_alive(); }
        for (const auto& lane : lanes_) { lane->keep_alive(); }
    }
    void forget_abort() noexcept { aborted_ = false; }
    [[nodiscard]] bool aborted() const noexcept { return aborted_; }

private:
    std::mutex mutex_; // guards the pointers for the calls of other threads
    std::unique_ptr<Session> session_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    Crew crew_;
    std::atomic<bool> aborted_{false};
};

} // namespace aftertouch::detail
