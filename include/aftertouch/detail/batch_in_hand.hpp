// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <aftertouch/backend.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/detail/isolation.hpp>
#include <aftertouch/detail/patience.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/tracker.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/handler.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/rebuild.hpp>

/// \file
/// The batch that a pipeline works on, from its reading to its commit, and the handler that it goes
/// to.

namespace aftertouch::detail {

template <class S, class H, class B>
class BatchInHand {
public:
    using T = typename S::Record;
    using Session = typename B::Session;
    using Position = typename Session::Position;

    BatchInHand(S source, H handler, const B& database, const Options& options)
        : source_{std::move(source)},
          handler_{std::move(handler)},
          database_{database},
          options_{options},
          reader_{options, source_.order().empty(),
              minds_rebuilds<H, T, typename Session::Transaction>()},
          isolation_{options, writer_, B::dead_letter_table(source_.capture())} {}

    [[nodiscard]] const S& source() const noexcept { return source_; }

    /// Gets ready for a session that has been brought up.
    void prepare(Session& session, const Capture& capture) {
        log_ = session.event_id({});
        log_.erase(log_.rfind(':')); // an event id is the log's name and a position
        writer_.prepare(
            capture.imaged, session.key_folds(),
            [&session](
                std::span<const Value> keys, const RowSink& sink) { session.fetch(keys, sink); },
            source_.filter());
        isolation_.load(session);
        drop();
    }

    /// Nothing is in hand.
    void drop() noexcept { event_id_.clear(); }
    /// Where the batch ends; empty while there is none.
    [[nodiscard]] const std::string& event_id() const noexcept { return event_id_; }

    /// Takes the position of the log's end, and with `rebuild` begins one: tells the handler, in
    /// the session's transaction.
    /// Changes behind `from`, if there is such a place, are still handed over to a handler that
    /// neither clears nor sweeps.
    void start_over(Session& session, const Tracker<Session>& tracker, bool rebuild,
        std::optional<Position> from) {
        drop();
        head_ = session.head();
        next_ = {session.log(), head_.text(), {}};
        const std::int64_t last = tracker.checkpoint().rebuild.generation;
        next_.rebuild.generation = last;
        if (!rebuild) { return; }
        next_.rebuild.generation =
            std::max<std::int64_t>(last + 1, wall_clock().time_since_epoch().count());
        next_.rebuild.first = !tracker.is_known();
        next_.rebuild.running = true;
        next_.rebuild.total = session.count_rows();
        const bool emptied = std::exchange(emptied_by_hand_, false);
        if (from && !emptied && !reader_.leaves_to_pages(next_.rebuild)) {
            next_.position = from->text();
        }
        // Whatever was set aside is of before: it would make again what nobody tells the end of.
        if (reader_.minds_rebuilds() || emptied) { isolation_.discard_all(session); }
        in_handler(session,
            [&](auto& tx) { tell_rebuild_started<T>(handler_, next_.rebuild.generation, tx); });
        if (options_.skip_own_changes) { session.mark_own_changes(head_); }
    }

    /// Whether dead letters were released: they go first. *Threads* of `look_at_letters`: any.
    [[nodiscard]] bool has_released(Session& session) { return isolation_.has_released(session); }
    void look_at_letters() noexcept { isolation_.look(); }

    /// Reads what comes behind `from`, or dead letters that were released; answers whether there
    /// was anything.
    [[nodiscard]] bool read(Session& session, const Checkpoint& checkpoint, Position from) {
        began_ = Clock::now();
        writer_.clear(log_);
        in_parts_ = false;
        next_ = checkpoint;
        was_rebuilding_ = checkpoint.rebuild.running;
        head_ = options_.skip_own_changes ? session.head() : Position{};
        from_letters_ = isolation_.begin(session);
        if (from_letters_) {
            static_cast<void>(session.head()); // a transaction begins with a look at the log
            was_rebuilding_ = false;
            next_.position = from.text();
            event_id_ = session.event_id(from);
            return true;
        }
        const std::size_t passed = read_in_scope(session, from);
        next_.position = reader_.end().text();
        if (passed == 0 && !was_rebuilding_) { return false; }
        event_id_ = session.event_id(reader_.end());
        return true;
    }
    /// How far the log was read.
    [[nodiscard]] const Position& end() const noexcept { return reader_.end(); }

    /// What comes next is that the whole table was emptied; nothing was read. *Throws* `Error`
    /// (`handler_failed`) for a handler that has no way to learn of it.
    [[nodiscard]] bool meets_truncation() {
        if (from_letters_ || !reader_.truncated()) { return false; }
        if (reader_.minds_rebuilds()) { return true; }
        emptied_by_hand_ = true;
        throw Error{Errc::handler_failed,
            "the source of pipeline " + options_.name +
                " was truncated, and its handler neither clears nor sweeps what it derived "
                "(rebuild_started, rebuild_finished): empty the target by hand, call rebuild(), "
                "and start again"};
    }
    /// Whether the last batch left changes behind `position`, where it ended.
    [[nodiscard]] bool has_more_behind(const Position& position) const noexcept {
        return reader_.more() && reader_.end() == position;
    }

    /// Hands the batch over, and where the policy or the handler says so in parts, so that records
    /// at fault are found and set aside.
    ///
    /// Nothing is set aside while `aborted()` says that the handler's time is over.
    template <class Aborted>
    void hand_over_to_handler(Session& session, bool replay, std::int64_t attempts,
        const Patience& patience, Aborted aborted) {
        const Batch<T>& batch =
            writer_.seal({event_id_, next_.rebuild.generation, attempts, replay || from_letters_});
        const bool concerned = isolation_.concerns_batch(session);
        in_parts_ = patience.wants_parts(attempts, was_rebuilding_) || concerned;
        in_handler(session, [&](auto& tx) {
            const auto hand = [&](const Batch<T>& some) { hand_over_all(some, tx); };
            if (in_parts_) {
                isolation_.hand_over(
                    session, patience.policy(was_rebuilding_), attempts, hand, aborted);
            } else {
                hand(batch);
            }
            if (was_rebuilding_ && !next_.rebuild.running) {
                tell_rebuild_finished<T>(handler_, next_.rebuild.generation, tx);
            }
        });
        isolation_.write(session, attempts + 1);
        if (options_.skip_own_changes) { session.mark_own_changes(head_); }
    }
    /// Whether its records were tried alone.
    [[nodiscard]] bool in_parts() const noexcept { return in_parts_; }

    /// Whether what was thrown last came out of the handler; asked once.
    [[nodiscard]] bool threw_in_handler() noexcept { return std::exchange(in_handler_, false); }

    /// The checkpoint that the batch leads to.
    [[nodiscard]] const Checkpoint& next() const noexcept { return next_; }

    /// What there is to say of it when it is committed; then nothing is in hand.
    [[nodiscard]] CommittedBatch committed() {
        return {std::exchange(event_id_, {}), static_cast<std::int64_t>(writer_.size()),
            static_cast<std::int64_t>(writer_.present()), Clock::now() - began_, was_rebuilding_,
            static_cast<std::int64_t>(isolation_.parked()), isolation_.why()};
    }

private:
    // A filter runs while the batch is read, and may no more call the database than a handler.
    [[nodiscard]] std::size_t read_in_scope(Session& session, Position from) {
        const HandlerScope scope{&database_};
        return reader_.read(session, from, next_.rebuild, writer_);
    }

    void hand_over_all(const Batch<T>& batch, typename Session::Transaction& tx) {
        if (batch.changes().empty()) { return; }
        hand_over<S::mode>(handler_, batch, tx);
        if (const auto error = writer_.failed_read(batch)) { std::rethrow_exception(error); }
    }

    // What the handler does must stay inside the transaction that was begun for it (K2).
    template <class Work>
    void in_handler(Session& session, Work work) {
        in_handler_ = true;
        try {
            const HandlerScope scope{&database_};
            work(session.transaction());
        } catch (const Error& error) {
            // Said below, where the pipeline is known.
            if (error.code() != Errc::transaction_lost || session.intact()) { throw; }
        }
        if (session.intact()) {
            in_handler_ = false;
            return;
        }
        throw Error{Errc::transaction_lost,
            "the handler of pipeline " + options_.name +
                " ended the batch's transaction (a COMMIT, a ROLLBACK, or an "
                "error that made the database roll back): the batch comes again, and the handler "
                "must leave it open"};
    }

    S source_;
    H handler_;
    const B& database_;
    const Options& options_;
    BatchReader<T, Session> reader_;
    BatchWriter<T> writer_;
    Isolation<T, Session, S::mode == CaptureMode::images> isolation_;
    Checkpoint next_; // as the transaction in hand will leave it
    Position head_;   // of the log before the handler ran
    std::string log_; // its name
    std::string event_id_;
    Clock::time_point began_{};
    bool was_rebuilding_ = false;
    bool in_handler_ = false;
    bool from_letters_ = false; // of those that were released
    bool in_parts_ = false;
    bool emptied_by_hand_ = false; // as the next rebuild may take it: a truncation was told
};

} // namespace aftertouch::detail
