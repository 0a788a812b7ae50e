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
#include <aftertouch/table.hpp>

/// \file
/// The SQL that the PostgreSQL backend runs on its own tables; no client library. What reads a
/// source: source_dialect.hpp; triggers: triggers.hpp; how far pipelines are: lag.hpp.

namespace aftertouch::postgres::dialect {

/// How many bytes of values one read of the log or of a source brings at most, but for one larger
/// row: the rest is read when the batch has room for it.
inline constexpr std::int64_t chunk_bytes = 16'777'216;

/// `$1, $2`
[[nodiscard]] inline std::string holes(std::size_t count, std::size_t first = 1) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += (i == 0 ? "$" : ", $") + std::to_string(first + i);
    }
    return text;
}

// ------------------------------------------------------------------------------------------------
// reading the log

/// The highest number that the log ever gave out. A plain SELECT from the sequence can see up to 32
/// too many; this function can't.
inline constexpr std::string_view last_number =
    "coalesce(pg_sequence_last_value('aftertouch.log_seq_seq'::regclass), 0)";

struct LogRead {
    std::int64_t capture = 0;
    bool images = false;
    std::string own_name{};    ///< leave out what this pipeline made; empty: nothing
    bool low_priority = false; ///< what was marked so, and not the rest
};

namespace detail {

inline constexpr const char* within_window =
    " AND l.seq <= $4::bigint AND pg_visible_in_snapshot(l.xid, $2::pg_snapshot)";

// The snapshot of now, the last number, whether the transaction has written nothing yet.
[[nodiscard]] inline std::string now() {
    return "SELECT pg_current_snapshot() AS until, " + std::string{last_number} +
           " AS last, pg_current_xact_id_if_assigned() IS NULL AS fresh";
}

// Where a search behind snapshot $1 begins: the greatest mark that is old enough for what `until`
// sees beyond it. $2, $3: the marks.
[[nodiscard]] inline std::string search_begin(const std::string& until) {
    return "SELECT coalesce((SELECT max(m.l) FROM unnest($2::xid8[], $3::bigint[]) AS m(n, l) "
           "WHERE m.n <= least(pg_snapshot_xmax($1::pg_snapshot), (SELECT x FROM "
           "pg_snapshot_xip($1::pg_snapshot) AS x WHERE pg_visible_in_snapshot(x, " +
           until + ") ORDER BY x LIMIT 1))), 0) AS lo";
}

// The identity of the log now, and the snapshot of what may be pruned from it.
[[nodiscard]] inline std::string identity(std::int64_t capture) {
    return "SELECT m.log_id || '.' || c.incarnation AS log, m.through::text AS through FROM "
           "aftertouch.meta AS m LEFT JOIN aftertouch.capture AS c ON c.id = " +
           std::to_string(capture);
}

// Log rows behind `from` by number that $1 doesn't see, `limit` at most; `key` is what is read of
// the key.
[[nodiscard]] inline std::string log_rows(const LogRead& read, const std::string& key,
    const std::string& from, const std::string& within, const std::string& limit) {
    std::string text =
        "SELECT l.seq, l.op, l.at, l.keys, " + key + (read.images ? ", l.image" : "") +
        " FROM aftertouch.log AS l WHERE l.seq > " + from + " AND l.capture = " +
        std::to_string(read.low_priority ? low_capture(read.capture) : read.capture) +
        " AND NOT pg_visible_in_snapshot(l.xid, $1::pg_snapshot)" + within;
    if (!read.own_name.empty()) {
        text += " AND NOT EXISTS (SELECT 1 FROM aftertouch.own_change AS o WHERE o.xid = l.xid AND "
                "o.pipeline = " +
                quoted_text(read.own_name) + ")";
    }
    return text + " ORDER BY l.seq LIMIT " + limit;
}

// Of `rows` as many as hold `limit` changes and `chunk_bytes` at least. The keys of the last are
// left out where those before hold one change less: then it only shows that there is more.
[[nodiscard]] inline std::string up_to(
    const LogRead& read, const std::string& rows, const std::string& limit) {
    std::string text =
        "SELECT seq, op, at, keys, CASE WHEN keys IS NULL OR items - keys < greatest(" + limit +
        " - 1, 1) THEN key END AS key" + (read.images ? ", image" : "") +
        " FROM (SELECT *, sum(coalesce(keys, 1)) OVER w AS items" +
        (read.images ? ", sum(octet_length(image)) OVER w AS bytes" : "") + " FROM (" + rows +
        ") AS r WINDOW w AS (ORDER BY seq ROWS UNBOUNDED PRECEDING)) AS r WHERE items - "
        "coalesce(keys, 1) < " +
        limit;
    if (read.images) {
        text += " AND coalesce(bytes - octet_length(image), 0) < " + std::to_string(chunk_bytes);
    }
    return text;
}

} // namespace detail

/// $1 snapshot, $2, $3 marks, $4 how many changes, of $5 rows at most. Takes the next snapshot and
/// reads what it sees beyond $1, in one statement: snapshot, last number, whether the transaction
/// has written nothing yet, the log's identity, the snapshot of what may be pruned; then the log
/// rows, in order.
[[nodiscard]] inline std::string read_new_window(const LogRead& read) {
    return "WITH w AS MATERIALIZED (" + detail::now() + "), f AS MATERIALIZED (" +
           detail::search_begin("w.until") + " FROM w), u AS MATERIALIZED (" +
           detail::identity(read.capture) +
           ") SELECT w.until::text, w.last, w.fresh, u.log, u.through, l.* FROM w CROSS JOIN f "
           "LEFT JOIN u ON true LEFT JOIN LATERAL (" +
           detail::up_to(
               read, detail::log_rows(read, "l.key", "f.lo", "", "$5::bigint"), "$4::bigint") +
           ") AS l ON true";
}

/// Opens a window without reading in it, with the first three of these parameters: one row of the
/// same facts, and whether the window holds changes.
[[nodiscard]] inline std::string open_window(const LogRead& read) {
    return "WITH w AS MATERIALIZED (" + detail::now() + "), f AS MATERIALIZED (" +
           detail::search_begin("w.until") +
           " FROM w) SELECT w.until::text, w.last, w.fresh, u.log, u.through, l.seq IS NOT NULL AS "
           "news FROM w CROSS JOIN f LEFT JOIN (" +
           detail::identity(read.capture) + ") AS u ON true LEFT JOIN LATERAL (" +
           detail::log_rows(read, "l.key", "f.lo", "", "1") + ") AS l ON true";
}

/// More rows of a window, without facts: $1 snapshot, $2 the window's snapshot, $3 behind which
/// number, $4 the window's last number, $5 how many changes, of $6 rows at most.
[[nodiscard]] inline std::string read_window(const LogRead& read) {
    return detail::up_to(read,
        detail::log_rows(read, "l.key", "$3::bigint", detail::within_window, "$6::bigint"),
        "$5::bigint");
}
/// The same without $6, as many rows as changes, for rows of one change; of others it tells how
/// many keys they hold, and not which. A third of the cost.
[[nodiscard]] inline std::string read_window_of_rows(const LogRead& read) {
    return detail::log_rows(read, "CASE WHEN l.keys IS NULL THEN l.key END AS key", "$3::bigint",
        detail::within_window, "$5::bigint");
}

/// Whether there are changes, of any capture, that $1 doesn't see and $2 does, behind number $3 and
/// up to $4.
inline constexpr std::string_view has_late =
    "SELECT EXISTS (SELECT 1 FROM aftertouch.log AS l WHERE l.seq > $3::bigint AND l.seq <= "
    "$4::bigint AND NOT pg_visible_in_snapshot(l.xid, $1::pg_snapshot) AND "
    "pg_visible_in_snapshot(l.xid, $2::pg_snapshot))";

/// The log's identity, the snapshot of what may be pruned, the last number, whether the transaction
/// has written nothing yet, the number behind the last transaction that has ended.
[[nodiscard]] inline std::string facts(std::int64_t capture) {
    return "SELECT u.log, u.through, " + std::string{last_number} +
           ", pg_current_xact_id_if_assigned() IS NULL, pg_snapshot_xmax(pg_current_snapshot()) "
           "FROM (" +
           detail::identity(capture) + ") AS u";
}

/// $1 snapshot, $2 the last number when it was taken: whether transaction ids were set back since
/// (pg_resetwal). Then it seems to see a transaction that had not begun.
inline constexpr std::string_view are_ids_set_back =
    "SELECT pg_snapshot_xmax($1::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()) OR EXISTS "
    "(SELECT 1 FROM aftertouch.log WHERE seq > $2::bigint AND pg_visible_in_snapshot(xid, "
    "$1::pg_snapshot))";

/// The snapshot of now, the last number, whether the transaction has written nothing yet.
[[nodiscard]] inline std::string head() {
    return "SELECT pg_current_snapshot()::text, " + std::string{last_number} +
           ", pg_current_xact_id_if_assigned() IS NULL";
}

/// Which of some keys a rebuild has reached, by the key's own order: arrays of the key's parts,
/// then the cursor. `types` and `collations` are those of the parts.
[[nodiscard]] inline std::string reached(
    const std::vector<std::string>& types, const std::vector<std::string>& collations) {
    std::string arrays;
    std::string names;
    std::string parts;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const std::string comma = i == 0 ? "" : ", ";
        const std::string name = "k" + std::to_string(i + 1);
        arrays += comma + '$' + std::to_string(i + 1) + "::" + types[i] + "[]";
        names += name + ", ";
        parts += comma + "k." + name;
        if (!collations[i].empty()) { parts += " COLLATE " + collations[i]; }
    }
    return "SELECT k.i FROM unnest(" + arrays + ") WITH ORDINALITY AS k(" + names + "i) WHERE (" +
           parts + ") <= (" + holes(types.size(), types.size() + 1) + ")";
}

/// Notes that transaction's changes of the log behind number $2 as made by pipeline $1.
inline constexpr std::string_view mark_own = "INSERT INTO aftertouch.own_change (xid, pipeline) "
                                             "SELECT pg_current_xact_id(), $1 WHERE EXISTS "
                                             "(SELECT 1 FROM aftertouch.log WHERE seq > $2::bigint "
                                             "AND xid = pg_current_xact_id_if_assigned() "
                                             "LIMIT 1)";

// ----------------------------------------------------------------------------------------------------
// checkpoints

inline constexpr std::string_view load_checkpoint =
    "SELECT checkpoint, version, attempts, marks FROM aftertouch.checkpoint WHERE pipeline = $1";

/// $1 pipeline, $2 text, $3 the version that must still be there, $4 marks, $5 the number that this
/// transaction's own mark has. It fails by itself where another one was faster, so that a COMMIT
/// behind it can't succeed. Answers the transaction's number.
inline constexpr std::string_view store_checkpoint =
    "WITH u AS (UPDATE aftertouch.checkpoint SET checkpoint = $2, version = version + 1, attempts "
    "= 0, at = clock_timestamp(), marks = $4 || coalesce(pg_current_xact_id()::text || '.' || $5 "
    "|| ',', '') WHERE pipeline = $1 AND version = $3::bigint RETURNING pg_current_xact_id()::text "
    "AS x) SELECT 1 / count(*), max(x) FROM u";

inline constexpr std::string_view create_checkpoint =
    "INSERT INTO aftertouch.checkpoint (pipeline, checkpoint, version, attempts, at, marks) VALUES "
    "($1, $2, 1, 0, clock_timestamp(), $3 || coalesce(pg_current_xact_id()::text || '.' || $4 || "
    "',', '')) RETURNING 1, pg_current_xact_id()::text";

inline constexpr std::string_view count_attempt =
    "UPDATE aftertouch.checkpoint SET attempts = $3::bigint WHERE pipeline = $1 AND version = "
    "$2::bigint";

/// $1 pipeline, $2 version, $3 lane, $4 deal: notes that the lane has handled its part. It fails by
/// itself where the checkpoint was moved or taken over, or somebody else has noted the same, so
/// that a COMMIT behind it can't succeed. The lock lets other lanes in, and makes who takes the
/// checkpoint over wait for the COMMIT.
inline constexpr std::string_view finish_lane =
    "WITH f AS MATERIALIZED (SELECT pipeline FROM aftertouch.checkpoint WHERE pipeline = $1 AND "
    "version = $2::bigint FOR SHARE), d AS (INSERT INTO aftertouch.lane AS l (pipeline, lane, "
    "deal) SELECT pipeline, $3::integer, $4::bigint FROM f ON CONFLICT (pipeline, lane) DO UPDATE "
    "SET deal = excluded.deal WHERE l.deal <> excluded.deal RETURNING 1) SELECT 1 / count(*) FROM "
    "d";

/// $1 pipeline, $2 version, $3 lane, $4 deal: locks the lane's row until the transaction ends,
/// where its part isn't handled yet and no other transaction has it.
inline constexpr std::string_view claim_lane =
    "SELECT 1 FROM aftertouch.lane WHERE pipeline = $1 AND lane = $3::integer AND deal <> "
    "$4::bigint AND EXISTS (SELECT 1 FROM aftertouch.checkpoint WHERE pipeline = $1 AND version = "
    "$2::bigint) FOR UPDATE SKIP LOCKED";

/// The same, behind the transaction that has it; makes the row where there is none. It fails by
/// itself where the checkpoint was moved or taken over.
inline constexpr std::string_view await_lane =
    "WITH f AS MATERIALIZED (SELECT pipeline FROM aftertouch.checkpoint WHERE pipeline = $1 AND "
    "version = $2::bigint), d AS (INSERT INTO aftertouch.lane AS l (pipeline, lane, deal) SELECT "
    "pipeline, $3::integer, 0 FROM f ON CONFLICT (pipeline, lane) DO UPDATE SET deal = l.deal "
    "WHERE l.deal <> $4::bigint RETURNING 1) SELECT (SELECT count(*) FROM d), 1 / (SELECT "
    "count(*) FROM f)";

/// $1 pipeline, $2 deal: the lanes that have handled their part.
inline constexpr std::string_view finished_lanes =
    "SELECT lane FROM aftertouch.lane WHERE pipeline = $1 AND deal = $2::bigint";

} // namespace aftertouch::postgres::dialect
