// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/board.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/observer.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/status.hpp>

/// \file
/// Tells what a pipeline does: to its observer as reports, to its board for those who ask.

namespace aftertouch::detail {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline Timestamp wall_clock() {
    return std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now());
}

/// What there is to say of a committed batch.
struct CommittedBatch {
    std::string event_id;
    std::int64_t changes = 0; ///< rows of a page included
    std::int64_t present = 0; ///< rows of a page
    Clock::duration took{};
    bool page = false;        ///< of a rebuild
    std::int64_t parked = 0;  ///< records set aside
    std::string why_parked{}; ///< the first of them
};

class Reporter {
public:
    Reporter(const Options& options, Board& board) : options_{options}, board_{board} {}

    [[nodiscard]] const std::string& name() const noexcept { return options_.name; }

    void tell(Moment moment, std::string_view message = {}, std::string_view event_id = {}) const {
        tell(Report{
            .moment = moment, .pipeline = options_.name, .event_id = event_id, .message = message});
    }

    void installed(const std::string& capture) const {
        tell(Moment::installed, "capture " + capture + " was installed or mended");
    }

    void state(State state) const noexcept { board_.set_state(state); }
    [[nodiscard]] bool is_rebuilding() const noexcept {
        return board_.state() == State::rebuilding;
    }

    void place(State state, std::string position, std::string low, std::int64_t attempts) const {
        board_.update([&](Status& status) {
            status.state = state;
            status.position = std::move(position);
            status.low_position = std::move(low);
            status.attempts = attempts;
            if (state != State::rebuilding) { status.rebuild.reset(); }
        });
    }

    void failed(Timestamp at, const std::string& event_id, const std::string& message,
        const std::exception_ptr& cause) const noexcept {
        board_.add(at, event_id, message, cause);
        state(State::failed);
        Report report{.moment = Moment::pipeline_failed, .pipeline = options_.name};
        report.event_id = event_id;
        report.message = message;
        report.cause = cause;
        tell(report);
    }

    /// Of a transaction that was undone: the drift that it found, or why its batch comes again.
    void undone(const std::optional<std::string>& drift, std::string_view event_id,
        std::string_view why) const {
        if (drift) { return tell(Moment::drift_found, *drift); }
        if (event_id.empty()) { return; }
        tell(Report{.moment = Moment::batch_undone,
            .pipeline = options_.name,
            .event_id = event_id,
            .message = why});
    }

    void retried(std::string_view event_id, std::int64_t attempts, Clock::duration pause,
        std::string_view why) const {
        const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(pause);
        const std::string message = "attempts " + std::to_string(attempts) + ", again in " +
                                    std::to_string(wait.count()) + " ms: " + std::string{why};
        tell(Report{.moment = Moment::batch_retried,
            .pipeline = options_.name,
            .event_id = event_id,
            .message = message});
    }

    void rebuild_begins(const RebuildCursor& rebuild) {
        rebuild_taken_up(rebuild);
        tell(Report{
            .moment = Moment::rebuild_started, .pipeline = options_.name, .total = rebuild.total});
    }
    void rebuild_taken_up(const RebuildCursor& rebuild) {
        began_ = Clock::now();
        rebuilt_here_ = 0;
        if (!rebuild.running) { return; }
        board_.update([&](Status& status) { status.rebuild = progress(rebuild); });
    }

    void batch(const CommittedBatch& batch, const RebuildCursor& rebuild) {
        rebuilt_here_ += batch.present;
        board_.update([&](Status& status) {
            ++status.batches;
            status.changes += batch.changes - batch.present;
            status.rebuilt += batch.present;
            if (rebuild.running) { status.rebuild = progress(rebuild); }
        });
        Report report{.moment = Moment::batch_committed,
            .pipeline = options_.name,
            .event_id = batch.event_id};
        report.changes = batch.changes;
        report.took = batch.took;
        tell(report);
        if (batch.parked != 0) { tell_parked(batch); }
        if (!batch.page) { return; }
        report.moment = rebuild.running ? Moment::rebuild_page : Moment::rebuild_finished;
        report.done = rebuild.done;
        report.total = rebuild.total;
        tell(report);
    }

private:
    [[nodiscard]] Progress progress(const RebuildCursor& rebuild) const {
        const std::chrono::duration<double> took = Clock::now() - began_;
        Progress progress{rebuild.generation, rebuild.done, rebuild.total, 0, {}};
        progress.per_second =
            took.count() > 0 ? static_cast<double>(rebuilt_here_) / took.count() : 0;
        if (progress.per_second > 0) {
            const auto left =
                static_cast<double>(std::max<std::int64_t>(rebuild.total - rebuild.done, 0));
            progress.time_left =
                std::chrono::seconds{static_cast<std::int64_t>(left / progress.per_second)};
        }
        return progress;
    }

    void tell_parked(const CommittedBatch& batch) const {
        Report report{.moment = Moment::record_parked,
            .pipeline = options_.name,
            .event_id = batch.event_id,
            .message = batch.why_parked};
        report.changes = batch.parked;
        tell(report);
    }

    void tell(const Report& report) const {
        if (!options_.observer) { return; }
        const HandlerScope scope{&board_};
        try {
            options_.observer(report);
        } catch (...) {
            // An observer looks on; it can't stop a pipeline.
        }
    }

    const Options& options_;
    Board& board_;
    Clock::time_point began_{}; // when this process took the rebuild up
    std::int64_t rebuilt_here_ = 0;
};

} // namespace aftertouch::detail
