// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

/// \file
/// The thinking part of a pipeline: what happened goes in, the next step comes out. No I/O, no
/// clock, no thread.

namespace aftertouch {

/// What a pipeline does next.
enum class Step {
    open,       ///< connect, install or compare, look for the checkpoint
    start_over, ///< begin a rebuild: take the position, tell the handler, write the checkpoint
    poll,       ///< look, outside of a transaction, whether there is news
    begin,    ///< open the batch's transaction, check that the log is still the one, read the batch
    handle,   ///< hand the batch over
    advance,  ///< write the checkpoint and commit
    undo,     ///< roll back; nothing of the batch stays
    note,     ///< write a position that moved only over changes of others
    wait,     ///< nothing to do: wait for a hint, or for a while
    back_off, ///< the database is locked or gone: wait longer
    fail,     ///< keep the error, and tell
    stop      ///< where the cycle ends, and stands before it begins
};

/// Whether a step is only for an instance that holds the lease. `handle` is fenced by what follows.
[[nodiscard]] constexpr bool needs_lease(Step step) noexcept {
    return step == Step::start_over || step == Step::poll || step == Step::begin ||
           step == Step::advance || step == Step::note;
}

/// What happened in a step.
enum class Happened {
    done,          ///< what the step was for (open: there is a checkpoint to go on from)
    no_checkpoint, ///< open, begin: there is none that can be used
    news,          ///< poll: there are changes
    nothing,       ///< poll, begin: there are none
    moved,         ///< poll: there are none, and the position that was passed may be written again
    drifted,       ///< start_over, poll, begin: triggers or tables aren't what they were
    outrun,        ///< start_over, poll, begin, handle, advance, note: another process moved the
                   ///< checkpoint, or has taken the lease
    in_doubt, ///< start_over, begin, handle, advance, note: a commit failed, and may have happened
              ///< all the same
    trouble,  ///< any: an error that passes by itself
    error     ///< any: one that doesn't; handle: the handler threw, or ended the transaction
};

inline constexpr std::size_t step_count = static_cast<std::size_t>(Step::stop) + 1;
inline constexpr std::size_t happened_count = static_cast<std::size_t>(Happened::error) + 1;

/// Decides the steps of one pipeline.
///
/// It keeps these promises, whatever happens in whatever order: `advance` comes only behind
/// `handle` that was done (K2); a transaction that was begun and not committed ends with `undo`;
/// after an unknown commit the checkpoint is read again before anything else (K6); without a
/// checkpoint nothing is read before `start_over` (K4); after `fail` nothing happens until `start`
/// (F1); once a stop is asked for, or while paused, no batch and no rebuild begins.
class Cycle {
public:
    /// Begins, whatever was before.
    Step start() noexcept {
        stopping_ = false;
        return step_ = Step::open;
    }

    /// Ends where it stands; wishes are kept for the next start.
    void halt() noexcept { step_ = Step::stop; }

    /// \name Wishes, heard between two batches
    /// @{
    void request_stop() noexcept { stopping_ = true; }
    void request_rebuild() noexcept { rebuild_wanted_ = true; }
    void request_pause(bool paused) noexcept { paused_ = paused; }
    /// The checkpoint was moved from outside: read it again.
    void request_open() noexcept { open_wanted_ = true; }
    /// @}

    /// Hears wishes that came while it stood still between two batches. *Requires* that the step
    /// isn't being carried out.
    Step hear() noexcept {
        const bool between_batches = step_ == Step::poll || step_ == Step::begin ||
                                     step_ == Step::wait || step_ == Step::start_over ||
                                     step_ == Step::note;
        return between_batches ? step_ = look() : step_;
    }

    [[nodiscard]] Step step() const noexcept { return step_; }
    [[nodiscard]] bool rebuild_wanted() const noexcept { return rebuild_wanted_; }
    /// Whether there is a checkpoint to go on from.
    [[nodiscard]] bool has_checkpoint() const noexcept { return !nowhere_; }
    [[nodiscard]] bool paused() const noexcept { return paused_; }
    /// Whether rows of the source are still to be handed over: then there is always a page to read.
    [[nodiscard]] bool rebuilding() const noexcept { return rebuilding_; }
    void set_rebuilding(bool rebuilding) noexcept { rebuilding_ = rebuilding; }

    /// Takes what happened in `step()`; answers the next step.
    Step on(Happened happened) noexcept { return step_ = after(happened); }

private:
    [[nodiscard]] Step after(Happened happened) noexcept {
        switch (step_) {
            case Step::open: return opened(happened);
            case Step::poll: return polled(happened);
            case Step::begin: return began(happened);
            case Step::handle:
                return happened == Happened::done ? Step::advance : undo(after_problem(happened));
            case Step::start_over:
                if (happened == Happened::done) { rebuild_wanted_ = nowhere_ = false; }
                return committed(happened);
            case Step::advance:
            case Step::note: return committed(happened);
            case Step::undo: return after_undo_ == Step::fail ? Step::fail : between(after_undo_);
            case Step::wait: return look();
            case Step::back_off: return between(Step::open);
            default: return Step::stop;
        }
    }

    // Wishes go first, but not before a checkpoint was found.
    [[nodiscard]] Step between(Step step) noexcept {
        if (stopping_) { return Step::stop; }
        if (step == Step::open || step == Step::back_off) { return step; }
        if (open_wanted_) {
            open_wanted_ = false;
            return Step::open;
        }
        if (paused_) { return Step::wait; }
        return rebuild_wanted_ || nowhere_ ? Step::start_over : step;
    }

    [[nodiscard]] Step look() noexcept { return between(rebuilding_ ? Step::begin : Step::poll); }

    [[nodiscard]] Step undo(Step then) noexcept {
        after_undo_ = then;
        return Step::undo;
    }

    [[nodiscard]] Step after_problem(Happened happened) noexcept {
        switch (happened) {
            case Happened::drifted:
            case Happened::outrun: return Step::open;
            case Happened::no_checkpoint: nowhere_ = true; return Step::start_over;
            case Happened::in_doubt:
            case Happened::trouble: return Step::back_off;
            default: return Step::fail;
        }
    }

    [[nodiscard]] Step opened(Happened happened) noexcept {
        nowhere_ = false;
        if (happened == Happened::done) { return look(); }
        const Step then = after_problem(happened);
        return then == Step::fail ? then : between(then);
    }

    [[nodiscard]] Step polled(Happened happened) noexcept {
        switch (happened) {
            case Happened::news: return between(Step::begin);
            case Happened::nothing: return between(Step::wait);
            case Happened::moved: return between(Step::note);
            default: break;
        }
        const Step then = after_problem(happened);
        return then == Step::fail ? then : between(then);
    }

    [[nodiscard]] Step began(Happened happened) noexcept {
        if (happened == Happened::done) { return Step::handle; }
        return undo(happened == Happened::nothing ? Step::wait : after_problem(happened));
    }

    [[nodiscard]] Step committed(Happened happened) noexcept {
        return happened == Happened::done ? look() : undo(after_problem(happened));
    }

    Step step_ = Step::stop;
    Step after_undo_ = Step::stop;
    bool rebuilding_ = false;
    bool stopping_ = false;
    bool paused_ = false;
    bool rebuild_wanted_ = false;
    bool open_wanted_ = false;
    bool nowhere_ = false; // no checkpoint to go on from
};

} // namespace aftertouch
