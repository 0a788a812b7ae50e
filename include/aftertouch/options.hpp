// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <aftertouch/capture.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/observer.hpp>

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
    bool skip_own_changes =
        false; ///< leave out changes of the source that this pipeline's own handler made
    Observer observer = log_warnings();
};

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
    if (options.poll_interval.count() <= 0) { refuse("poll_interval is at least a millisecond"); }
    return options;
}

} // namespace aftertouch
