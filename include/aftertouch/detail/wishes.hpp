// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include <aftertouch/cycle.hpp>

/// \file
/// What other threads ask of a pipeline, until its cycle hears of it between two batches.

namespace aftertouch::detail {

/// *Threads*: any, but for `tell`: the pipeline's own.
class Wishes {
public:
    void stop() noexcept {
        stopping_ = true;
        ++asked_;
    }
    void go_on() noexcept { stopping_ = false; }
    /// For those who wait for something on the pipeline's behalf.
    [[nodiscard]] const std::atomic<bool>& stopping() const noexcept { return stopping_; }

    void rebuild() noexcept {
        rebuild_ = true;
        ++made_;
        ++asked_;
    }
    /// Reads the checkpoint again: it is to be moved.
    void open() noexcept {
        open_ = true;
        ++made_;
        ++asked_;
    }
    void pause(bool paused) noexcept {
        paused_ = paused;
        ++asked_;
    }

    [[nodiscard]] bool paused() const noexcept { return paused_; }

    /// Rises with each of these calls.
    [[nodiscard]] std::uint64_t asked() const noexcept { return asked_; }

    /// Whether a rebuild or a rewind is about to give the pipeline work.
    [[nodiscard]] bool pending() const noexcept { return made_ != heard_; }

    /// Tells the cycle all of it.
    void tell(Cycle& cycle) noexcept {
        const std::uint64_t made = made_; // before they are looked at
        if (stopping_) { cycle.request_stop(); }
        if (rebuild_.exchange(false)) { cycle.request_rebuild(); }
        if (open_.exchange(false)) { cycle.request_open(); }
        cycle.request_pause(paused_);
        heard_ = made;
    }

private:
    std::atomic<bool> stopping_{false};
    std::atomic<bool> rebuild_{false};
    std::atomic<bool> open_{false};
    std::atomic<bool> paused_{false};
    std::atomic<std::uint64_t> made_{0};
    std::atomic<std::uint64_t> heard_{0};
    std::atomic<std::uint64_t> asked_{0};
};

} // namespace aftertouch::detail
