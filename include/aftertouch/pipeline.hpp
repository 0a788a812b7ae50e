// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/cycle.hpp>
#include <aftertouch/dead_letter_calls.hpp>
#include <aftertouch/detail/board.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/detail/wishes.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/handler.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/runner.hpp>
#include <aftertouch/source.hpp>
#include <aftertouch/status.hpp>

/// \file
/// The pipeline: a source, a handler and a database, followed on its own thread or step by step.

namespace aftertouch {

/// Runs a handler over every change of a source: in order per record, at least once, with its
/// checkpoint in the same transaction as what the handler writes.
///
/// \code
/// aftertouch::sqlite::Database shop{"shop.db"};
/// const auto copy = [](const auto& batch, auto& tx) {
///     for (const Order& now : batch.records()) { tx.upsert(Copy{now.id, now.amount}); }
/// };
/// aftertouch::Pipeline copies{aftertouch::source<Order>(), copy, shop, {.name = "copies"}};
/// copies.start();
/// copies.await_idle();
/// \endcode
///
/// *After a crash*: what a batch wrote through its transaction is there together with the
/// checkpoint, or neither is; effects outside the database may come again
/// (`Change::idempotency_key`). *Threads*: every member from any; the handler runs on one at a
/// time, with `Options::lanes` on several. *Lifetime*: within the database's; its end stops it.
template <class S, class H, class B>
class Pipeline : public DeadLetterCalls<Pipeline<S, H, B>, typename detail::RecordOf<S>::Type, B> {
    static_assert(
        ChangeSource<S>, "aftertouch: a pipeline's first argument is a source: at::source<T>()");
    static_assert(StorageBackend<B>,
        "aftertouch: a pipeline's third argument is a database, as at::sqlite::Database");
    static_assert((
        detail::require_handler<H, typename S::Record, S::mode, typename B::Session::Transaction>(),
        true));

public:
    /// *Throws* `Error` (`invalid_argument`) for options that make no sense. Nothing is opened yet.
    template <class Database>
    Pipeline(S source, H handler, Database&& database, Options options)
        : database_{database},
          runner_{std::move(source), std::move(handler), database,
              require_sense(std::move(options)), board_, wishes_} {
        static_assert(std::is_lvalue_reference_v<Database>,
            "aftertouch: a pipeline keeps a reference to its database: give the Database a name "
            "that outlives it");
        board_.update([&](Status& status) { status.name = runner_.options().name; });
    }
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;
    ~Pipeline() {
        stop();
        if (thread_.joinable()) { thread_.join(); }
    }

    /// Installs what is missing, finds the checkpoint, and follows on a thread of its own: what the
    /// log holds first, or a rebuild. Does nothing while it runs. After a failure it hands over
    /// again what wasn't handled.
    ///
    /// What is committed after it returned comes as a change, unless the database was locked, which
    /// is waited for on the thread.
    ///
    /// *Throws* `Error` for what installing or comparing finds (`schema_mismatch`,
    /// `capture_conflict`, `read_only`, ...), and what `rebuild_started` throws.
    void start() {
        refuse_inside("Pipeline::start");
        const std::lock_guard guard{control_};
        if (board_.running()) { return; }
        if (thread_.joinable()) { thread_.join(); }
        wishes_.go_on();
        runner_.forget_abort();
        try {
            cycle_.start();
            Step step = advance();
            while (step == Step::start_over || step == Step::undo || step == Step::open) {
                step = advance();
            }
            if (step == Step::fail) { give_up(step); }
            board_.set_running(true);
            runner_.reporter().tell(Moment::started);
            thread_ = std::thread{[this] { follow(); }};
        } catch (...) {
            board_.set_running(false);
            cycle_.halt();
            runner_.give_back();
            throw;
        }
    }

    /// Stops: the batch in hand is finished, or undone if it takes longer than `deadline`; what is
    /// committed stays, and the lease is given back.
    ///
    /// Returns when nothing runs any more, however long a handler takes; inside one it only asks.
    void stop(std::chrono::milliseconds deadline = std::chrono::seconds{10}) {
        wishes_.stop();
        runner_.wake();
        if (is_inside()) { return; }
        const std::lock_guard guard{control_};
        wishes_.stop(); // a start() that was under way has taken it back
        if (!thread_.joinable()) { return runner_.give_back(); }
        runner_.wake();
        while (!board_.await_end(detail::Clock::now() + deadline)) {
            runner_.abort();
            deadline = std::chrono::milliseconds{20};
        }
        thread_.join();
    }

    /// Whether it follows nothing now.
    [[nodiscard]] bool stopped() const { return !board_.running(); }
    /// Whether the last look found nothing to do, or it is stopped.
    [[nodiscard]] bool idle() const { return board_.idle() && !wishes_.pending(); }

    /// Waits until everything that was committed before the call is handled, a rebuild included, or
    /// it has stopped; while it is paused, for `resume()`, and while it stands by, for its turn.
    ///
    /// *Throws* `Error` (`wrong_thread`) inside a handler.
    Awaited await_idle() { return await(std::optional<detail::Clock::time_point>{}); }
    /// The same, but not longer than `timeout`.
    Awaited await_idle(std::chrono::milliseconds timeout) {
        return await(std::optional{detail::Clock::now() + timeout});
    }

    /// The newest twenty errors that stopped it, oldest first.
    [[nodiscard]] std::vector<Failure> errors() const { return board_.failures(); }

    /// State, position, lag, progress, counts. *Costs* two queries; inside a handler, and while the
    /// database can't be asked, the lag is missing.
    [[nodiscard]] Status status() const {
        Status status = board_.status();
        if (status.position.empty() || detail::HandlerScope::inside(&database_)) { return status; }
        try {
            status.lag = database_.lag(runner_.capture(), status.position, status.low_position);
            status.dead_letters = this->desk().count();
        } catch (const Error&) {} // locked or gone for now
        return status;
    }

    /// Hands every record of the source over again, then follows the log. Now if it runs, else at
    /// the next start; where it stands by, when it has the lease.
    ///
    /// A handler that neither clears its target (`rebuild_started`) nor sweeps it
    /// (`rebuild_finished`) is told of all changes meanwhile, so that deletions reach it; it must
    /// read the row: what it adds up would be counted twice.
    void rebuild() {
        wishes_.rebuild();
        runner_.wake();
    }

    /// Delivers again what is in the log behind `event_id` (of a batch, an error or a status of
    /// this database); never steps forward. Now if it runs, else at the next start, or its turn.
    ///
    /// A handler that adds differences counts them twice: `rebuild()` it. *Throws* `Error`
    /// (`invalid_argument`) for a place that the log hasn't, and while a rebuild runs.
    void rewind(std::string_view event_id) {
        rewind_to(database_.position_of(runner_.capture(), event_id));
    }
    /// Delivers again what was written at `time` or later, by the database's clock.
    void rewind(Timestamp time) { rewind_to(database_.position_before(runner_.capture(), time)); }

    /// Begins no batch until `resume()`. Capture goes on; a lease is kept, and not taken.
    void pause() {
        wishes_.pause(true);
        runner_.wake();
    }
    void resume() {
        wishes_.pause(false);
        runner_.wake();
    }

    /// Changes `Options::lanes`, from the next changes that are read on; SQLite has one anyway.
    /// *Throws* `Error` (`invalid_argument`) for a number that isn't 1 to 64.
    void lanes(std::size_t count) { runner_.set_lanes(count); }

    /// Handles at most one batch on the calling thread; answers whether there was one. For
    /// applications with a loop of their own, and for tests.
    ///
    /// A lease is kept until `stop()`. *Throws* what handler or database threw, `Error` (`busy`)
    /// while another instance has the lease, (`wrong_thread`) while its own thread runs.
    bool run_once() {
        refuse_inside("Pipeline::run_once");
        const std::lock_guard guard{control_};
        wishes_.go_on();
        return turn();
    }

    /// Handles batches on the calling thread until there is nothing to do; answers how many.
    /// *Throws* as `run_once` does.
    std::size_t drain() {
        refuse_inside("Pipeline::drain");
        const std::lock_guard guard{control_};
        wishes_.go_on();
        std::size_t batches = 0;
        while (turn()) { ++batches; }
        return batches;
    }

private:
    friend DeadLetterCalls<Pipeline, typename detail::RecordOf<S>::Type, B>;

    // What waits for the batch or the observer that this thread is in would wait for ever.
    [[nodiscard]] bool is_inside() const noexcept {
        return detail::HandlerScope::inside(&database_) || detail::HandlerScope::inside(&board_);
    }
    void refuse_inside(std::string_view call) const {
        detail::HandlerScope::refuse(&database_, call);
        detail::HandlerScope::refuse(&board_, call);
    }

    Step advance() {
        const Happened happened = runner_.carry_out(cycle_.step(), cycle_);
        wishes_.tell(cycle_);
        return cycle_.on(happened);
    }

    void follow() {
        while (advance() != Step::stop) {}
        runner_.give_back();
        if (board_.state() != State::failed) { board_.set_state(State::stopped); }
        runner_.reporter().tell(Moment::stopped);
        board_.set_running(false);
    }

    // Up to the end of one batch, or to where there is nothing to do.
    bool turn() {
        if (board_.running()) {
            throw Error{Errc::wrong_thread,
                "pipeline " + runner_.options().name +
                    " runs on its own thread: stop() it before run_once() or drain()"};
        }
        runner_.forget_abort();
        if (cycle_.step() == Step::stop) { cycle_.start(); }
        wishes_.tell(cycle_);
        if (cycle_.hear() == Step::wait) { return false; }
        for (;;) {
            const bool batch = cycle_.step() == Step::advance || cycle_.step() == Step::start_over;
            const Step next = advance();
            if (next == Step::fail || next == Step::back_off) { give_up(next); }
            if (next == Step::stop || next == Step::wait) { return false; }
            if (batch && next != Step::undo) { return true; }
        }
    }

    [[noreturn]] void give_up(Step step) {
        if (step == Step::fail) { advance(); }
        cycle_.halt();
        std::rethrow_exception(runner_.told_error());
    }

    Awaited await(std::optional<detail::Clock::time_point> until) {
        refuse_inside("Pipeline::await_idle");
        const auto look = board_.next_look();
        runner_.wake();
        if (!board_.await(look, until)) { return Awaited::timed_out; }
        return board_.running() ? Awaited::idle : Awaited::stopped;
    }

    void rewind_to(std::string position) {
        runner_.rewind(std::move(position));
        wishes_.open();
        runner_.wake();
    }

    B& database_;
    detail::Board board_;
    detail::Wishes wishes_;
    detail::Runner<S, H, B> runner_;
    Cycle cycle_;
    std::mutex control_; // start, stop and run_once exclude each other
    std::thread thread_;
};

template <class S, class H, class Database>
Pipeline(S, H, Database&&, Options) -> Pipeline<S, H, std::remove_cvref_t<Database>>;

} // namespace aftertouch
