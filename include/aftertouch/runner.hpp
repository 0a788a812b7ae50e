// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <aftertouch/backend.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/cycle.hpp>
#include <aftertouch/detail/batch_in_hand.hpp>
#include <aftertouch/detail/board.hpp>
#include <aftertouch/detail/lane_help.hpp>
#include <aftertouch/detail/lease_keeper.hpp>
#include <aftertouch/detail/patience.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/session_holder.hpp>
#include <aftertouch/detail/tracker.hpp>
#include <aftertouch/detail/trouble.hpp>
#include <aftertouch/detail/waiting.hpp>
#include <aftertouch/detail/wishes.hpp>
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

    Runner(S source, H handler, B& database, Options options, Board& board, const Wishes& wishes)
        : database_{database},
          options_{std::move(options)},
          board_{board},
          wishes_{wishes},
          capture_{source.capture()},
          reporter_{options_, board},
          tracker_{reporter_, capture_.low_priority},
          batch_{std::move(source), std::move(handler), database, options_},
          lease_{options_, board, reporter_, session_},
          help_{batch_.source(), batch_.caller(), options_, reporter_, session_, lease_},
          waiting_{options_, board, reporter_, wishes, session_},
          patience_{options_},
          request_{session_request(options_.name, capture_, batch_.source().order(),
              options_.skip_own_changes, options_.schema, lease_.request(capture_))} {}

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

    void give_back() noexcept { lease_.give_back(); } ///< nothing runs any more: lets another in

    /// \name On any thread
    /// @{
    void wake() { session_.wake(); }
    void set_lanes(std::size_t lanes) { batch_.set_lanes(require_lanes(lanes, options_.name)); }
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
        const Excuse excuse = session_ ? session_->excuse(thrown) : Excuse::none;
        const Blame blame = batch_.blame(step, excuse);
        const Happened happened = trouble_.caught({blame.step, tracker_.in_doubt(),
            session_.aborted(), tracker_.version(), blame.excuse});
        if (!blame.in_handler || happened != Happened::error) { return happened; }
        const FailedBatch failed{
            attempts(), batch_.in_parts(), tracker_.rebuild().running, step == Step::start_over};
        return patience_.judge(trouble_.fault(), failed) ? Happened::trouble : Happened::error;
    }

    [[nodiscard]] Happened do_step(Step step, Cycle& cycle) {
        if (needs_lease(step)) { lease_.require(); }
        switch (step) {
            case Step::open: return open(cycle);
            case Step::start_over: return start_over(cycle);
            case Step::poll: return poll();
            case Step::begin: return begin();
            case Step::handle: handle(); break;
            case Step::advance: return advance(cycle);
            case Step::undo: undo(); break;
            case Step::note:
                session_->begin();
                commit(tracker_.passed());
                break;
            case Step::wait: cycle.paused() ? waiting_.while_paused() : waiting_.for_news(); break;
            case Step::back_off: back_off(cycle.paused()); break;
            case Step::fail: fail(); break;
            case Step::stop: break;
        }
        return Happened::done;
    }

    Happened open(Cycle& cycle) {
        patience_.forget_verdict();
        lease_.forget_others();
        if (!waiting_.is_on()) { reporter_.state(State::starting); }
        session_.open(database_, request_, wishes_.stopping());
        if (session_->bring_up()) { reporter_.installed(capture_.name); }
        batch_.prepare(*session_, capture_);
        lease_.take(database_, capture_, wishes_.stopping());
        const bool usable = tracker_.load(*session_);
        lease_.confirm();
        trouble_.refuse_lost_commit(tracker_.version());
        cycle.set_rebuilding(tracker_.rebuild().running);
        if (!usable) {
            batch_.take_up(*session_, {});
            return Happened::no_checkpoint;
        }
        reporter_.rebuild_taken_up(tracker_.rebuild());
        tracker_.take_up_rewind(*session_);
        batch_.take_up(*session_, tracker_.checkpoint());
        show_state();
        return Happened::done;
    }

    // A rebuild takes the position first: what is written from here on comes from the log (R1).
    Happened start_over(Cycle& cycle) {
        waiting_.work_begins();
        session_->begin();
        if (has_drifted()) { return Happened::drifted; }
        const bool wanted =
            tracker_.is_known() || options_.begin == Begin::rebuild || cycle.rebuild_wanted();
        const bool usable =
            cycle.has_checkpoint() && session_->usable(tracker_.position()) == Usable::yes;
        batch_.start_over(*session_, tracker_, wanted, usable);
        commit(batch_.next());
        tracker_.rebuild_begins();
        cycle.set_rebuilding(tracker_.rebuild().running);
        show_state();
        if (tracker_.rebuild().running) { reporter_.rebuild_begins(tracker_.rebuild()); }
        return Happened::done;
    }

    Happened poll() {
        board_.look_begins();
        batch_.drop();
        if (batch_.knows_more(*session_, tracker_.position())) { return Happened::news; }
        const std::optional<bool> write = tracker_.look(*session_);
        if (!write) { return Happened::news; }
        show_state();
        if (!wishes_.pending()) { board_.found_nothing(); }
        return *write ? Happened::moved : Happened::nothing;
    }

    Happened begin() {
        waiting_.work_begins();
        session_->begin();
        if (has_drifted()) { return Happened::drifted; }
        const bool ahead = batch_.take_ahead(*session_, tracker_);
        if (const Happened read = ahead ? Happened::done : read_batch(); read != Happened::done) {
            return read;
        }
        if (batch_.is_dealt()) {
            lease_.count_instances();
            const std::int64_t instances = attempts() == 0 ? lease_.instances() : 1;
            const auto claim = batch_.claim(tracker_.position(), instances);
            claim ? tracker_.commit(*session_, *claim) : session_->roll_back();
        }
        return Happened::done;
    }
    [[nodiscard]] Happened read_batch() {
        const bool any = batch_.read(*session_, tracker_);
        // Asked behind it, in its transaction: so nothing was pruned under the reading (P5). The
        // checkpoint may have gone on elsewhere, or the log be another one: `open` looks at both.
        const bool usable = session_->usable(tracker_.position()) == Usable::yes;
        if (!usable || batch_.meets_truncation()) {
            batch_.drop();
            if (usable) { drift_ = "the source was truncated"; }
            return usable ? Happened::no_checkpoint : Happened::drifted;
        }
        if (any) { return Happened::done; }
        static_cast<void>(tracker_.pass_to(batch_.end()));
        return Happened::nothing;
    }

    void handle() {
        session_.close_lanes(batch_.lanes());
        session_.open_lanes(batch_.lanes_wanted(), database_, request_, wishes_.stopping());
        batch_.hand_over(session_,
            {tracker_.replaying(batch_.is_low()), attempts(), tracker_.version(),
                lease_.instances() > 1},
            patience_, [this] { return session_.aborted(); });
    }

    Happened advance(Cycle& cycle) {
        if (batch_.leaves_more()) {
            tracker_.move_on(batch_.next()); // the next deal writes it
            recovered();
        } else {
            if (batch_.is_dealt()) { session_->begin(); }
            commit(batch_.next());
        }
        cycle.set_rebuilding(tracker_.rebuild().running);
        show_state();
        reporter_.batch(batch_.committed(), tracker_.rebuild());
        return Happened::done;
    }

    // What there is to tell of a transaction is told behind it: an observer may ask the database.
    void undo() {
        session_->roll_back();
        reporter_.undone(
            std::exchange(drift_, std::nullopt), batch_.event_id(), trouble_.message());
        if (patience_.verdict().counts) { count_attempt(); }
    }

    void back_off(bool paused) {
        if (lease_.was_others()) {
            const bool helps = help_.offer(paused ? 1 : batch_.lanes(), *session_, capture_);
            return waiting_.for_lease(trouble_.message(), helps,
                [this] { return help_.look(database_, request_, wishes_.stopping()); });
        }
        const Verdict& verdict = patience_.verdict();
        if (!verdict.again) { return waiting_.for_database(trouble_.message()); }
        reporter_.retried(batch_.event_id(), attempts(), verdict.pause, trouble_.message());
        waiting_.for_retry(verdict.pause);
    }

    void fail() {
        if (!batch_.event_id().empty()) { count_attempt(); }
        reporter_.failed(wall_clock(), batch_.event_id(), trouble_.message(), trouble_.error());
        batch_.drop();
    }

    void count_attempt() {
        try {
            tracker_.count_attempt(*session_, batch_.is_low());
            show_state();
        } catch (...) {
            // The failure itself is what matters, and is told next.
        }
    }

    void commit(const Checkpoint& next) {
        tracker_.commit(*session_, next, batch_.is_low());
        recovered();
    }
    void recovered() noexcept {
        patience_.succeeded();
        waiting_.recovered();
        trouble_.recovered();
    }

    [[nodiscard]] auto attempts() const noexcept { return tracker_.attempts(batch_.is_low()); }
    [[nodiscard]] bool has_drifted() {
        if (const auto found = session_->drift(); !found.empty()) { drift_ = to_text(found); }
        return drift_.has_value();
    }

    void show_state() const {
        const Checkpoint at = tracker_.passed();
        reporter_.place(tracker_.state(), at.position, at.low, attempts());
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
    typename LaneHelpFor<S, H, B>::Type help_;
    Waiting<Session> waiting_;
    Trouble trouble_;
    Patience patience_;
    SessionRequest request_;
    std::optional<std::string> drift_; // found in the transaction that is undone next
};

} // namespace aftertouch::detail
