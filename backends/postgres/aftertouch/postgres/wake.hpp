// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#endif

#include <aftertouch/detail/waker.hpp>
#include <aftertouch/postgres/connection.hpp>

/// \file
/// Hints that there is news: from this process, and by NOTIFY from others. Polling stays the truth
/// (K7): nobody needs to send one, and none is sent in a transaction that writes.

namespace aftertouch::postgres {

/// What a pipeline listens to where its session is its own. Anybody may notify it: it only wakes.
inline constexpr const char* listen_sql = "LISTEN aftertouch";

#if defined(__unix__) || defined(__APPLE__)

/// Wakes one waiting thread. *Threads*: `notify` from any, `wait` from one.
class Waker {
public:
    Waker() {
        if (pipe(ends_.data()) != 0) { ends_ = {-1, -1}; }
        for (const int end : ends_) {
            if (end < 0) { continue; }
            static_cast<void>(fcntl(end, F_SETFD, FD_CLOEXEC));
            static_cast<void>(fcntl(end, F_SETFL, O_NONBLOCK));
        }
    }
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;
    ~Waker() {
        for (const int end : ends_) {
            if (end >= 0) { close(end); }
        }
    }

    void notify() noexcept { static_cast<void>(!write(ends_[1], "", 1)); }

    /// Returns at a hint (true) or when the time is over. Notifications of `handle` are hints, but
    /// not more often than every two milliseconds, however many come.
    bool wait(std::chrono::microseconds timeout, Handle& handle) {
        const auto until = Clock::now() + timeout;
        bool poked = handle.take_notifications();
        for (;;) {
            const auto wanted = poked ? std::min(until, poked_ + between_pokes) : until;
            const bool listens = !poked && !handle.lost();
            std::array<pollfd, 2> ends{
                pollfd{ends_[0], POLLIN, 0}, pollfd{listens ? handle.socket() : -1, POLLIN, 0}};
            const int events = sleep(ends, wanted - Clock::now());
            if (events > 0 && take_notification()) { return true; }
            if (poked || events <= 0) {
                if (poked) { poked_ = Clock::now(); }
                return poked;
            }
            poked = handle.take_notifications();
        }
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds between_pokes{2};

    static int sleep(std::array<pollfd, 2>& ends, Clock::duration left) {
        left = std::max(left, Clock::duration::zero());
#if defined(__linux__)
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
        const timespec span{whole.count(), std::chrono::nanoseconds{left - whole}.count()};
        return ppoll(ends.data(), ends.size(), &span, nullptr);
#else
        const auto span = std::chrono::ceil<std::chrono::milliseconds>(left);
        return poll(ends.data(), ends.size(), static_cast<int>(span.count()));
#endif
    }

    bool take_notification() noexcept {
        std::array<char, 64> ignored;
        bool any = false;
        while (read(ends_[0], ignored.data(), ignored.size()) > 0) { any = true; }
        return any;
    }

    std::array<int, 2> ends_{-1, -1};
    Clock::time_point poked_{};
};

#else

/// Wakes one waiting thread; what other processes write is found by polling. *Threads*: `notify`
/// from any, `wait` from one.
class Waker : public aftertouch::detail::Waker {
public:
    bool wait(std::chrono::microseconds timeout, Handle&) {
        return aftertouch::detail::Waker::wait(timeout);
    }
};

#endif

using WakeList = aftertouch::detail::WakeList<Waker>;

} // namespace aftertouch::postgres
