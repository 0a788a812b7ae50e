// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/dealing.hpp>
#include <aftertouch/detail/handler_caller.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/detail/low_priority.hpp>
#include <aftertouch/detail/patience.hpp>
#include <aftertouch/detail/portion.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/session_holder.hpp>
#include <aftertouch/detail/tracker.hpp>
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
          options_{options},
          caller_{std::move(handler), database, options},
          reader_{options, source_.order().empty(),
              minds_rebuilds<H, T, typename Session::Transaction>()},
          low_{options, source_.capture().low_priority},
          portion_{options, B::dead_letter_table(source_.capture())},
          dealing_{options, B::dead_letter_table(source_.capture())} {}

    [[nodiscard]] const S& source() const noexcept { return source_; }
    [[nodiscard]] HandlerCaller<S, H, B>& caller() noexcept { return caller_; }

    /// Gets ready for a session that has been brought up.
    void prepare(Session& session, const Capture& capture) {
        log_ = log_name(session);
        portion_.writer().prepare(
            capture.imaged, session.key_folds(),
            [&session](
                std::span<const Value> keys, const RowSink& sink) { session.fetch(keys, sink); },
            source_.filter());
        dealing_.prepare(source_, capture, session);
        drop();
    }

    /// Takes up what the checkpoint says is dealt to lanes; and looks at the letters, behind the
    /// checkpoint: it may have passed those that were set aside.
    void take_up(Session& session, const Checkpoint& checkpoint) {
        if constexpr (has_lanes<Session>) {
            const auto& deal = checkpoint.deal;
            dealing_.take_up(
                deal, deal ? session.finished_lanes(deal->id) : std::vector<std::size_t>{});
        }
        portion_.isolation().load(session);
    }
    void drop() noexcept { event_id_.clear(), low_.begins(); } ///< nothing is in hand
    /// Where the batch ends; empty while there is none.
    [[nodiscard]] const std::string& event_id() const noexcept { return event_id_; }

    /// Takes the position of the log's end, and with `rebuild` begins one: tells the handler, in
    /// the session's transaction.
    /// With `usable` changes behind the tracker's position are still handed over to a handler that
    /// neither clears nor sweeps.
    void start_over(Session& session, const Tracker<Session>& tracker, bool rebuild, bool usable) {
        drop();
        dealing_.take_up({}, {});
        dealt_ = false;
        head_ = session.head();
        next_ = tracker.moved_to(head_, session);
        if (!rebuild) { return; }
        next_.rebuild =
            next_rebuild(next_.rebuild.generation, !tracker.is_known(), session.count_rows());
        const bool emptied = std::exchange(emptied_by_hand_, false);
        if (usable && !emptied && !reader_.leaves_to_pages(next_.rebuild)) {
            tracker.keep_places(next_, session);
        }
        // Whatever was set aside is of before: it would make again what nobody tells the end of.
        if (reader_.minds_rebuilds() || emptied) { portion_.isolation().discard_all(session); }
        caller_.run(session, portion_.inside_handler(), [&](auto& tx) {
            tell_rebuild_started<T>(caller_.handler(), next_.rebuild.generation, tx);
        });
        if (options_.skip_own_changes) { session.mark_own_changes(head_); }
    }

    void look_at_letters() noexcept { portion_.isolation().look(); } ///< *Threads*: any
    /// Whether it is known without a look at the log that there is more: what was taken up, what
    /// the last batch left behind `position`, where it ended, or dead letters that were released.
    [[nodiscard]] bool knows_more(Session& session, const Position& position) {
        return has_taken_up() || (reader_.more() && reader_.end() == position) ||
               dealing_.has_ahead(position) || portion_.isolation().has_released(session);
    }

    /// Reads what comes behind the tracker's places, or dead letters that were released; answers
    /// whether there was anything.
    [[nodiscard]] bool read(Session& session, const Tracker<Session>& tracker) {
        const HandlerScope scope = caller_.scope(); // a filter may do as little as a handler
        const Position& from = tracker.position();
        begin_behind(tracker);
        if (has_taken_up()) { return read_deal(session, from); }
        head_ = options_.skip_own_changes ? session.head() : Position{};
        from_letters_ = portion_.isolation().begin(session);
        if (from_letters_) {
            static_cast<void>(session.head()); // a transaction begins with a look at the log
            was_rebuilding_ = false;
            event_id_ = session.event_id(from);
            return true;
        }
        if (was_rebuilding_) {
            reader_.read_rebuild(session, from, next_.rebuild, portion_.writer());
            return ends_at(session, reader_.end(), true);
        }
        if (low_.due() && read_low(session)) { return true; }
        const bool any = lanes() > 1 ? read_deal(session, from) : read_whole(session, from);
        return any || (!reader_.truncated() && read_low(session));
    }
    /// Takes the batch that was read ahead, if there is one behind `from`.
    [[nodiscard]] bool take_ahead(Session& session, const Tracker<Session>& tracker) {
        if (!dealing_.has_ahead(tracker.position()) || low_.due()) { return false; }
        begin_behind(tracker);
        dealing_.take_ahead();
        dealt_ = true;
        return ends_at(session, dealing_.end(), true);
    }
    [[nodiscard]] const Position& end() const noexcept { return reader_.end(); } ///< of the reading

    /// What comes next is that the whole table was emptied; nothing was read. *Throws* `Error`
    /// (`handler_failed`) for a handler that has no way to learn of it.
    [[nodiscard]] bool meets_truncation() {
        if (from_letters_ || is_low() || !reader_.truncated()) { return false; }
        if (reader_.minds_rebuilds()) { return true; }
        emptied_by_hand_ = true;
        refuse_truncated(options_.name);
    }

    /// Hands the batch over, in the session's transaction or those of lanes.
    template <class Aborted>
    void hand_over(SessionHolder<Session>& sessions, const BatchStand& stand,
        const Patience& patience, Aborted aborted) {
        if (dealt_) { return hand_over_dealt(sessions, stand, patience, aborted); }
        portion_.hand_over(
            *sessions, caller_, facts(stand), handing(stand, patience), aborted, [&](auto& tx) {
                if (was_rebuilding_ && !next_.rebuild.running) {
                    tell_rebuild_finished<T>(caller_.handler(), next_.rebuild.generation, tx);
                }
            });
        if (options_.skip_own_changes) { sessions->mark_own_changes(head_); }
    }

    /// \name Dealt to lanes
    /// @{
    [[nodiscard]] bool is_dealt() const noexcept { return dealt_; }
    void set_lanes(std::size_t lanes) noexcept { dealing_.set_lanes(lanes); } ///< *Threads*: any
    [[nodiscard]] std::size_t lanes() const noexcept { return dealing_.lanes(); }
    /// How many lanes' connections it takes.
    [[nodiscard]] std::size_t lanes_wanted() const { return dealt_ ? dealing_.lanes_wanted() : 0; }
    /// The checkpoint that says what is dealt, and among whom: written before any lane works on it,
    /// and again where others could take parts now of what one alone has failed on.
    [[nodiscard]] std::optional<Checkpoint> claim(const Position& from, std::int64_t instances) {
        const bool again = has_taken_up();
        if (portion_.isolation().any() || !(again || dealing_.more())) { instances = 1; }
        if (again && (instances == 1 || dealing_.facts().instances != 1)) { return {}; }
        dealing_.share(instances);
        Checkpoint claimed = next_;
        claimed.position = from.text();
        claimed.deal = dealing_.facts();
        return claimed;
    }
    /// Whether the next deal comes at once.
    [[nodiscard]] bool leaves_more() const noexcept { return dealt_ && dealing_.more(); }
    /// @}

    /// Whether the records of what failed were tried alone.
    [[nodiscard]] bool in_parts() const noexcept {
        return dealt_ ? dealing_.deal().in_parts() : portion_.in_parts();
    }
    /// What counts for something that `step` threw; asked once.
    [[nodiscard]] Blame blame(Step step, Excuse excuse) noexcept {
        const bool in_lane = dealt_ && step == Step::handle;
        auto&& deal = dealing_.deal();
        const Excuse why = in_lane ? deal.excuse().value_or(excuse) : excuse;
        const bool in_handler =
            in_lane ? deal.threw_in_handler() : std::exchange(portion_.inside_handler(), false);
        if (in_handler) { return {true, Step::handle, why}; }
        return {false, in_lane ? Step::advance : step, why}; // a lane commits by itself
    }

    [[nodiscard]] bool is_low() const noexcept { return low_.in_hand(); }   ///< of low priority
    [[nodiscard]] const Checkpoint& next() const noexcept { return next_; } ///< where it leads to

    /// What there is to say of it when it is committed; then nothing is in hand.
    [[nodiscard]] CommittedBatch committed() {
        const auto number = [](std::size_t count) { return static_cast<std::int64_t>(count); };
        CommittedBatch told{std::exchange(event_id_, {}), number(portion_.writer().size()),
            number(portion_.writer().present()), Clock::now() - began_, was_rebuilding_,
            number(portion_.isolation().parked()), portion_.isolation().why()};
        low_.committed();
        if (auto&& deal = dealing_.deal(); dealt_) {
            told.changes = number(deal.handled());
            told.parked = number(deal.parked());
            told.why_parked = deal.why();
            deal.take_up({}, {});
        }
        return told;
    }

private:
    [[nodiscard]] bool has_taken_up() const noexcept { return dealing_.taken_up().has_value(); }
    void begin_behind(const Tracker<Session>& tracker) {
        began_ = Clock::now();
        portion_.writer().clear(log_);
        next_ = tracker.passed();
        next_.deal.reset();
        was_rebuilding_ = next_.rebuild.running;
        from_letters_ = dealt_ = false;
        low_.begins();
    }
    [[nodiscard]] bool read_whole(Session& session, const Position& from) {
        const bool any = reader_.read(session, from, options_.batch_size, portion_.writer()) != 0;
        return ends_at(session, reader_.end(), any);
    }
    [[nodiscard]] bool read_low(Session& session) {
        const bool any = low_.read(session, next_, portion_.writer());
        if (any) { event_id_ = log_ + ':' + next_.low; }
        return any;
    }
    template <class Aborted>
    void hand_over_dealt(SessionHolder<Session>& sessions, const BatchStand& stand,
        const Patience& patience, Aborted aborted) {
        if constexpr (has_lanes<Session>) {
            const auto& letters = portion_.isolation();
            dealing_.hand_over(
                sessions, caller_,
                {facts(stand), handing(stand, patience), stand.version,
                    dealing_.claim(stand.contended), lanes_wanted(), letters.any(), letters.room(),
                    dealing_.head()},
                [&]() noexcept { read_ahead(*sessions); }, aborted);
            if (dealing_.deal().wrote_letters()) { look_at_letters(); }
        }
    }
    void read_ahead(Session& session) noexcept {
        if (!leaves_more() || lanes() == 1 || portion_.isolation().any()) { return; }
        const HandlerScope scope = caller_.scope();
        dealing_.read_ahead(session, reader_, next_.position);
    }
    [[nodiscard]] bool read_deal(Session& session, const Position& from) {
        const bool any = dealing_.read(session, reader_, from);
        dealt_ = has_taken_up() || dealing_.deal().size() != 0;
        return ends_at(session, dealing_.end(), any);
    }
    bool ends_at(Session& session, const Position& end, bool any) {
        next_.position = end.text();
        if (any) { event_id_ = session.event_id(end); }
        return any;
    }
    [[nodiscard]] BatchFacts facts(const BatchStand& stand) const {
        return {event_id_, next_.rebuild.generation, stand.attempts, stand.replay || from_letters_};
    }
    [[nodiscard]] Handing handing(const BatchStand& stand, const Patience& patience) const {
        return {patience.policy(was_rebuilding_),
            patience.wants_parts(stand.attempts, was_rebuilding_)};
    }

    S source_;
    const Options& options_;
    HandlerCaller<S, H, B> caller_;
    BatchReader<T, Session> reader_;
    LowPriority<T, Session> low_;
    Portion<S, H, B, Session> portion_;
    typename DealingFor<S, H, B>::Type dealing_;
    Checkpoint next_; // as the transaction in hand will leave it
    Position head_;   // of the log before the handler ran
    std::string log_; // its name
    std::string event_id_;
    Clock::time_point began_{};
    bool was_rebuilding_ = false;
    bool from_letters_ = false; // of those that were released
    bool dealt_ = false;
    bool emptied_by_hand_ = false; // as the next rebuild may take it: a truncation was told
};

} // namespace aftertouch::detail
