// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <aftertouch/backend.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/observer.hpp>
#include <aftertouch/status.hpp>

/// \file
/// Where a pipeline stands: its checkpoint as it is committed, and how far it has read since.

namespace aftertouch::detail {

template <class Session>
class Tracker {
public:
    using Position = typename Session::Position;

    /// `heeds_low`: whether the source knows changes of low priority.
    Tracker(const Reporter& reporter, bool heeds_low)
        : reporter_{reporter}, heeds_low_{heeds_low} {}

    /// \name As it is committed
    /// @{
    [[nodiscard]] const Checkpoint& checkpoint() const noexcept { return checkpoint_; }
    [[nodiscard]] const RebuildCursor& rebuild() const noexcept { return checkpoint_.rebuild; }
    /// Rises with each commit; 0 before the first.
    [[nodiscard]] std::int64_t version() const noexcept { return version_; }
    /// Whether there is a checkpoint, or was one since this object exists: one that is gone has
    /// left something derived behind.
    [[nodiscard]] bool is_known() const noexcept { return was_known_; }
    /// How often the batch that comes next has failed, of low priority or else.
    [[nodiscard]] std::int64_t attempts(bool low) const noexcept {
        return low ? low_attempts_ : attempts_;
    }
    /// @}

    /// Read up to here: the checkpoint's place, or a later one with nothing for this pipeline
    /// between.
    [[nodiscard]] const Position& position() const noexcept { return position_; }
    /// The checkpoint, moved there.
    [[nodiscard]] Checkpoint passed() const {
        Checkpoint passed = checkpoint_;
        passed.position = position_.text();
        if (heeds_low_) { passed.low = low_.text(); }
        return passed;
    }
    /// Leaves it there, as far as the log still has what is behind.
    void keep_places(Checkpoint& next, Session& session) const {
        next.position = position_.text();
        if (heeds_low_ && session.usable(low_) == Usable::yes) { next.low = low_.text(); }
    }
    /// A checkpoint at the log's end.
    [[nodiscard]] Checkpoint moved_to(const Position& head, const Session& session) const {
        Checkpoint next{session.log(), head.text(), {}};
        if (heeds_low_) { next.low = next.position; }
        next.rebuild.generation = checkpoint_.rebuild.generation;
        return next;
    }
    /// Whether what comes next, of low priority or else, was in the log before the start, or a
    /// rewind.
    [[nodiscard]] bool replaying(bool low) const noexcept {
        return (low ? low_ : position_) < replay_until_;
    }
    /// Whether a commit was sent whose answer never came.
    [[nodiscard]] bool in_doubt() const noexcept { return committing_; }
    void forget_doubt() noexcept { committing_ = false; }

    /// That batch has failed once more. What is stored is of the one that failed last, and below
    /// zero where that is of low priority.
    void count_attempt(Session& session, bool low) {
        std::int64_t& attempts = low ? low_attempts_ : attempts_;
        session.count_attempt(version_, low ? -attempts - 1 : attempts + 1);
        ++attempts;
    }

    /// Finds the checkpoint; false where there is none to go on from.
    ///
    /// *Throws* `Error` (`invalid_argument`) where another pipeline of this name, over another
    /// source, has written it: the two would rebuild each other for ever.
    [[nodiscard]] bool load(Session& session) {
        const std::string before = std::exchange(checkpoint_, {}).log;
        position_ = low_ = replay_until_ = {};
        attempts_ = 0;
        const std::optional<StoredCheckpoint> stored = session.load();
        const std::int64_t version = stored ? stored->version : 0;
        if (std::exchange(version_, version) != version) { low_attempts_ = 0; }
        if (!stored) { return false; }
        if (stored->attempts > 0) { attempts_ = stored->attempts; }
        if (stored->attempts < 0) { low_attempts_ = -stored->attempts; }
        if (stored->text == unbegun_checkpoint) { return false; }
        was_known_ = true;
        std::optional<Checkpoint> found = checkpoint_from(stored->text);
        const std::optional<Position> position =
            found ? Position::from(found->position) : std::nullopt;
        const bool has_low = heeds_low_ && found && !found->low.empty();
        const std::optional<Position> low = has_low ? Position::from(found->low) : position;
        if (!position || !low) {
            reporter_.tell(Moment::checkpoint_unreadable,
                "the stored text is none that this version writes: "
                "every record is handed over again");
            return false;
        }
        if (before == session.log() && found->log != before) { refuse_shared_name(); }
        Usable usable = found->log != session.log() ? Usable::other_log : session.usable(*position);
        if (usable == Usable::yes && heeds_low_) { usable = session.usable(*low); }
        checkpoint_ = std::move(*found);
        if (usable != Usable::yes) {
            reporter_.tell(
                Moment::checkpoint_unusable, why_unusable(session, usable, checkpoint_.log));
            checkpoint_.rebuild.running = false;
            return false;
        }
        position_ = *position;
        low_ = *low;
        replay_until_ = session.head();
        return true;
    }

    /// Writes the checkpoint and commits the session's transaction, of a batch of low priority or
    /// else.
    void commit(Session& session, const Checkpoint& next, bool low = false) {
        next_ = next; // now, since behind the commit nothing may fail
        session.store(to_text(next_), version_);
        committing_ = true;
        session.commit();
        committing_ = false;
        was_known_ = true;
        ++version_;
        (low ? low_attempts_ : attempts_) = 0;
        std::swap(checkpoint_, next_);
        take_places();
        written_ = Clock::now();
        unwritten_ = false;
    }

    /// Goes on from there as if it were written. *Requires* that what is written leads there too.
    void move_on(const Checkpoint& next) {
        checkpoint_ = next;
        take_places();
        attempts_ = 0;
    }

    /// Passes what isn't for this pipeline. Answers whether that should be written: at most once a
    /// second, so that quiet pipelines don't wake each other (K2).
    [[nodiscard]] bool pass_to(Position position) {
        constexpr std::chrono::seconds patience{1};
        unwritten_ = unwritten_ || position != position_;
        position_ = position;
        return unwritten_ && Clock::now() - written_ > patience;
    }

    /// Looks for changes, and passes what isn't for this pipeline. Nothing: there are some; else
    /// whether that should be written.
    [[nodiscard]] std::optional<bool> look(Session& session) {
        const auto seen = session.poll(position_);
        if (!seen) { return std::nullopt; }
        const bool write = pass_to(*seen);
        if (!heeds_low_) { return write; }
        const auto low = session.poll_low(low_);
        if (!low) { return std::nullopt; }
        unwritten_ = unwritten_ || *low != low_;
        low_ = *low;
        return pass_to(position_);
    }

    void rebuild_begins() noexcept { replay_until_ = {}; }

    /// What a pipeline that gets on is doing.
    [[nodiscard]] State state() const noexcept {
        if (checkpoint_.rebuild.running) { return State::rebuilding; }
        const bool old = replaying(false) || (heeds_low_ && replaying(true));
        return old ? State::replaying : State::following;
    }

    /// Goes on from this place at the next `take_up_rewind`. *Throws* `Error` (`invalid_argument`)
    /// while a rebuild runs. *Threads*: any.
    void wish_rewind(std::string position) {
        if (reporter_.is_rebuilding()) {
            throw Error{Errc::invalid_argument,
                "pipeline " + reporter_.name() +
                    " is rebuilding and hands over every record: rewind when that has ended"};
        }
        const std::lock_guard lock{wish_mutex_};
        wish_ = std::move(position);
    }
    /// Moves the checkpoint to where a rewind wanted it, in a transaction of its own; the wish is
    /// kept until that has happened.
    void take_up_rewind(Session& session) {
        const std::optional<std::string> wish = rewind_wish();
        const std::optional<Position> to = wish ? Position::from(*wish) : std::nullopt;
        // A rebuild hands over every record anyway.
        if (to && !checkpoint_.rebuild.running && session.usable(*to) == Usable::yes) {
            Checkpoint next = checkpoint_; // never stepping over what isn't handled
            next.position = to->in_common(position_).text();
            if (heeds_low_) { next.low = to->in_common(low_).text(); }
            next.deal.reset();
            session.begin();
            try {
                commit(session, next);
            } catch (...) {
                session.roll_back();
                throw;
            }
        }
        const std::lock_guard lock{wish_mutex_};
        if (wish_ == wish) { wish_.reset(); }
    }

private:
    void take_places() {
        position_ = Position::from(checkpoint_.position).value_or(Position{});
        low_ = Position::from(checkpoint_.low).value_or(position_);
    }

    [[nodiscard]] static std::string why_unusable(
        Session& session, Usable usable, const std::string& log) {
        constexpr std::string_view rebuild = ": every record is handed over again";
        const std::string other = usable == Usable::other_log ? session.capture_of(log) : "";
        if (other.empty()) { return std::string{name(usable)}.append(rebuild); }
        return ("the checkpoint is of capture " + other + ", and the source is captured as " +
                session.capture_of(session.log()))
            .append(rebuild)
            .append("; if it is another pipeline's, give each its own Options::name");
    }

    [[noreturn]] void refuse_shared_name() const {
        throw Error{Errc::invalid_argument,
            "pipeline " + reporter_.name() +
                " shares its name with one over another source of the same database, which has "
                "taken its checkpoint: give each its own Options::name"};
    }

    [[nodiscard]] std::optional<std::string> rewind_wish() {
        const std::lock_guard lock{wish_mutex_};
        return wish_;
    }

    const Reporter& reporter_;
    bool heeds_low_;
    Checkpoint checkpoint_;
    Checkpoint next_; // while it is committed; kept for its storage
    std::int64_t version_ = 0;
    bool was_known_ = false;
    std::int64_t attempts_ = 0;
    std::int64_t low_attempts_ = 0; // of batches of low priority
    Position position_;
    Position low_; // of what is of low priority
    Position replay_until_;
    bool committing_ = false;
    bool unwritten_ = false;
    Clock::time_point written_{};
    std::mutex wish_mutex_;
    std::optional<std::string> wish_;
};

} // namespace aftertouch::detail
