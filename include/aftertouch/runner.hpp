// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/cycle.hpp>
#include <aftertouch/detail/board.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/handler.hpp>
#include <aftertouch/observer.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/source.hpp>
#include <aftertouch/status.hpp>

/// \file
/// Carries out the steps of a pipeline's cycle on a session. For pipeline.hpp; one thread at a time.

namespace aftertouch::detail {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline Timestamp wall_clock() {
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

template <class S, class H, class B>
class Runner {
public:
    using T = typename S::Record;
    using Session = typename B::Session;
    using Position = typename Session::Position;

    Runner(S source, H handler, B& database, Options options, Board& board, const std::atomic<bool>& stopping)
        : source_{std::move(source)}, handler_{std::move(handler)}, database_{database}, options_{std::move(options)},
          board_{board}, stopping_{stopping}, capture_{source_.capture()} {}

    /// Does one step and says what happened. Throws nothing: `last_error` has what went wrong.
    [[nodiscard]] Happened carry_out(Step step, Cycle& cycle) {
        committing_ = false;
        try {
            return do_step(step, cycle);
        } catch (const Error& error) {
            return happened(error, step);
        } catch (...) {
            remember(std::current_exception());
            return step == Step::handle && aborted_ ? Happened::trouble : Happened::error;
        }
    }

    [[nodiscard]] std::exception_ptr last_error() const noexcept { return last_error_; }
    [[nodiscard]] const Capture& capture() const noexcept { return capture_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }

    /// \name On any thread
    /// @{
    void wake() {
        const std::lock_guard lock{session_mutex_};
        if (session_) { session_->wake(); }
    }
    /// Makes what the handler waits for in the database fail; its batch is undone and that is no failure.
    void abort() {
        aborted_ = true;
        const std::lock_guard lock{session_mutex_};
        if (session_) { session_->interrupt(); }
    }
    /// Goes on from this position at the next `open`.
    void rewind(std::string position) {
        const std::lock_guard lock{session_mutex_};
        rewind_ = std::move(position);
    }
    /// @}

    void forget_abort() noexcept { aborted_ = false; }

    void tell(Moment moment, std::string_view message = {}, std::string_view event = {}) const {
        tell(Report{.moment = moment, .pipeline = options_.name, .event_id = event, .message = message});
    }

private:
    [[nodiscard]] Happened do_step(Step step, Cycle& cycle) {
        switch (step) {
            case Step::open: return open(cycle);
            case Step::start_over: return start_over(cycle);
            case Step::poll: return poll();
            case Step::begin: return begin();
            case Step::handle: return handle();
            case Step::advance: return advance(cycle);
            case Step::undo: return undo();
            case Step::note: return note();
            case Step::wait: return wait(cycle);
            case Step::back_off: return back_off();
            case Step::fail: return fail();
            case Step::stop: break;
        }
        return Happened::done;
    }

    // ------------------------------------------------------------------------------------------------- the steps

    Happened open(Cycle& cycle) {
        board_.update([](Status& status) { status.state = State::starting; });
        make_session();
        if (session_->bring_up()) { tell(Moment::installed, "capture " + capture_.name + " was installed or mended"); }
        writer_.prepare(
            capture_.imaged, session_->key_folds(),
            [this](std::span<const Value> keys, const RowSink& sink) { session_->fetch(keys, sink); }, source_.filter());
        const bool usable = load();
        cycle.set_rebuilding(checkpoint_.rebuild.running);
        if (!usable) { return Happened::no_checkpoint; }
        replay_until_ = session_->head();
        take_up_rewind();
        show_state();
        return Happened::done;
    }

    // A rebuild takes the position first: what is written from here on comes from the log (R1).
    Happened start_over(Cycle& cycle) {
        session_->begin();
        if (const auto found = session_->drift(); !found.empty()) { return drifted(found); }
        Checkpoint next{session_->log(), session_->head().text(), {}};
        next.rebuild.generation = checkpoint_.rebuild.generation;
        const bool rebuild = version_ != 0 || options_.begin == Begin::rebuild;
        if (rebuild) {
            next.rebuild.generation += 1;
            next.rebuild.running = true;
            next.rebuild.total = session_->count_rows();
            in_handler([&] { tell_rebuild_started<T>(handler_, next.rebuild.generation, session_->transaction()); });
        }
        commit(std::move(next));
        replay_until_ = {};
        cycle.set_rebuilding(rebuild);
        rebuild_began_ = Clock::now();
        rebuilt_here_ = 0;
        show_state();
        if (rebuild) {
            tell(Report{.moment = Moment::rebuild_started, .pipeline = options_.name, .total = checkpoint_.rebuild.total});
        }
        return Happened::done;
    }

    Happened poll() {
        board_.look_begins();
        const std::optional<Position> seen = session_->poll(position_);
        if (!seen) {
            board_.busy();
            return Happened::news;
        }
        const bool moved = *seen != position_;
        position_ = *seen;
        board_.found_nothing();
        show_state();
        // Written at most once a second, so that quiet pipelines don't wake each other (K2).
        constexpr std::chrono::seconds patience{1};
        unwritten_ = unwritten_ || moved;
        return unwritten_ && Clock::now() - written_ > patience ? Happened::moved : Happened::nothing;
    }

    Happened begin() {
        began_ = Clock::now();
        idle_delay_ = {};
        session_->begin();
        if (const auto found = session_->drift(); !found.empty()) { return drifted(found); }
        if (const Usable usable = session_->usable(position_); usable != Usable::yes) {
            tell(Moment::checkpoint_unusable, name(usable));
            return Happened::no_checkpoint;
        }
        writer_.clear(log_id());
        next_ = checkpoint_;
        head_ = options_.skip_own_changes ? session_->head() : Position{};
        const std::size_t passed = read_changes();
        if (!checkpoint_.rebuild.running && passed == 0) {
            position_ = end_;
            return Happened::nothing;
        }
        return Happened::done;
    }

    Happened handle() {
        in_handler([&] {
            auto& tx = session_->transaction();
            if (writer_.size() != 0) {
                const bool replay = position_ < replay_until_;
                hand_over<S::mode>(handler_, writer_.seal(session_->event_id(end_), replay, attempts_), tx);
                if (writer_.failed_read()) { std::rethrow_exception(writer_.failed_read()); }
            }
            if (finishes_rebuild()) { tell_rebuild_finished<T>(handler_, next_.rebuild.generation, tx); }
        });
        return Happened::done;
    }

    Happened advance(Cycle& cycle) {
        if (options_.skip_own_changes) { session_->mark_own_changes(head_); }
        const bool page = checkpoint_.rebuild.running;
        next_.position = end_.text();
        commit(std::move(next_));
        position_ = end_;
        attempts_ = 0;
        cycle.set_rebuilding(checkpoint_.rebuild.running);
        rebuilt_here_ += writer_.present();
        show_batch();
        report_batch(page);
        return Happened::done;
    }

    Happened undo() {
        session_->roll_back();
        return Happened::done;
    }

    Happened note() {
        session_->begin();
        Checkpoint next = checkpoint_;
        next.position = position_.text();
        commit(std::move(next));
        return Happened::done;
    }

    Happened wait(const Cycle& cycle) {
        if (cycle.paused()) {
            board_.update([](Status& status) { status.state = State::paused; });
            session_->wait(options_.poll_interval);
            return Happened::done;
        }
        constexpr std::chrono::microseconds shortest{100};
        idle_delay_ = std::clamp<std::chrono::microseconds>(idle_delay_ * 2, shortest, longest_delay());
        if (session_->wait(idle_delay_)) { idle_delay_ = {}; }
        return Happened::done;
    }

    Happened back_off() {
        board_.update([](Status& status) { status.state = State::waiting; });
        tell(Moment::waiting, last_message_);
        constexpr std::chrono::microseconds longest{2'000'000};
        trouble_delay_ = std::clamp<std::chrono::microseconds>(trouble_delay_ * 2, std::chrono::microseconds{10'000}, longest);
        if (session_) { session_->wait(trouble_delay_); }
        return Happened::done;
    }

    Happened fail() {
        const std::string event = session_ && writer_.size() != 0 ? session_->event_id(end_) : std::string{};
        try {
            if (session_) { session_->count_attempt(version_); }
        } catch (...) {
            // The failure itself is what matters; it is told below.
        }
        board_.add({wall_clock(), event, last_message_, last_error_});
        board_.update([](Status& status) { status.state = State::failed; });
        tell(Report{.moment = Moment::pipeline_failed, .pipeline = options_.name, .event_id = event, .message = last_message_,
                    .cause = last_error_});
        return Happened::done;
    }

    // ------------------------------------------------------------------------------------------------- their parts

    void make_session() {
        if (session_) { return; }
        SessionRequest request{options_.name, capture_, source_.order(), options_.skip_own_changes, options_.schema};
        for (const std::size_t part : capture_.table.key) {
            if (std::find(request.order.begin(), request.order.end(), part) == request.order.end()) {
                request.order.push_back(part);
            }
        }
        auto made = database_.open_session(request, stopping_);
        const std::lock_guard lock{session_mutex_};
        session_ = std::move(made);
    }

    // Finds the checkpoint; false where there is none to go on from.
    [[nodiscard]] bool load() {
        checkpoint_ = {};
        version_ = attempts_ = 0;
        const std::optional<StoredCheckpoint> stored = session_->load();
        if (!stored) { return false; }
        version_ = stored->version;
        attempts_ = stored->attempts;
        std::optional<Checkpoint> found = checkpoint_from(stored->text);
        const std::optional<Position> position = found ? Position::from(found->position) : std::nullopt;
        if (!position) {
            tell(Moment::checkpoint_unreadable, "the stored text is none that this version writes: every record is handed over again");
            return false;
        }
        const Usable usable = found->log != session_->log() ? Usable::other_log : session_->usable(*position);
        checkpoint_ = std::move(*found);
        if (usable != Usable::yes) {
            tell(Moment::checkpoint_unusable, name(usable));
            checkpoint_.rebuild.running = false;
            return false;
        }
        position_ = *position;
        rebuild_began_ = Clock::now();
        rebuilt_here_ = 0;
        return true;
    }

    void take_up_rewind() {
        std::optional<std::string> wish;
        {
            const std::lock_guard lock{session_mutex_};
            wish = std::exchange(rewind_, std::nullopt);
        }
        const std::optional<Position> to = wish ? Position::from(*wish) : std::nullopt;
        if (!to || session_->usable(*to) != Usable::yes) { return; }
        position_ = *to;
        Checkpoint next = checkpoint_;
        next.position = to->text();
        session_->begin();
        commit(std::move(next));
    }

    // Changes first; where they all fit, the next page of a rebuild from the same state of the database (R2).
    [[nodiscard]] std::size_t read_changes() {
        RebuildCursor& rebuild = next_.rebuild;
        const bool key_order = source_.order().empty();
        std::size_t passed = 0;
        bool more = false;
        if (rebuild.running && key_order && rebuild.last.empty()) {
            end_ = session_->head();  // no page was read yet: every change is in its page
        } else {
            const std::vector<Value>* reached = rebuild.running && key_order ? &rebuild.last : nullptr;
            std::tie(end_, more) = session_->read_changes(position_, options_.batch_size, reached, [&](const LogRow& row) {
                if (is_full()) { return false; }
                writer_.add_change(row);
                ++passed;
                return true;
            });
        }
        if (rebuild.running && !more && passed < options_.batch_size && !is_full()) { read_page(options_.batch_size - passed); }
        return passed;
    }

    void read_page(std::size_t room) {
        RebuildCursor& rebuild = next_.rebuild;
        const Timestamp now = wall_clock();
        const bool last = session_->read_page(rebuild.last, room, [&](std::span<const Cell> row) {
            if (is_full()) { return false; }
            writer_.add_present(row, rebuild.generation, now);
            ++rebuild.done;
            return true;
        });
        if (!last) { return; }
        rebuild.running = false;
        rebuild.last.clear();
    }

    [[nodiscard]] bool is_full() const noexcept { return writer_.size() != 0 && writer_.bytes() >= options_.batch_bytes; }
    [[nodiscard]] bool finishes_rebuild() const noexcept { return checkpoint_.rebuild.running && !next_.rebuild.running; }

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

    void commit(Checkpoint next) {
        session_->store(to_text(next), version_);
        committing_ = true;
        session_->commit();
        committing_ = false;
        ++version_;
        checkpoint_ = std::move(next);
        if (const auto position = Position::from(checkpoint_.position)) { position_ = *position; }
        written_ = Clock::now();
        unwritten_ = false;
        trouble_delay_ = {};
    }

    [[nodiscard]] Happened drifted(const std::vector<Difference>& found) {
        tell(Moment::drift_found, to_text(found));
        return Happened::drifted;
    }

    [[nodiscard]] Happened happened(const Error& error, Step step) {
        remember(std::current_exception());
        if (error.code() == Errc::fenced) { return Happened::outrun; }
        if (committing_ || error.in_doubt()) { return Happened::in_doubt; }
        // A handler's errors are its own, unless it was told to stop.
        if (step == Step::handle) { return aborted_ ? Happened::trouble : Happened::error; }
        return error.retryable() ? Happened::trouble : Happened::error;
    }

    void remember(std::exception_ptr error) {
        last_error_ = std::move(error);
        try {
            std::rethrow_exception(last_error_);
        } catch (const std::exception& known) {
            last_message_ = known.what();
        } catch (...) {
            last_message_ = "the handler threw something that is no std::exception";
        }
    }

    [[nodiscard]] std::string log_id() const {
        const std::string event = session_->event_id({});
        return event.substr(0, event.rfind(':'));
    }

    [[nodiscard]] std::chrono::microseconds longest_delay() const {
        return std::max(std::chrono::microseconds{options_.poll_interval}, std::chrono::microseconds{100});
    }

    // ------------------------------------------------------------------------------------------------- telling

    void show_state() {
        const bool rebuilding = checkpoint_.rebuild.running;
        const State state = rebuilding                  ? State::rebuilding
                            : position_ < replay_until_ ? State::replaying
                                                        : State::following;
        board_.update([&](Status& status) {
            status.state = state;
            status.position = position_.text();
            status.attempts = attempts_;
            if (!rebuilding) { status.rebuild.reset(); }
        });
    }

    void show_batch() {
        show_state();
        const RebuildCursor& rebuild = checkpoint_.rebuild;
        board_.update([&](Status& status) {
            ++status.batches;
            status.changes += writer_.size() - writer_.present();
            status.rebuilt += writer_.present();
            if (!rebuild.running) { return; }
            const std::chrono::duration<double> took = Clock::now() - rebuild_began_;
            Progress progress{rebuild.generation, rebuild.done, rebuild.total, 0, {}};
            progress.per_second = took.count() > 0 ? static_cast<double>(rebuilt_here_) / took.count() : 0;
            if (progress.per_second > 0) {
                const auto left = static_cast<double>(std::max<std::int64_t>(rebuild.total - rebuild.done, 0));
                progress.time_left = std::chrono::seconds{static_cast<std::int64_t>(left / progress.per_second)};
            }
            status.rebuild = progress;
        });
    }

    void report_batch(bool page) const {
        const RebuildCursor& rebuild = checkpoint_.rebuild;
        const std::string event = session_->event_id(position_);
        Report report{.moment = Moment::batch_committed, .pipeline = options_.name, .event_id = event};
        report.changes = writer_.size();
        report.took = Clock::now() - began_;
        tell(report);
        if (!page) { return; }
        report.moment = rebuild.running ? Moment::rebuild_page : Moment::rebuild_finished;
        report.done = rebuild.done;
        report.total = rebuild.total;
        tell(report);
    }

    void tell(const Report& report) const {
        if (!options_.observer) { return; }
        try {
            options_.observer(report);
        } catch (...) {
            // An observer looks on; it can't stop a pipeline.
        }
    }

    S source_;
    H handler_;
    B& database_;
    Options options_;
    Board& board_;
    const std::atomic<bool>& stopping_;
    Capture capture_;

    std::mutex session_mutex_;  // guards the pointer, and the wish to rewind
    std::unique_ptr<Session> session_;
    std::optional<std::string> rewind_;
    std::atomic<bool> aborted_{false};

    BatchWriter<T> writer_;
    Checkpoint checkpoint_;  // as it is committed
    Checkpoint next_;        // as the batch in hand will leave it
    std::int64_t version_ = 0;
    std::int64_t attempts_ = 0;
    Position position_;      // read up to here
    Position end_;           // of the batch in hand
    Position head_;          // of the log before the handler ran
    Position replay_until_;
    bool committing_ = false;
    bool unwritten_ = false;
    Clock::time_point written_{};
    Clock::time_point began_{};
    Clock::time_point rebuild_began_{};
    std::uint64_t rebuilt_here_ = 0;
    std::chrono::microseconds idle_delay_{0};
    std::chrono::microseconds trouble_delay_{0};
    std::exception_ptr last_error_;
    std::string last_message_;
};

}  // namespace aftertouch::detail
