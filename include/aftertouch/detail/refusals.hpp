// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/error.hpp>

/// \file
/// What every engine refuses about a capture, in the same words. `database` is its name in
/// messages.

namespace aftertouch::detail {

[[noreturn]] inline void refuse_missing_capture(
    const std::string& database, const Capture& capture, std::string_view what_to_do) {
    throw Error{Errc::schema_mismatch,
        database + " has no capture " + capture.name + std::string{what_to_do},
        {.where = database}};
}

/// For a place that a pipeline is to go back to.
[[noreturn]] inline void refuse_pruned(const std::string& database, std::string_view what) {
    throw Error{Errc::invalid_argument,
        database + ": its log doesn't reach back to this " + std::string{what} +
            " any more, or never did: rewind to a time or an event id of this database that isn't "
            "pruned, or rebuild()",
        {.where = database}};
}

/// Where two programs declare captures of one name.
[[noreturn]] inline void refuse_conflict(const std::string& database, const std::string& name,
    const std::string& there, const std::string& here) {
    throw Error{Errc::capture_conflict,
        database + " has a capture " + name + " declared as [" + there +
            "], and this program declares it as [" + here +
            "]: name one of the two with named(), or remove() the old one if no program uses it "
            "any more",
        {.where = database}};
}

[[noreturn]] inline void refuse_differences(const std::string& database, const Capture& capture,
    const std::vector<Difference>& differences) {
    throw Error{Errc::schema_mismatch,
        database + " isn't as capture " + capture.name + " needs it: " + to_text(differences),
        {.where = database}};
}

[[noreturn]] inline void refuse_inside_transaction(const std::string& database) {
    throw Error{Errc::busy,
        database + " is inside a transaction of the application on the same connection: install "
                   "and remove when that has ended",
        {.where = database}};
}

} // namespace aftertouch::detail
