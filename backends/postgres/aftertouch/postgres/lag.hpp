// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/upkeep.hpp>
#include <aftertouch/status.hpp>
#include <aftertouch/value.hpp>

/// \file
/// How far a position is behind the log's end, and who holds a transaction open.

namespace aftertouch::postgres::dialect {

/// $1 snapshot, $2, $3 marks, $4 the window's snapshot or null, $5 number and $6 item up to which
/// it is handled: how many changes aren't handled, and for how many microseconds the oldest waits.
[[nodiscard]] inline std::string lag(std::int64_t capture) {
    return "WITH f AS MATERIALIZED (" + detail::search_begin("pg_current_snapshot()") +
           ") SELECT coalesce(sum(coalesce(l.keys, 1) - CASE WHEN l.seq = $5::bigint THEN "
           "$6::integer ELSE 0 END), 0)::bigint, coalesce((extract(epoch FROM clock_timestamp() - "
           "min(l.at)) * 1000000)::bigint, 0) FROM f JOIN aftertouch.log AS l ON l.seq > f.lo "
           "WHERE "
           "l.capture = " +
           std::to_string(capture) +
           " AND NOT pg_visible_in_snapshot(l.xid, $1::pg_snapshot) AND NOT ($4::pg_snapshot IS "
           "NOT "
           "NULL AND pg_visible_in_snapshot(l.xid, $4::pg_snapshot) AND (l.seq < $5::bigint OR "
           "(l.seq = $5::bigint AND $6::integer = 0)))";
}

inline constexpr std::string_view all_marks = "SELECT marks FROM aftertouch.checkpoint";

/// $1 a time: the transactions that wrote at it or later must come again, and none else need. A
/// snapshot that sees the others, but none that still runs: xmax, then those below that it doesn't
/// see; the last number; and whether the log reaches back to that time.
inline constexpr std::string_view snapshot_before =
    "WITH n AS MATERIALIZED (SELECT pg_current_snapshot() AS now), late AS MATERIALIZED (SELECT "
    "DISTINCT xid FROM aftertouch.log WHERE at >= $1::timestamptz), early AS MATERIALIZED (SELECT "
    "l.xid FROM aftertouch.log AS l WHERE l.at < $1::timestamptz AND NOT EXISTS (SELECT 1 FROM "
    "late WHERE late.xid = l.xid) ORDER BY l.xid DESC LIMIT 1), most AS (SELECT "
    "greatest(coalesce((SELECT xid::text::bigint + 1 FROM early), 1), coalesce((SELECT "
    "pg_snapshot_xmax(through)::text::bigint FROM aftertouch.meta), 1), CASE WHEN EXISTS (SELECT 1 "
    "FROM late) THEN 1 ELSE pg_snapshot_xmax(n.now)::text::bigint END) AS xmax FROM n) SELECT "
    "most.xmax, array_to_string(ARRAY(SELECT x::text::bigint FROM (SELECT xid AS x FROM late UNION "
    "SELECT pg_snapshot_xip(n.now) FROM n) AS r WHERE x::text::bigint < most.xmax ORDER BY 1), "
    "','), coalesce(pg_sequence_last_value('aftertouch.log_seq_seq'::regclass), 0), (SELECT "
    "through IS NULL OR "
    "pruned_at < $1::timestamptz FROM aftertouch.meta) FROM most";

} // namespace aftertouch::postgres::dialect

namespace aftertouch::postgres {

namespace detail {

// What every pipeline knows of the log's numbers is true for all.
[[nodiscard]] inline Marks all_marks(Connection& connection) {
    const Answer answer = connection.ask(dialect::all_marks);
    Marks all;
    for (std::size_t i = 0; i < answer.rows(); ++i) {
        const Marks some = Marks::from(answer.text(i, 0));
        for (const Mark& mark : some.all()) { all.add(mark); }
    }
    return all;
}

} // namespace detail

/// What of a capture's changes, by its number in the log, lies behind `from`.
[[nodiscard]] inline Lag read_lag(
    Connection& connection, std::int64_t capture, const Position& from) {
    const auto [xids, numbers] = detail::all_marks(connection).arrays();
    std::vector<Value> values;
    for (const std::string& text : {from.seen.text(), xids, numbers}) {
        values.emplace_back(Cell::text(text));
    }
    const Position::Window window = from.window.value_or(Position::Window{});
    values.emplace_back(from.window ? Value{Cell::text(window.until.text())} : Value{});
    values.emplace_back(Cell::integer(window.seq));
    values.emplace_back(Cell::integer(window.item));
    const Answer answer = connection.ask(dialect::lag(capture), values);
    return {answer.number(0, 0), std::chrono::microseconds{answer.number(0, 1)}};
}

/// The transaction that has written and is open for longest, in any database of the server.
[[nodiscard]] inline std::optional<OpenTransaction> read_oldest_open(Connection& connection) {
    const Answer open = connection.ask(dialect::oldest_open());
    if (open.rows() == 0) { return std::nullopt; }
    return OpenTransaction{
        std::string{open.text(0, 0)}, Timestamp{std::chrono::microseconds{open.number(0, 1)}}};
}

} // namespace aftertouch::postgres
