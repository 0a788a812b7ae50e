// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
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

    /// There was something to do.
    void hurry() noexcept { pace_.hurry(); }
    /// The database answered.
    void recovered() noexcept { pace_.recovered(); }

    void for_news() {
        if (session_->wait(pace_.next_idle())) { pace_.hurry(); }
    }
    void while_paused() {
        reporter_.state(State::paused);
        session_->wait(options_.poll_interval);
    }
    /// For what passes by itself, as `why` says.
    void for_database(const std::string& why) {
        if (board_.state() != State::waiting) {
            reporter_.state(State::waiting);
            reporter_.tell(Moment::waiting, why);
        }
        if (session_) {
            session_->wait(pace_.next_trouble());
        } else {
            std::this_thread::sleep_for(Pace::shortest_trouble);
        }
    }
    /// All of `pause`, unless the pipeline is to stop.
    void for_retry(Clock::duration pause) const {
        reporter_.state(State::waiting);
        const auto until = Clock::now() + pause;
        while (!wishes_.stopping() && Clock::now() < until) {
            std::this_thread::sleep_for(
                std::min<Clock::duration>(Pace::shortest_trouble, until - Clock::now()));
        }
    }

private:
    const Options& options_;
    Board& board_;
    const Reporter& reporter_;
    const Wishes& wishes_;
    SessionHolder<Session>& session_;
    Pace pace_;
};

} // namespace aftertouch::detail
