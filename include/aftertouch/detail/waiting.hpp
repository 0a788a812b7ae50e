// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <aftertouch/detail/board.hpp>
#include <aftertouch/detail/pace.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/session_holder.hpp>
#include <aftertouch/detail/wishes.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/status.hpp>

/// \file
/// The waits of a pipeline: for news, for a database that is locked or gone, before a retry.

namespace aftertouch::detail {

template <class Session>
class Waiting {
public:
    Waiting(const Options& options, Board& board, const Reporter& reporter, const Wishes& wishes,
        SessionHolder<Session>& session)
        : options_{options},
          board_{board},
          reporter_{reporter},
          wishes_{wishes},
          session_{session},
          pace_{options.poll_interval} {}

    /// There is something to do.
    void work_begins() noexcept {
        pace_.hurry();
        asked_ = wishes_.asked();
    }
    /// The database answered.
    void recovered() noexcept { pace_.recovered(); }

    void for_news() {
        if (session_->wait(pace_.next_idle())) { pace_.hurry(); }
    }
    /// Whether the last wait was for the database or a lease, and isn't over.
    [[nodiscard]] bool is_on() const {
        const State state = board_.state();
        return state == State::waiting || state == State::standby;
    }
    void while_paused() {
        reporter_.state(State::paused);
        session_->wait(options_.poll_interval);
    }
    /// For what passes by itself, as `why` says.
    void for_database(const std::string& why) {
        say(State::waiting, Moment::waiting, why);
        if (session_) {
            session_->wait(pace_.next_trouble());
        } else {
            std::this_thread::sleep_for(Pace::shortest_trouble);
        }
    }
    /// For a lease that another one holds, as `why` says; until then `help()`, which answers
    /// whether there was something to do, is called whenever there may be, if it is wanted. One
    /// that is paused leaves the lease to others.
    template <class Help>
    void for_lease(const std::string& why, bool helps, Help help) {
        say(State::standby, Moment::standby, why);
        const Pace::Delay step = std::max<Pace::Delay>(options_.lease / 8, Pace::shortest_trouble);
        const auto until = Clock::now() + std::min(step, Pace::longest_trouble);
        const std::uint64_t asked = wishes_.asked();
        const auto wanted = [this] { return !wishes_.stopping() && !wishes_.paused(); };
        while (helps && wanted() && wishes_.asked() == asked && Clock::now() < until) {
            if (help()) {
                pace_.hurry();
            } else {
                for_news();
            }
        }
        if (wanted()) { sleep(until - Clock::now(), asked); } // no hint is of a lease
        while (wishes_.paused() && !wishes_.stopping()) {
            reporter_.state(State::paused);
            std::this_thread::sleep_for(Pace::shortest_trouble);
        }
    }
    /// All of `pause`, unless something was asked of the pipeline since the work began.
    void for_retry(Clock::duration pause) const {
        reporter_.state(State::waiting);
        sleep(pause, asked_);
    }

private:
    // Until something more is asked of the pipeline at most.
    void sleep(Clock::duration time, std::uint64_t asked) const {
        const auto until = Clock::now() + time;
        while (wishes_.asked() == asked && Clock::now() < until) {
            std::this_thread::sleep_for(
                std::min<Clock::duration>(Pace::shortest_trouble, until - Clock::now()));
        }
    }

    // Once, not at each look.
    void say(State state, Moment moment, const std::string& why) const {
        if (board_.state() == state) { return; }
        reporter_.state(state);
        reporter_.tell(moment, why);
    }

    const Options& options_;
    Board& board_;
    const Reporter& reporter_;
    const Wishes& wishes_;
    SessionHolder<Session>& session_;
    Pace pace_;
    std::uint64_t asked_ = 0; // of the wishes, when the work began
};

} // namespace aftertouch::detail
