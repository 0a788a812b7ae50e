// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/batch.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/detail/handler_caller.hpp>
#include <aftertouch/detail/portion.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/retry.hpp>

/// \file
/// One lane's part of a deal, handled in a transaction of its own.

namespace aftertouch::detail {

/// How the parts of a deal are handed over.
template <class Position>
struct DealHanding {
    BatchFacts facts;
    Handing handing;
    std::int64_t version = 0;  ///< of the checkpoint that has the deal
    Claim claim = Claim::none; ///< of each part
    std::size_t workers = 1;   ///< at most, at once
    bool letters = false;      ///< there are dead letters
    std::int64_t room = 0;     ///< for more of them
    const Position& own_since; ///< what the handler changes is behind it
};

/// What has come of a part.
enum class PartEnd {
    none,   ///< nothing yet
    done,   ///< it is handled, and that is committed
    others, ///< another instance has it in hand; where that was waited for, or had
    failed
};

/// What the lanes that work beside each other have in common.
struct LanesInCommon {
    std::atomic<std::int64_t> room{0}; ///< for dead letters
    std::atomic<bool> over{false};     ///< another process has taken over
};

template <class S, class H, class B>
class LanePart {
public:
    using T = typename S::Record;
    using Lane = typename B::Session::Lane;
    using Position = typename B::Session::Position;
    using Filter = typename BatchWriter<T>::Filter;

    LanePart(const Options& options, const std::string& dead_letter_table,
        const std::vector<std::size_t>& imaged, const std::vector<KeyFold>& folds,
        const Filter& filter)
        : options_{options}, portion_{options, dead_letter_table} {
        portion_.writer().prepare(
            imaged, folds,
            [this](
                std::span<const Value> keys, const RowSink& sink) { session_->fetch(keys, sink); },
            filter);
    }
    LanePart(const LanePart&) = delete;
    LanePart& operator=(const LanePart&) = delete;

    void clear(std::string_view log) {
        portion_.writer().clear(log);
        error_ = nullptr;
        end_ = PartEnd::none;
        portion_.inside_handler() = false;
    }
    [[nodiscard]] auto& portion() noexcept { return portion_; }
    [[nodiscard]] const auto& portion() const noexcept { return portion_; }

    [[nodiscard]] PartEnd end() const noexcept { return end_; }
    /// Hands it over and commits, if it can be claimed; `error` says what came in between.
    template <class Aborted>
    void run(Lane& session, HandlerCaller<S, H, B>& caller, const LaneShare& share,
        const DealHanding<Position>& how, LanesInCommon& lanes, Aborted aborted) noexcept {
        session_ = &session;
        error_ = nullptr;
        end_ = PartEnd::others;
        portion_.inside_handler() = false;
        try {
            if (lanes.over || aborted()) {
                throw Error{Errc::interrupted, "pipeline " + options_.name + " is to stop"};
            }
            session.begin();
            if (share.claim != Claim::none && !session.claim(share)) { return session.roll_back(); }
            portion_.isolation().begin_part(session, how.letters, lanes.room);
            portion_.hand_over(session, caller, how.facts, how.handing, aborted, [](auto&) {});
            if (options_.skip_own_changes) { session.mark_own_changes(how.own_since); }
            session.commit(share);
            end_ = PartEnd::done;
            return;
        } catch (const Error& error) {
            if (error.code() == Errc::fenced && !in_handler()) { lanes.over = true; }
            note(session.excuse(&error));
        } catch (...) { note(session.excuse(nullptr)); }
        session.roll_back();
    }

    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
    [[nodiscard]] Excuse excuse() const noexcept { return excuse_; }
    [[nodiscard]] bool in_handler() const noexcept { return portion_.inside_handler(); }

    /// Whether another lane's transaction may be what it failed on: its locks, or rows that it was
    /// about to write or to remove.
    [[nodiscard]] bool failed_on_anothers() const noexcept {
        if (!error_) { return false; }
        try {
            std::rethrow_exception(error_);
        } catch (const Error& error) {
            return excuse_ == Excuse::conflict || error.code() == Errc::busy ||
                   error.code() == Errc::constraint;
        } catch (...) { return excuse_ == Excuse::conflict; }
    }

    /// How much what it failed with says, beside what others failed with: what the handler decided
    /// more than what is tried again anyway.
    [[nodiscard]] int weight() const noexcept {
        if (!error_) { return 0; }
        if (!in_handler() || excuse_ != Excuse::none) { return 1; }
        try {
            std::rethrow_exception(error_);
        } catch (const Answered& answer) {
            return answer.outcome == Outcome::stop ? 5 : answer.outcome == Outcome::park ? 3 : 2;
        } catch (const Transient&) { return 2; } catch (const Error& error) {
            return error.retryable() ? 2 : 4;
        } catch (...) { return 4; }
    }

    /// Whether it failed by its handler, and by nobody else.
    [[nodiscard]] bool is_to_blame() const noexcept {
        return weight() > 1 && !failed_on_anothers();
    }

private:
    void note(Excuse excuse) noexcept {
        end_ = PartEnd::failed;
        error_ = std::current_exception();
        excuse_ = excuse;
    }

    const Options& options_;
    Portion<S, H, B, Lane> portion_;
    Lane* session_ = nullptr; // that reads its rows
    std::exception_ptr error_;
    Excuse excuse_ = Excuse::none;
    PartEnd end_ = PartEnd::none;
};

} // namespace aftertouch::detail
