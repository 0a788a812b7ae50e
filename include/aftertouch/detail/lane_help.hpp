// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/dealing.hpp>
#include <aftertouch/detail/handler_caller.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/detail/lane_part.hpp>
#include <aftertouch/detail/lease_keeper.hpp>
#include <aftertouch/detail/parts.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/session_holder.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/observer.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/rebuild.hpp>

/// \file
/// What an instance that stands by does for the one that holds the lease: it takes parts of what
/// that one's lanes are dealt (L2).

namespace aftertouch::detail {

/// It reads the deal by itself, as one that takes it up does, and handles parts that nobody has in
/// hand. Where its handler fails, the part is left to the holder, which decides what comes of it.
/// Where there are dead letters the holder shares nothing: so it needn't know of them.
template <class S, class H, class B>
class LaneHelp {
public:
    using T = typename S::Record;
    using Session = typename B::Session;
    using Position = typename Session::Position;

    LaneHelp(const S& source, HandlerCaller<S, H, B>& caller, const Options& options,
        Reporter& reporter, SessionHolder<Session>& sessions, LeaseKeeper<B>& lease)
        : source_{source},
          caller_{caller},
          options_{options},
          reporter_{reporter},
          sessions_{sessions},
          lease_{lease},
          reader_{options, source.order().empty(), false},
          dealing_{options, B::dead_letter_table(source.capture())} {}

    /// Says to the holder that it takes part from now on, with so many lanes at most; one has
    /// nothing to share. Answers whether it does. *Requires* a session that was brought up.
    bool offer(std::size_t lanes, Session& session, const Capture& capture) {
        dealing_.set_lanes(lanes);
        sessions_.close_lanes(lanes);
        rests_ = false;
        version_ = 0; // the holder may have failed on parts since the last look
        if (lanes == 1 || differs_) { lease_.step_back(); }
        if (lanes == 1) { return false; }
        dealing_.prepare(source_, capture, session);
        return differs_ || says_so();
    }

    /// Takes parts of what is dealt now; answers whether there was anything.
    bool look(B& database, const SessionRequest& request, const std::atomic<bool>& stopping) {
        try {
            return !rests_ && finds_deal(*sessions_) && take_parts(database, request, stopping);
        } catch (const Error& error) { rest(!error.retryable(), error.what()); } catch (...) {
            rest(true, sentence_of(std::current_exception()));
        }
        return false;
    }

private:
    // Where it isn't allowed to, it stands by as others do.
    bool says_so() {
        try {
            lease_.stand_by();
            refused_ = false;
        } catch (const Error& error) {
            const bool told = std::exchange(refused_, !error.retryable());
            if (refused_ && !told) {
                reporter_.tell(Moment::standby_failed,
                    std::string{"it can't take part in the lanes of the instance that has the "
                                "lease: "} +
                        error.what());
            }
            return false;
        }
        return true;
    }

    bool take_parts(B& database, const SessionRequest& request, const std::atomic<bool>& stopping) {
        const auto began = Clock::now();
        sessions_.open_lanes(dealing_.lanes_wanted(), database, request, stopping);
        const std::string event_id = sessions_->event_id(dealing_.end());
        const auto* const failed = dealing_.deal().help(sessions_, caller_, dealing_.facts(),
            {{event_id, generation_, 0, dealing_.end() < replay_until_}, {options_.retry, false},
                version_, Claim::if_free, dealing_.lanes_wanted(), false, 0, dealing_.head()},
            [&] { return stopping || sessions_.aborted(); });
        const auto handled = static_cast<std::int64_t>(dealing_.deal().handled());
        if (handled != 0) {
            reporter_.batch({event_id, handled, 0, Clock::now() - began}, RebuildCursor{});
        }
        if (failed != nullptr && !stopping && !sessions_.aborted()) {
            const bool is_real = failed->is_to_blame() && failed->weight() > 2;
            rest(is_real, sentence_of(failed->error()), event_id);
        }
        return handled != 0;
    }

    // Until it looks for the lease again.
    void rest(bool is_real, const std::string& why, const std::string& event_id = {}) {
        rests_ = true;
        reporter_.tell(is_real ? Moment::standby_failed : Moment::batch_undone,
            "the part is left to the instance that has the lease: " + why, event_id);
        lease_.step_back();
    }

    [[nodiscard]] bool finds_deal(Session& session) {
        const std::optional<StoredCheckpoint> stored = session.load();
        if (!stored || stored->version == version_ || stored->attempts != 0) { return false; }
        version_ = stored->version;
        const std::optional<Checkpoint> found = checkpoint_from(stored->text);
        if (!found || !found->deal || found->log != session.log()) { return false; }
        const Deal& deal = *found->deal;
        differs_ = !dealing_.deal().is_readable(deal);
        if (differs_) { lease_.step_back(); }
        if (differs_ || deal.instances == 1) { return false; }
        const std::optional<Position> from = Position::from(found->position);
        if (!from) { return false; }
        generation_ = found->rebuild.generation;
        dealing_.take_up(deal, session.finished_lanes(deal.id));
        return read(session, *from);
    }

    [[nodiscard]] bool read(Session& session, const Position& from) {
        const HandlerScope scope = caller_.scope(); // for a filter
        session.begin();
        try {
            if (!replay_until_) { replay_until_ = session.head(); }
            const bool right = session.drift().empty() && dealing_.read(session, reader_, from) &&
                               session.usable(from) == Usable::yes && dealing_.is_whole();
            session.roll_back();
            return right && !dealing_.deal().open_parts().empty();
        } catch (...) {
            session.roll_back();
            throw;
        }
    }

    const S& source_;
    HandlerCaller<S, H, B>& caller_;
    const Options& options_;
    Reporter& reporter_;
    SessionHolder<Session>& sessions_;
    LeaseKeeper<B>& lease_;
    BatchReader<T, Session> reader_;
    Dealing<S, H, B> dealing_;
    std::optional<Position> replay_until_; // the log's end when it helped first
    std::int64_t version_ = 0;             // of the checkpoint that was looked at last
    std::int64_t generation_ = 0;
    bool rests_ = false;   // its handler has failed
    bool differs_ = false; // the holder deals as it can't read it
    bool refused_ = false; // the database doesn't let it, and that was told
};

/// In its place where batches are handled whole.
struct NoLaneHelp {
    template <class... Arguments>
    explicit NoLaneHelp(const Arguments&...) {}
    template <class... Arguments>
    [[nodiscard]] bool offer(const Arguments&...) const noexcept {
        return false;
    }
    template <class... Arguments>
    [[nodiscard]] bool look(const Arguments&...) const noexcept {
        return false;
    }
};

template <class S, class H, class B>
struct LaneHelpFor {
    using Type = NoLaneHelp;
};
template <class S, class H, class B>
    requires(has_lanes<typename B::Session>)
struct LaneHelpFor<S, H, B> {
    using Type = LaneHelp<S, H, B>;
};

} // namespace aftertouch::detail
