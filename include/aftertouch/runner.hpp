// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/cycle.hpp>
#include <aftertouch/detail/board.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/detail/pace.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/tracker.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/handler.hpp>
#include <aftertouch/observer.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/rebuild.hpp>
#include <aftertouch/source.hpp>
#include <aftertouch/status.hpp>

/// \file
/// Carries out the steps of a pipeline's cycle on a session. For pipeline.hpp; one thread at a time.

namespace aftertouch::detail {

template <class S, class H, class B>
class Runner {
public:
    using T = typename S::Record;
    using Session = typename B::Session;
    using Position = typename Session::Position;

    Runner(S source, H handler, B& database, Options options, Board& board, const std::atomic<bool>& stopping)
        : source_{std::move(source)}, handler_{std::move(handler)}, database_{database}, options_{std::move(options)},
          board_{board}, reporter_{options_, board}, stopping_{stopping}, capture_{source_.capture()}, tracker_{reporter_},
          reader_{options_, source_.order().empty()}, pace_{options_.poll_interval} {}

    /// Does one step and says what happened. Throws nothing: `last_error` has what went wrong.
    [[nodiscard]] Happened carry_out(Step step, Cycle& cycle) {
        tracker_.forget_doubt();
        try {
            return do_step(step, cycle);
        } catch (const Error& error) {
            remember(std::current_exception(), error.what());
            return happened(error, step);
        } catch (const std::exception& error) {
            remember(std::current_exception(), error.what());
        } catch (...) {
            remember(std::current_exception(), "the handler threw something that is no std::exception");
        }
        return tracker_.in_doubt() ? Happened::in_doubt : is_aborted(step) ? Happened::trouble : Happened::error;
    }

    [[nodiscard]] std::exception_ptr last_error() const noexcept { return last_error_; }
    [[nodiscard]] const Capture& capture() const noexcept { return capture_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    [[nodiscard]] const Reporter& reporter() const noexcept { return reporter_; }

    /// \name On any thread
    /// @{
    void wake() {
        const std::lock_guard lock{session_mutex_};
        if (session_) { session_->wake(); }
    }
    /// Makes what the handler waits for in the database fail; its batch is undone, and that is no failure.
    void abort() {
        aborted_ = true;
        const std::lock_guard lock{session_mutex_};
        if (session_) { session_->interrupt(); }
    }
    void rewind(std::string position) { tracker_.wish_rewind(std::move(position)); }
    /// @}

    void forget_abort() noexcept { aborted_ = false; }

private:
    [[nodiscard]] Happened do_step(Step step, Cycle& cycle) {
        switch (step) {
            case Step::open: return open(cycle);
            case Step::start_over: return start_over(cycle);
            case Step::poll: return poll();
            case Step::begin: return begin();
            case Step::handle: return handle();
            case Step::advance: return advance(cycle);
            case Step::undo: session_->roll_back(); break;
            case Step::note: return note();
            case Step::wait: wait(cycle); break;
            case Step::back_off: back_off(); break;
            case Step::fail: fail(); break;
            case Step::stop: break;
        }
        return Happened::done;
    }

    // ------------------------------------------------------------------------------------------------- the steps

    Happened open(Cycle& cycle) {
        reporter_.state(State::starting);
        make_session();
        if (session_->bring_up()) { reporter_.tell(Moment::installed, "capture " + capture_.name + " was installed or mended"); }
        writer_.prepare(
            capture_.imaged, session_->key_folds(),
            [this](std::span<const Value> keys, const RowSink& sink) { session_->fetch(keys, sink); }, source_.filter());
        writer_.clear({});
        const bool usable = tracker_.load(*session_);
        cycle.set_rebuilding(rebuild().running);
        if (!usable) { return Happened::no_checkpoint; }
        reporter_.rebuild_taken_up();
        tracker_.take_up_rewind(*session_);
        show_state();
        return Happened::done;
    }

    // A rebuild takes the position first: what is written from here on comes from the log (R1).
    Happened start_over(Cycle& cycle) {
        session_->begin();
        if (const auto found = session_->drift(); !found.empty()) { return drifted(found); }
        next_ = {session_->log(), session_->head().text(), {}};
        next_.rebuild.generation = rebuild().generation;
        if (tracker_.version() != 0 || options_.begin == Begin::rebuild) {
            next_.rebuild.generation += 1;
            next_.rebuild.running = true;
            next_.rebuild.total = session_->count_rows();
            in_handler([&] { tell_rebuild_started<T>(handler_, next_.rebuild.generation, session_->transaction()); });
        }
        commit();
        tracker_.rebuild_begins();
        cycle.set_rebuilding(rebuild().running);
        show_state();
        if (rebuild().running) { reporter_.rebuild_begins(rebuild()); }
        return Happened::done;
    }

    Happened poll() {
        board_.look_begins();
        const std::optional<Position> seen = session_->poll(tracker_.position());
        if (!seen) { return Happened::news; }
        const bool write = tracker_.pass_to(*seen);
        show_state();
        board_.found_nothing();
        return write ? Happened::moved : Happened::nothing;
    }

    Happened begin() {
        began_ = Clock::now();
        pace_.hurry();
        session_->begin();
        if (const auto found = session_->drift(); !found.empty()) { return drifted(found); }
        if (const Usable usable = session_->usable(tracker_.position()); usable != Usable::yes) {
            reporter_.tell(Moment::checkpoint_unusable, name(usable));
            return Happened::no_checkpoint;
        }
        writer_.clear(log_id());
        next_ = tracker_.checkpoint();
        head_ = options_.skip_own_changes ? session_->head() : Position{};
        const std::size_t passed = reader_.read(*session_, tracker_.position(), next_.rebuild, writer_);
        next_.position = reader_.end().text();
        if (rebuild().running || passed != 0) { return Happened::done; }
        static_cast<void>(tracker_.pass_to(reader_.end()));
        return Happened::nothing;
    }

    Happened handle() {
        in_handler([&] {
            auto& tx = session_->transaction();
            if (writer_.size() != 0) {
                const Batch<T>& batch = writer_.seal(session_->event_id(reader_.end()), tracker_.replaying(), tracker_.attempts());
                hand_over<S::mode>(handler_, batch, tx);
                if (writer_.failed_read()) { std::rethrow_exception(writer_.failed_read()); }
            }
            if (rebuild().running && !next_.rebuild.running) {
                tell_rebuild_finished<T>(handler_, next_.rebuild.generation, tx);
            }
        });
        return Happened::done;
    }

    Happened advance(Cycle& cycle) {
        if (options_.skip_own_changes) { session_->mark_own_changes(head_); }
        const bool page = rebuild().running;
        commit();
        cycle.set_rebuilding(rebuild().running);
        show_state();
        reporter_.batch({session_->event_id(tracker_.position()), writer_.size(), writer_.present(), Clock::now() - began_, page},
                        rebuild());
        return Happened::done;
    }

    Happened note() {
        session_->begin();
        next_ = tracker_.checkpoint();
        next_.position = tracker_.position().text();
        commit();
        return Happened::done;
    }

    void wait(const Cycle& cycle) {
        if (cycle.paused()) {
            reporter_.state(State::paused);
            session_->wait(options_.poll_interval);
        } else if (session_->wait(pace_.next_idle())) {
            pace_.hurry();
        }
    }

    void back_off() {
        reporter_.state(State::waiting);
        reporter_.tell(Moment::waiting, last_message_);
        if (session_) {
            session_->wait(pace_.next_trouble());
        } else {
            std::this_thread::sleep_for(Pace::shortest_trouble);
        }
    }

    void fail() {
        const std::string event = writer_.size() != 0 ? session_->event_id(reader_.end()) : std::string{};
        try {
            if (session_) { session_->count_attempt(tracker_.version()); }
        } catch (...) {
            // The failure itself is what matters, and is told below.
        }
        reporter_.failed({wall_clock(), event, last_message_, last_error_});
    }

    // ------------------------------------------------------------------------------------------------- their parts

    void make_session() {
        if (session_) { return; }
        SessionRequest request{options_.name, capture_, source_.order(), options_.skip_own_changes, options_.schema};
        end_with_key(request.order, capture_.table.key);
        auto made = database_.open_session(request, stopping_);
        const std::lock_guard lock{session_mutex_};
        session_ = std::move(made);
    }

    static void end_with_key(std::vector<std::size_t>& order, const std::vector<std::size_t>& key) {
        for (const std::size_t part : key) {
            if (std::find(order.begin(), order.end(), part) == order.end()) { order.push_back(part); }
        }
    }

    [[nodiscard]] const RebuildCursor& rebuild() const noexcept { return tracker_.checkpoint().rebuild; }

    // What the handler does must stay inside the transaction that was begun for it (K2).
    template <class Work>
    void in_handler(Work work) {
        {
            const HandlerScope scope{&database_};
            work();
        }
        if (session_->intact()) { return; }
        throw Error{Errc::transaction_lost,
                    "the handler of pipeline " + options_.name + " ended the batch's transaction (a COMMIT, a ROLLBACK, or an "
                    "error that made the database roll back): nothing of the batch stays, and the handler must leave it open"};
    }

    void commit() {
        tracker_.commit(*session_, std::move(next_));
        pace_.recovered();
    }

    [[nodiscard]] Happened drifted(const std::vector<Difference>& found) {
        reporter_.tell(Moment::drift_found, to_text(found));
        return Happened::drifted;
    }

    // A handler's errors are its own, unless it was told to stop.
    [[nodiscard]] bool is_aborted(Step step) const noexcept { return step == Step::handle && aborted_; }

    [[nodiscard]] Happened happened(const Error& error, Step step) const noexcept {
        if (error.code() == Errc::fenced) { return Happened::outrun; }
        if (tracker_.in_doubt() || error.in_doubt()) { return Happened::in_doubt; }
        if (step == Step::handle) { return is_aborted(step) ? Happened::trouble : Happened::error; }
        return error.retryable() ? Happened::trouble : Happened::error;
    }

    void remember(std::exception_ptr error, const char* message) {
        last_error_ = std::move(error);
        last_message_ = message;
    }

    void show_state() const {
        const State state = rebuild().running       ? State::rebuilding
                            : tracker_.replaying() ? State::replaying
                                                    : State::following;
        reporter_.place(state, tracker_.position().text(), tracker_.attempts());
    }

    // An event id is the log's name and a position.
    [[nodiscard]] std::string log_id() const {
        const std::string event = session_->event_id({});
        return event.substr(0, event.rfind(':'));
    }

    S source_;
    H handler_;
    B& database_;
    Options options_;
    Board& board_;
    Reporter reporter_;
    const std::atomic<bool>& stopping_;
    Capture capture_;

    std::mutex session_mutex_;  // guards the pointer for the calls of other threads
    std::unique_ptr<Session> session_;
    std::atomic<bool> aborted_{false};

    Tracker<Session> tracker_;
    BatchReader<T, Session> reader_;
    BatchWriter<T> writer_;
    Checkpoint next_;  // as the transaction in hand will leave it
    Position head_;    // of the log before the handler ran
    Clock::time_point began_{};
    Pace pace_;
    std::exception_ptr last_error_;
    std::string last_message_;
};

}  // namespace aftertouch::detail
