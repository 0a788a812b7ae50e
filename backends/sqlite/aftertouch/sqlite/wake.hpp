// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#if defined(__linux__)
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>
#endif

#include <aftertouch/detail/waker.hpp>

/// \file
/// Hints that there is news: from this process, and where the system tells of writes to a file,
/// from others. Polling stays the truth (K7): a file's event comes before the commit can be seen,
/// and some file systems send none.

namespace aftertouch::sqlite {

#if defined(__linux__)

/// Wakes one waiting thread. *Threads*: `notify` from any, `wait` from one.
class Waker {
public:
    /// Also listens for writes to `file`, its log and its journal; an empty name listens for
    /// nothing.
    explicit Waker(const std::string& file)
        : base_{file.substr(file.rfind('/') + 1)}, event_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {
        if (file.empty()) { return; }
        watch_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (watch_ >= 0 && !add_folder(file)) {
            close(watch_);
            watch_ = -1;
        }
    }
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;
    ~Waker() {
        if (watch_ >= 0) { close(watch_); }
        if (event_ >= 0) { close(event_); }
    }

    void notify() noexcept {
        const std::uint64_t one = 1;
        static_cast<void>(!write(event_, &one, sizeof one));
    }

    /// Returns at a hint (true) or when the time is over.
    bool wait(std::chrono::microseconds timeout) {
        const auto until = std::chrono::steady_clock::now() + timeout;
        for (;;) {
            const auto left = std::max(until - std::chrono::steady_clock::now(),
                std::chrono::steady_clock::duration::zero());
            const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
            const timespec span{whole.count(), std::chrono::nanoseconds{left - whole}.count()};
            std::array<pollfd, 2> ends{pollfd{event_, POLLIN, 0}, pollfd{watch_, POLLIN, 0}};
            if (ppoll(ends.data(), watch_ < 0 ? 1 : 2, &span, nullptr) <= 0) { return false; }
            const bool called = take_notification();
            const bool written = watch_ >= 0 && take_file_events();
            if (called || written) { return true; }
        }
    }

private:
    // Throws nothing: its files are open already.
    [[nodiscard]] bool add_folder(const std::string& file) const noexcept {
        try {
            const std::string folder = file.substr(0, file.size() - base_.size());
            return inotify_add_watch(watch_, folder.empty() ? "." : folder.c_str(),
                       IN_MODIFY | IN_CREATE | IN_DELETE) >= 0;
        } catch (...) {
            return false; // polling is the truth
        }
    }

    bool take_notification() noexcept {
        std::uint64_t count = 0;
        return read(event_, &count, sizeof count) == static_cast<ssize_t>(sizeof count);
    }

    // The folder may hold other files: only ours count.
    bool take_file_events() noexcept {
        alignas(inotify_event) std::array<char, 4096> buffer;
        bool ours = false;
        for (ssize_t size = 0; (size = read(watch_, buffer.data(), buffer.size())) > 0;) {
            for (ssize_t at = 0; at < size;) {
                inotify_event event;
                std::memcpy(&event, buffer.data() + at, sizeof event);
                const char* name = buffer.data() + at + static_cast<ssize_t>(sizeof event);
                ours =
                    ours || (event.len != 0 && is_ours(name)) || (event.mask & IN_Q_OVERFLOW) != 0;
                at += static_cast<ssize_t>(sizeof event) + static_cast<ssize_t>(event.len);
            }
        }
        return ours;
    }

    [[nodiscard]] bool is_ours(std::string_view name) const noexcept {
        if (!name.starts_with(base_)) { return false; }
        const std::string_view rest = name.substr(base_.size());
        return rest.empty() || rest == "-wal" || rest == "-journal";
    }

    std::string base_;
    int event_;
    int watch_ = -1;
};

#else

/// Wakes one waiting thread; writes of other processes are found by polling. *Threads*: `notify`
/// from any, `wait` from one.
class Waker : public aftertouch::detail::Waker {
public:
    explicit Waker(const std::string&) {}
};

#endif

using WakeList = aftertouch::detail::WakeList<Waker>;

} // namespace aftertouch::sqlite
