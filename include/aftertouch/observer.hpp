// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

/// \file
/// What a pipeline tells while it works: moments, and a logger that writes them as lines.

namespace aftertouch {

/// What happened. The text form is the log line's name.
enum class Moment {
    started,
    installed,             ///< triggers or tables were created or replaced
    checkpoint_unreadable, ///< the stored text doesn't parse; a rebuild follows
    checkpoint_unusable,   ///< of another log or capture, or behind what was pruned; a rebuild
                           ///< follows
    rebuild_started,
    rebuild_page,
    rebuild_finished,
    batch_committed,
    batch_undone,   ///< the handler threw, or the pipeline had to stop: nothing of it stays (but
                    ///< what other lanes have committed)
    batch_retried,  ///< it comes again by the policy of retries; told before the pause. No warning:
                    ///< what passes by itself may be tried for long
    record_parked,  ///< records were set aside as dead letters; the message is the first one's
    drift_found,    ///< the triggers aren't what they were (one that stands by may have mended
                    ///< them before: then the checkpoint is unusable)
    waiting,        ///< the database is locked or gone for now; it tries again
    standby,        ///< another instance holds the lease: it waits for it
    standby_failed, ///< the handler threw for a part of what that one's lanes were dealt; what
                    ///< passes by itself is batch_undone
    lease_taken,
    lease_lost, ///< another instance has taken it over; a batch in hand is undone
    pipeline_failed,
    stopped
};

[[nodiscard]] constexpr std::string_view name(Moment moment) noexcept {
    constexpr std::string_view names[] = {"pipeline.started", "pipeline.installed",
        "pipeline.checkpoint.unreadable", "pipeline.checkpoint.unusable",
        "pipeline.rebuild.started", "pipeline.rebuild.page", "pipeline.rebuild.finished",
        "pipeline.batch.committed", "pipeline.batch.undone", "pipeline.batch.retried",
        "pipeline.record.parked", "pipeline.drift.found", "pipeline.waiting", "pipeline.standby",
        "pipeline.standby.failed", "pipeline.lease.taken", "pipeline.lease.lost", "pipeline.failed",
        "pipeline.stopped"};
    return names[static_cast<std::size_t>(moment)];
}

/// Whether a person should be told.
[[nodiscard]] constexpr bool is_warning(Moment moment) noexcept {
    return moment == Moment::checkpoint_unreadable || moment == Moment::checkpoint_unusable ||
           moment == Moment::drift_found || moment == Moment::record_parked ||
           moment == Moment::standby_failed || moment == Moment::lease_lost ||
           moment == Moment::pipeline_failed;
}

/// One thing that happened to one pipeline. Never carries a value of a row.
struct Report {
    Moment moment = Moment::started;
    std::string_view pipeline{};
    std::string_view event_id{};      ///< of the batch in hand, where there is one
    std::string_view message{};       ///< a sentence, where there is something to say
    std::int64_t changes = 0;         ///< in the batch
    std::int64_t done = 0;            ///< of a rebuild: rows handed over
    std::int64_t total = 0;           ///< of a rebuild: an estimate of all rows
    std::chrono::nanoseconds took{0}; ///< reading, handling and committing the batch
    std::exception_ptr cause{};
};

/// Called on the thread that does the pipeline's work, its own or the one inside `start()` or
/// `drain()`, one call at a time, outside of its transactions; what it throws is ignored. Views end
/// with the call.
using Observer = std::function<void(const Report&)>;

/// One report as a line: the moment's name, then what is known as `key=value`, then the sentence.
[[nodiscard]] inline std::string log_line(const Report& report) {
    std::string line{name(report.moment)};
    line += " pipeline=" + std::string{report.pipeline};
    if (!report.event_id.empty()) { line += " event=" + std::string{report.event_id}; }
    if (report.changes != 0) { line += " changes=" + std::to_string(report.changes); }
    if (report.total != 0) {
        line += " done=" + std::to_string(report.done) + '/' + std::to_string(report.total);
    }
    if (!report.message.empty()) { line += " : " + std::string{report.message}; }
    return line;
}

/// Writes what a person should know to standard error, a line each.
[[nodiscard]] inline Observer log_warnings() {
    return [](const Report& report) {
        if (is_warning(report.moment)) { std::fputs((log_line(report) + '\n').c_str(), stderr); }
    };
}

/// Writes every report to standard error, a line each.
[[nodiscard]] inline Observer log_everything() {
    return [](const Report& report) { std::fputs((log_line(report) + '\n').c_str(), stderr); };
}

} // namespace aftertouch
