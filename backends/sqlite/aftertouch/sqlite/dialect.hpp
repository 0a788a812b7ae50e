// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/dml.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/sqlite/types.hpp>
#include <aftertouch/table.hpp>

/// \file
/// The SQL that the SQLite backend runs on its own tables and on a source; no client library.
/// Triggers: triggers.hpp.

namespace aftertouch::sqlite::dialect {

/// The schema (file) that a source's log, checkpoints and triggers live in: that of its table.
[[nodiscard]] inline std::string schema_of(const Capture& capture) {
    return capture.table.name.schema.empty() ? "main" : capture.table.name.schema;
}

/// `"main"."aftertouch_log"`
[[nodiscard]] inline std::string own(const std::string& schema, std::string_view table) {
    return quoted(schema) + ".\"aftertouch_" + std::string{table} + '"';
}

/// How many columns of one side of an image a row of an image table has.
inline constexpr std::size_t image_columns = 900;
[[nodiscard]] constexpr std::size_t image_parts(std::size_t columns) noexcept {
    return (columns + image_columns - 1) / image_columns;
}
/// `aftertouch_image_7`, and `aftertouch_image_7_2` for the next 900 columns.
[[nodiscard]] inline std::string image_table(std::int64_t capture, std::size_t part) {
    return "aftertouch_image_" + std::to_string(capture) +
           (part == 0 ? "" : '_' + std::to_string(part + 1));
}

/// `aftertouch_row_7`: where a guard lays the row to come out.
[[nodiscard]] inline std::string row_table(std::int64_t capture) {
    return "aftertouch_row_" + std::to_string(capture);
}

/// `k1, k2`
[[nodiscard]] inline std::string key_columns(std::size_t parts, std::string_view prefix = "k") {
    std::string text;
    for (std::size_t i = 1; i <= parts; ++i) {
        text += (i == 1 ? "" : ", ") + std::string{prefix} + std::to_string(i);
    }
    return text;
}

/// Days from noon in Greenwich on 24 November 4714 B.C., as SQLite tells the time.
inline constexpr std::string_view now = "julianday('now')";

// ------------------------------------------------------------------------------------------------
// reading the log

/// $1 position, $2 end: whether a change of the capture lies between. With `own_name` not those
/// that it made itself ($3).
[[nodiscard]] inline std::string has_changes(
    const std::string& schema, std::int64_t capture, bool skip_own) {
    return "SELECT 1 FROM " + own(schema, "log") +
           " WHERE seq > $1 AND seq <= $2 AND capture = " + std::to_string(capture) +
           (skip_own ? " AND origin IS NOT $3" : "") + " LIMIT 1";
}

[[nodiscard]] inline std::string head(const std::string& schema) {
    return "SELECT max(seq) FROM " + own(schema, "log");
}

/// The highest number that the log ever gave out.
///
/// A statement that fails under OR FAIL keeps its log rows, and SQLite doesn't count them in its
/// sequence: so what removes rows from the log must leave the one with the highest number, or
/// numbers come twice.
[[nodiscard]] inline std::string high_water(const std::string& schema) {
    return "SELECT max(coalesce((SELECT seq FROM " + quoted(schema) +
           ".sqlite_sequence WHERE name = 'aftertouch_log'), 0), coalesce((SELECT max(seq) FROM " +
           own(schema, "log") + "), 0))";
}

/// What a checkpoint must agree with: the log that it must name, how far that was pruned, and its
/// high water. No row where the capture isn't installed.
[[nodiscard]] inline std::string bounds(const std::string& schema, std::int64_t capture) {
    return "SELECT m.log_id || '.' || c.incarnation, m.pruned_through, (" + high_water(schema) +
           ") FROM " + own(schema, "capture") + " AS c, " + own(schema, "meta") +
           " AS m WHERE c.id = " + std::to_string(capture);
}

struct LogRead {
    std::int64_t capture = 0;
    std::size_t key_parts = 1;
    std::size_t imaged = 0; ///< columns of an image; 0 for touches
    bool skip_own = false;  ///< $3 is the pipeline's name
    std::vector<std::string>
        reached{}; ///< collations of the key: only changes of keys up to $4, $5, ...
};

/// $1 position, $2 how many: seq, operation, at, the key, then (for up to 900 columns) before and
/// after.
[[nodiscard]] inline std::string read_log(const std::string& schema, const LogRead& read) {
    std::string text = "SELECT l.seq, l.operation, l.at, " + key_columns(read.key_parts, "l.k");
    const bool joined = read.imaged != 0 && read.imaged <= image_columns;
    if (joined) {
        text +=
            ", i.seq, " + key_columns(read.imaged, "i.b") + ", " + key_columns(read.imaged, "i.a");
    }
    text += " FROM " + own(schema, "log") + " AS l";
    if (joined) {
        text += " LEFT JOIN " + quoted(schema) + '.' + quoted(image_table(read.capture, 0)) +
                " AS i ON i.seq = l.seq";
    }
    text += " WHERE l.seq > $1 AND l.capture = " + std::to_string(read.capture);
    if (read.skip_own) { text += " AND l.origin IS NOT $3"; }
    if (!read.reached.empty()) {
        std::string keys;
        std::string holes;
        for (std::size_t i = 0; i < read.reached.size(); ++i) {
            keys += (i == 0 ? "" : ", ") + ("l.k" + std::to_string(i + 1)) + " COLLATE " +
                    quoted(read.reached[i]);
            holes += (i == 0 ? "$" : ", $") + std::to_string(i + 4);
        }
        text += " AND (" + keys + ") <= (" + holes + ")";
    }
    return text + " ORDER BY l.seq LIMIT $2";
}

/// One part of an image that is wider than one table: $1 seq.
[[nodiscard]] inline std::string read_image_part(
    const std::string& schema, std::int64_t capture, std::size_t part, std::size_t columns) {
    return "SELECT " + key_columns(columns, "b") + ", " + key_columns(columns, "a") + " FROM " +
           quoted(schema) + '.' + quoted(image_table(capture, part)) + " WHERE seq = $1";
}

/// How far behind a touch the log is searched for what happened next to its key.
inline constexpr std::int64_t follow_up_rows = 20'000;

/// $1 seq, $2, $3, ... the key: the operation that comes next for it, within `follow_up_rows`.
[[nodiscard]] inline std::string follow_up(
    const std::string& schema, std::int64_t capture, const std::vector<std::string>& collations) {
    std::string text = "SELECT operation FROM " + own(schema, "log") +
                       " WHERE seq > $1 AND seq <= $1 + " + std::to_string(follow_up_rows) +
                       " AND capture = " + std::to_string(capture);
    for (std::size_t i = 1; i <= collations.size(); ++i) {
        text += " AND k" + std::to_string(i) + " COLLATE " + quoted(collations[i - 1]) + " IS $" +
                std::to_string(i + 1);
    }
    return text + " ORDER BY seq LIMIT 1";
}

/// Names the pipeline ($1) that made the changes behind $2.
[[nodiscard]] inline std::string mark_own(const std::string& schema) {
    return "UPDATE " + own(schema, "log") + " SET origin = $1 WHERE seq > $2";
}

/// Forgets marks that were left in `aftertouch_low_priority`, so that who removes them doesn't move
/// what others have written since.
[[nodiscard]] inline std::string forget_marks(const std::string& schema) {
    const std::string marks = own(schema, "low_priority");
    return "UPDATE " + marks + " SET since = 9223372036854775807; DELETE FROM " + marks;
}

// ---------------------------------------------------------------------------------------------
// reading the source

/// A page of a rebuild: rows behind the values $2, $3, ... of `order`, or from the beginning; $1
/// how many.
[[nodiscard]] inline std::string read_page(
    const Table& table, const std::vector<std::size_t>& order, bool from_start) {
    std::string columns;
    std::string holes;
    for (std::size_t i = 0; i < order.size(); ++i) {
        columns += (i == 0 ? "" : ", ") + quoted(table.columns[order[i]].name);
        holes += (i == 0 ? "$" : ", $") + std::to_string(i + 2);
    }
    return "SELECT " + dml::columns(table) + " FROM " + table.name.quoted() +
           (from_start ? "" : " WHERE (" + columns + ") > (" + holes + ")") + " ORDER BY " +
           columns + " LIMIT $1";
}

[[nodiscard]] inline std::string count_rows(const Table& table) {
    return "SELECT count(*) FROM " + table.name.quoted();
}

// ----------------------------------------------------------------------------------------------------
// checkpoints

[[nodiscard]] inline std::string load_checkpoint(const std::string& schema) {
    return "SELECT checkpoint, version, attempts FROM " + own(schema, "checkpoint") +
           " WHERE pipeline = $1";
}

/// $1 pipeline, $2 text, $3 the version that must still be there. One row, or the caller lost the
/// pipeline to another.
[[nodiscard]] inline std::string store_checkpoint(const std::string& schema) {
    return "UPDATE " + own(schema, "checkpoint") +
           " SET checkpoint = $2, version = version + 1, attempts = 0, at = " + std::string{now} +
           " WHERE pipeline = $1 AND version = $3";
}

[[nodiscard]] inline std::string create_checkpoint(const std::string& schema) {
    return "INSERT INTO " + own(schema, "checkpoint") +
           " (pipeline, checkpoint, version, attempts, at) VALUES ($1, $2, 1, 0, " +
           std::string{now} + ")";
}

[[nodiscard]] inline std::string count_attempt(const std::string& schema) {
    return "UPDATE " + own(schema, "checkpoint") +
           " SET attempts = $3 WHERE pipeline = $1 AND version = $2";
}

// ------------------------------------------------------------------------------------------------
// lag and identity

/// $1 position: how many changes are behind it, and how many days ago the first of them was made.
[[nodiscard]] inline std::string lag(const std::string& schema, std::int64_t capture) {
    return "SELECT count(*), " + std::string{now} + " - min(at) FROM " + own(schema, "log") +
           " WHERE seq > $1 AND capture = " + std::to_string(capture);
}

[[nodiscard]] inline std::string find_capture(const std::string& schema) {
    return "SELECT c.id, c.definition, m.log_id || '.' || c.incarnation, m.log_id, "
           "m.pruned_through FROM " +
           own(schema, "capture") + " AS c, " + own(schema, "meta") + " AS m WHERE c.name = $1";
}

/// $1 the identity of a log and of the capture in it, as a checkpoint has it.
[[nodiscard]] inline std::string capture_of(const std::string& schema) {
    return "SELECT c.name FROM " + own(schema, "capture") + " AS c, " + own(schema, "meta") +
           " AS m WHERE m.log_id || '.' || c.incarnation = $1";
}

/// Of a checkpoint's `LOG POSITION gGENERATION/LOW ...` the LOW; NULL where there is none.
[[nodiscard]] inline std::string low_place(const std::string& rest) {
    const std::string behind = "substr(" + rest + ", instr(" + rest + ", ' ') + 1)";
    const std::string word = "substr(" + behind + ", instr(" + behind + ", ' ') + 1)";
    return "(SELECT CAST(substr(w, instr(w, '/') + 1) AS INTEGER) FROM (SELECT substr(v, 1, "
           "instr(v || ' ', ' ') - 1) AS w FROM (SELECT " +
           word + " AS v)) WHERE instr(w, '/'))";
}

/// For a person: each pipeline with its capture, its place, what it is behind, and its rebuild.
[[nodiscard]] inline std::string status(const std::string& schema) {
    const std::string log = own(schema, "log");
    const std::string waiting = " FROM " + log +
                                " WHERE seq > CAST(p.tail AS INTEGER) AND capture = c.id OR seq > "
                                "p.low AND capture = -c.id";
    return "WITH word AS (SELECT pipeline, attempts, at, substr(checkpoint, 5) AS rest FROM " +
           own(schema, "checkpoint") +
           "),\n  place AS (SELECT *, substr(rest, 1, instr(rest, ' ') - 1) AS log, substr(rest, "
           "instr(rest, ' ') + 1) AS tail, " +
           low_place("rest") +
           " AS low "
           "FROM word)\nSELECT p.pipeline, c.name AS capture,\n"
           "  CASE WHEN p.rest = '' THEN 'starting' WHEN p.tail LIKE '% r%' THEN 'rebuilding' ELSE "
           "'following' END AS state,\n"
           "  CAST(p.tail AS INTEGER) AS position,\n"
           "  (SELECT count(*)" +
           waiting + ") AS lag_records,\n  (SELECT coalesce(round((" + std::string{now} +
           " - min(at)) * 86400, 3), 0)" + waiting +
           ") AS lag_seconds,\n"
           "  (SELECT count(*) FROM " +
           log +
           " WHERE seq > p.low AND capture = -c.id) AS low_priority_lag_records,\n"
           "  CASE WHEN p.tail LIKE '% r%' THEN substr(p.tail, instr(p.tail, ' r') + 2, "
           "instr(substr(p.tail || ' ', instr(p.tail, "
           "' r') + 1), ' ') - 2) END AS rebuild_done_of_total,\n"
           "  abs(p.attempts) AS failed_attempts, datetime(p.at) AS written,\n  (SELECT count(*) "
           "FROM " +
           own(schema, "dead_letter") +
           " AS d WHERE d.pipeline = p.pipeline) AS dead_letters, l.holder AS "
           "lease_holder, datetime(l.until) AS lease_until\nFROM place AS p LEFT JOIN " +
           own(schema, "lease") + " AS l ON l.pipeline = p.pipeline LEFT JOIN " +
           own(schema, "capture") + " AS c ON p.log = (SELECT log_id FROM " + own(schema, "meta") +
           ") || '.' || c.incarnation\nORDER BY p.pipeline";
}

/// The last change in front of the first that was made at $1 or later, days as `julianday` tells
/// them; the clock may have gone back meanwhile. A millisecond is allowed for rounding. And
/// whether there is a change from before that time.
[[nodiscard]] inline std::string position_before(const std::string& schema) {
    const std::string log = own(schema, "log");
    return "SELECT coalesce((SELECT min(seq) - 1 FROM " + log +
           " WHERE at >= $1 - 0.0000000116), (SELECT max(seq) FROM " + log +
           "), 0), EXISTS (SELECT 1 FROM " + log + " WHERE at < $1 - 0.0000000116)";
}

} // namespace aftertouch::sqlite::dialect
