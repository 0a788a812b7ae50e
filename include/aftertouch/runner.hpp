// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/cycle.hpp>
#include <aftertouch/detail/batch_in_hand.hpp>
#include <aftertouch/detail/board.hpp>
#include <aftertouch/detail/lease_keeper.hpp>
#include <aftertouch/detail/patience.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/session_holder.hpp>
#include <aftertouch/detail/tracker.hpp>
#include <aftertouch/detail/trouble.hpp>
#include <aftertouch/detail/waiting.hpp>
#include <aftertouch/detail/wishes.hpp>
#include <aftertouch/observer.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/status.hpp>

/// \file
/// Carries out the steps of a pipeline's cycle on a session. For pipeline.hpp; one thread at a
/// time.

namespace aftertouch::detail {

template <class S, class H, class B>
class Runner {
public:
    using Session = typename B::Session;
    using Position = typename Session::Position;

    Runner(S source, H handler, B& database, Options options, Board& board, const Wishes& wishes)
        : database_{database},
          options_{std::move(options)},
          board_{board},
          wishes_{wishes},
          capture_{source.capture()},
          reporter_{options_, board},
          tracker_{reporter_},
          batch_{std::move(source), std::move(handler), database, options_},
          lease_{options_, board, reporter_, session_},
          waiting_{options_, board, reporter_, wishes, session_},
          patience_{options_} {}

    /// Does one step and says what happened. Throws nothing: `told_error` has what went wrong.
    [[nodiscard]] Happened carry_out(Step step, Cycle& cycle) {
        tracker_.forget_doubt();
        try {
            return do_step(step, cycle);
        } catch (const Error& error) { return caught(step, &error); } catch (...) {
            return caught(step, nullptr);
        }
    }

    /// What went wrong, for a caller who decides what comes next.
    [[nodiscard]] std::exception_ptr told_error() noexcept { return trouble_.told(); }
    [[nodiscard]] const Capture& capture() const noexcept { return capture_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    [[nodiscard]] const Reporter& reporter() const noexcept { return reporter_; }

    /// Nothing runs any more: lets another instance in.
    void give_back() noexcept { lease_.give_back(); }

    /// \name On any thread
    /// @{
    void wake() { session_.wake(); }
    void abort() { session_.abort(); }
    void forget_abort() noexcept { session_.forget_abort(); }
    void rewind(std::string position) { tracker_.wish_rewind(std::move(position)); }
    void look_at_letters() {
        batch_.look_at_letters();
        wake();
    }
    /// @}

private:
    [[nodiscard]] Happened caught(Step step, const Error* thrown) noexcept {
        const bool in_handler = batch_.threw_in_handler();
        const Happened happened = trouble_.caught(
            {in_handler ? Step::handle : step, tracker_.in_doubt(), session_.aborted(),
                tracker_.version(), session_ ? session_->excuse(thrown) : Excuse::none});
        if (!in_handler || happened != Happened::error) { return happened; }
        const bool again = patience_.judge(trouble_.fault(),
            {tracker_.attempts(), batch_.in_parts(), rebuild().running, step == Step::start_over});
        return again ? Happened::trouble : Happened::error;
    }

    [[nodiscard]] Happened do_step(Step step, Cycle& cycle) {
        if (needs_lease(step)) { lease_.require(); }
        switch (step) {
            case Step::open: return open(cycle);
            case Step::start_over: return start_over(cycle);
            case Step::poll: return poll();
            case Step::begin: return begin();
            case Step::handle: return handle();
            case Step::advance: return advance(cycle);
            case Step::undo: undo(); break;
            case Step::note: return note();
            case Step::wait: cycle.paused() ? waiting_.while_paused() : waiting_.for_news(); break;
            case Step::back_off: back_off(); break;
            case Step::fail: fail(); break;
            case Step::stop: break;
        }
        return Happened::done;
    }

    Happened open(Cycle& cycle) {
        patience_.forget_verdict();
        if (!waiting_.is_on()) { reporter_.state(State::starting); }
        make_session();
        if (session_->bring_up()) {
            reporter_.tell(
                Moment::installed, "capture " + capture_.name + " was installed or mended");
        }
        lease_.take(database_, capture_, wishes_.stopping());
        batch_.prepare(*session_, capture_);
        const bool usable = tracker_.load(*session_);
        lease_.confirm();
        trouble_.refuse_lost_commit(tracker_.version());
        cycle.set_rebuilding(rebuild().running);
        if (!usable) { return Happened::no_checkpoint; }
        reporter_.rebuild_taken_up(rebuild());
        tracker_.take_up_rewind(*session_);
        show_state();
        return Happened::done;
    }

    // A rebuild takes the position first: what is written from here on comes from the log (R1).
    Happened start_over(Cycle& cycle) {
        waiting_.work_begins();
        session_->begin();
        if (const auto found = session_->drift(); !found.empty()) {
            return drifted(to_text(found));
        }
        const bool wanted =
            tracker_.is_known() || options_.begin == Begin::rebuild || cycle.rebuild_wanted();
        std::optional<Position> from;
        if (cycle.has_checkpoint() && session_->usable(tracker_.position()) == Usable::yes) {
            from = tracker_.position();
        }
        batch_.start_over(*session_, tracker_, wanted, from);
        commit(batch_.next());
        tracker_.rebuild_begins();
        cycle.set_rebuilding(rebuild().running);
        show_state();
        if (rebuild().running) { reporter_.rebuild_begins(rebuild()); }
        return Happened::done;
    }

    Happened poll() {
        board_.look_begins();
        batch_.drop();
        if (batch_.has_more_behind(tracker_.position())) { return Happened::news; }
        if (batch_.has_released(*session_)) { return Happened::news; }
        const std::optional<Position> seen = session_->poll(tracker_.position());
        if (!seen) { return Happened::news; }
        const bool write = tracker_.pass_to(*seen);
        show_state();
        if (!wishes_.pending()) { board_.found_nothing(); }
        return write ? Happened::moved : Happened::nothing;
    }

    Happened begin() {
        waiting_.work_begins();
        session_->begin();
        if (const auto found = session_->drift(); !found.empty()) {
            return drifted(to_text(found));
        }
        const bool any = batch_.read(*session_, tracker_.checkpoint(), tracker_.position());
        // Asked behind it, in its transaction: so nothing was pruned under the reading (P5). The
        // checkpoint may have gone on elsewhere, or the log be another one: `open` looks at both.
        if (session_->usable(tracker_.position()) != Usable::yes) {
            batch_.drop();
            return Happened::drifted;
        }
        if (batch_.meets_truncation()) {
            batch_.drop();
            drift_ = "the source was truncated";
            return Happened::no_checkpoint;
        }
        if (any) { return Happened::done; }
        static_cast<void>(tracker_.pass_to(batch_.end()));
        return Happened::nothing;
    }

    Happened handle() {
        batch_.hand_over_to_handler(*session_, tracker_.replaying(), tracker_.attempts(), patience_,
            [this] { return session_.aborted(); });
        return Happened::done;
    }

    Happened advance(Cycle& cycle) {
        commit(batch_.next());
        cycle.set_rebuilding(rebuild().running);
        show_state();
        reporter_.batch(batch_.committed(), rebuild());
        return Happened::done;
    }

    // What there is to tell of a transaction is told behind it: an observer may ask the database.
    void undo() {
        session_->roll_back();
        if (drift_) {
            reporter_.tell(Moment::drift_found, *drift_);
        } else if (!batch_.event_id().empty()) {
            reporter_.undone(batch_.event_id(), trouble_.message());
        }
        drift_.reset();
        if (patience_.verdict().counts) { count_attempt(); }
    }

    Happened note() {
        session_->begin();
        Checkpoint next = tracker_.checkpoint();
        next.position = tracker_.position().text();
        commit(next);
        return Happened::done;
    }

    void back_off() {
        if (lease_.was_others()) { return waiting_.for_lease(trouble_.message()); }
        const Verdict& verdict = patience_.verdict();
        if (!verdict.again) { return waiting_.for_database(trouble_.message()); }
        reporter_.retried(
            batch_.event_id(), tracker_.attempts(), verdict.pause, trouble_.message());
        waiting_.for_retry(verdict.pause);
    }

    void fail() {
        if (!batch_.event_id().empty()) { count_attempt(); }
        reporter_.failed(wall_clock(), batch_.event_id(), trouble_.message(), trouble_.error());
        batch_.drop();
    }

    // ----------------------------------------------------------------------------- their parts

    void make_session() {
        if (session_) { return; }
        SessionRequest request = session_request(options_.name, capture_, batch_.source().order(),
            options_.skip_own_changes, options_.schema);
        request.lease = lease_.request(capture_);
        session_.hold(database_.open_session(request, wishes_.stopping()));
    }

    void count_attempt() {
        try {
            session_->count_attempt(tracker_.version());
            tracker_.count_attempt();
            show_state();
        } catch (...) {
            // The failure itself is what matters, and is told next.
        }
    }

    [[nodiscard]] const RebuildCursor& rebuild() const noexcept {
        return tracker_.checkpoint().rebuild;
    }

    void commit(const Checkpoint& next) {
        tracker_.commit(*session_, next);
        patience_.succeeded();
        waiting_.recovered();
        trouble_.recovered();
    }

    [[nodiscard]] Happened drifted(std::string what) {
        return drift_ = std::move(what), Happened::drifted;
    }

    void show_state() const {
        reporter_.place(tracker_.state(), tracker_.position().text(), tracker_.attempts());
    }

    B& database_;
    Options options_;
    Board& board_;
    const Wishes& wishes_;
    Capture capture_;
    Reporter reporter_;
    SessionHolder<Session> session_;
    Tracker<Session> tracker_;
    BatchInHand<S, H, B> batch_;
    LeaseKeeper<B> lease_;
    Waiting<Session> waiting_;
    Trouble trouble_;
    Patience patience_;
    std::optional<std::string> drift_; // found in the transaction that is undone next
};

} // namespace aftertouch::detail
