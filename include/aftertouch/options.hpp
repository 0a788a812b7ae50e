// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <aftertouch/capture.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/observer.hpp>
#include <aftertouch/retry.hpp>

/// \file
/// How one pipeline runs.

namespace aftertouch {

/// Where a pipeline that has no checkpoint begins.
enum class Begin {
    rebuild, ///< with every record of the source, then the log
    now      ///< with the changes that are committed from now on
};

/// Options of a pipeline; all but the name have a default that is right for most.
struct Options {
    std::string name; ///< names the checkpoint: unique in the database, and the same at every start
    Schema schema = Schema::automatic;
    Begin begin = Begin::rebuild;
    std::size_t batch_size = 500; ///< records at most, 1 to 500
    std::size_t batch_bytes =
        16 * 1024 * 1024; ///< bytes of values at most, but for one larger record
    std::chrono::milliseconds poll_interval{50}; ///< the longest pause between two looks while idle
    /// On PostgreSQL: slices of the keys that are handled beside each other, 1 to 64, each with a
    /// thread, a connection and a transaction of its own. Changes of one key are in one lane, in
    /// order. The handler is one object that several threads call at once. Rows that lanes share it
    /// must write in the same order in each, or they deadlock, and each in one statement (`INSERT
    /// ... ON CONFLICT ... DO UPDATE SET n = total.n + excluded.n`), since what it reads there
    /// another lane may be changing: backends/postgres/README.md. Any number may follow any other.
    /// While a rebuild runs, all is in one lane; so is it always on SQLite, which has one writer.
    /// A filter of the source is asked while lanes work on what came before, perhaps twice for a
    /// change; up to twice as many batches as lanes are in memory. Instances with a lease share
    /// them.
    std::size_t lanes = 1;
    bool skip_own_changes =
        false;     ///< leave out changes of the source that this pipeline's own handler made
    Retry retry{}; ///< what comes of a handler that fails; at once stops
    std::optional<Retry> rebuild_retry{}; ///< the same while a rebuild runs, if it differs
    std::size_t dead_letters = 10'000;    ///< at most: where one more would come, it stops instead
    /// Where several instances run this pipeline: how long the others stand by for one that was
    /// killed (for one that stops: not at all); 100 ms to a day, 10 s is right for most; 0: none.
    /// Where they have several lanes, those that stand by take their share of these.
    /// It takes a thread and a connection. Every instance must set it: one without runs beside the
    /// holder, and handlers are called twice, though the database stays right. On PostgreSQL the
    /// server ends a batch that is silent for three quarters of it; the library says something
    /// meanwhile, but not for a handler that has called `tx.native()`.
    std::chrono::milliseconds lease{0};
    std::string instance{}; ///< who this one is to the others, as a host's name; needn't be unique
    Observer observer = log_warnings();
};

/// A number of lanes. *Throws* `Error` (`invalid_argument`) for one that can't be.
[[nodiscard]] inline std::size_t require_lanes(std::size_t lanes, const std::string& pipeline) {
    if (lanes != 0 && lanes <= most_lanes) { return lanes; }
    throw Error{Errc::invalid_argument, "pipeline \"" + pipeline + "\": lanes is 1 to 64"};
}

/// The options, if they make sense. *Throws* `Error` (`invalid_argument`) if they don't.
[[nodiscard]] inline Options require_sense(Options options) {
    const auto refuse = [&](const char* why) {
        throw Error{Errc::invalid_argument, "pipeline \"" + options.name + "\": " + why};
    };
    if (options.name.empty()) {
        refuse("a pipeline needs a name for its checkpoint: {.name = \"totals\"}");
    }
    if (options.batch_size == 0 || options.batch_size > 500) {
        refuse("batch_size is 1 to 500 records");
    }
    if (options.batch_bytes == 0) { refuse("batch_bytes is at least 1"); }
    static_cast<void>(require_lanes(options.lanes, options.name));
    if (options.poll_interval.count() <= 0) { refuse("poll_interval is at least a millisecond"); }
    if (options.dead_letters == 0) { refuse("dead_letters is at least 1"); }
    if (options.lease.count() != 0 && (options.lease < std::chrono::milliseconds{100} ||
                                          options.lease > std::chrono::hours{24})) {
        refuse("lease is 100 ms to a day, or 0 for none");
    }
    for (const Retry& retry : {options.retry, options.rebuild_retry.value_or(Retry{})}) {
        if (retry.attempts < 1) { refuse("retry.attempts is at least 1"); }
        if (retry.pause.count() < 0 || retry.longest_pause < retry.pause) {
            refuse("retry.pause is at least 0, and at most retry.longest_pause");
        }
        if (retry.longest_pause > std::chrono::hours{24}) {
            refuse("retry.longest_pause is a day at most");
        }
        if (!(retry.jitter >= 0 && retry.jitter <= 1)) { refuse("retry.jitter is 0 to 1"); }
    }
    return options;
}

} // namespace aftertouch
