// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <aftertouch/script.hpp>

/// \file
/// The scripts of whoever looks after a database: how far pipelines are, who holds a transaction
/// open, and pruning. No client library.

namespace aftertouch::postgres::dialect {

/// For a person: each pipeline with its capture, what it is behind, and its rebuild.
inline constexpr std::string_view status =
    "WITH word AS (SELECT *, split_part(checkpoint, ' ', 2) AS log, split_part(checkpoint, ' ', 3) "
    "AS place, split_part(split_part(checkpoint, ' ', 4), '/', 2) AS low, split_part(checkpoint, "
    "' ', 5) AS rebuild FROM aftertouch.checkpoint),\n  seen AS "
    "(SELECT *, CASE WHEN place ~ '^[1-9][0-9]*-[1-9][0-9]*-[0-9,]*_' THEN "
    "replace(split_part(place, '_', 1), '-', ':')::pg_snapshot END AS snapshot,\n    CASE WHEN low "
    "~ '^[1-9][0-9]*-[1-9][0-9]*-[0-9,]*_' THEN replace(split_part(low, '_', 1), '-', "
    "':')::pg_snapshot END AS low_snapshot FROM word)\nSELECT "
    "p.pipeline, c.name AS capture,\n  CASE WHEN p.place = '' THEN 'starting' WHEN p.rebuild LIKE "
    "'r%' "
    "THEN 'rebuilding' ELSE "
    "'following' END AS state, p.place AS position, w.lag_records, w.lag_seconds, "
    "w.low_priority_lag_records,\n  CASE WHEN p.rebuild LIKE 'r%' "
    "THEN substr(p.rebuild, 2) END "
    "AS rebuild_done_of_total, abs(p.attempts) AS failed_attempts, p.at AS written,\n  (SELECT "
    "count(*) FROM "
    "aftertouch.dead_letter AS d WHERE d.pipeline = p.pipeline) AS dead_letters, e.holder AS "
    "lease_holder, e.until AS lease_until\nFROM seen AS p LEFT JOIN aftertouch.lease AS e ON "
    "e.pipeline = p.pipeline CROSS JOIN aftertouch.meta AS m LEFT JOIN aftertouch.capture AS c ON "
    "split_part(p.log, '.', "
    "1) = m.log_id AND split_part(p.log, '.', 3) = c.incarnation,\n  LATERAL (SELECT "
    "coalesce(sum(coalesce(l.keys, 1)), 0) AS lag_records, coalesce(round(extract(epoch FROM "
    "clock_timestamp() - min(l.at)), 3), 0) AS lag_seconds, coalesce(sum(coalesce(l.keys, 1)) "
    "FILTER (WHERE l.capture < 0), 0) AS low_priority_lag_records\n    FROM aftertouch.log AS l "
    "WHERE (l.capture = c.id AND NOT pg_visible_in_snapshot(l.xid, p.snapshot)) OR (l.capture = "
    "-c.id AND NOT pg_visible_in_snapshot(l.xid, p.low_snapshot))) AS w\nORDER BY p.pipeline";

/// The transactions that have written and are still open, the oldest first. In every database of
/// the server, since snapshots know them all.
inline constexpr std::string_view open_transactions =
    "SELECT concat('session ', pid, ' of ', usename, ' in ' || datname, nullif(', ' || "
    "application_name, ', ')) AS open_transaction, xact_start AS since\n  FROM pg_stat_activity "
    "WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()\nUNION ALL SELECT concat('prepared "
    "transaction ', quote_literal(gid), ' of ', owner, ' in ', database), prepared FROM "
    "pg_prepared_xacts\nORDER BY since LIMIT 5";

/// The first of them, if there is one, and since when in microseconds.
[[nodiscard]] inline std::string oldest_open() {
    return "SELECT open_transaction, (extract(epoch FROM since) * 1000000)::bigint FROM (" +
           std::string{open_transactions} + ") AS t LIMIT 1";
}

/// Removes what every pipeline has passed, and notes that it may be gone; answers how many rows of
/// the log went. A checkpoint of another log doesn't count: its pipeline rebuilds. Who prunes at
/// the same time waits, and the note never goes back.
inline constexpr std::string_view prune =
    "WITH word AS (SELECT split_part(checkpoint, ' ', 2) AS log, split_part(place, '_', 1) AS "
    "place FROM aftertouch.checkpoint,\n    LATERAL (VALUES (split_part(checkpoint, ' ', 3)), "
    "(split_part(split_part(checkpoint, ' ', 4), '/', 2))) AS v (place)),\n  passed AS (SELECT "
    "CASE WHEN place ~ "
    "'^[1-9][0-9]*-[1-9][0-9]*-[0-9,]*$' THEN replace(place, '-', ':')::pg_snapshot END AS seen\n  "
    "  FROM word AS w JOIN aftertouch.meta AS m ON m.log_id = split_part(w.log, '.', 1) JOIN "
    "aftertouch.capture AS c ON c.incarnation = split_part(w.log, '.', 3)),\n  oldest AS (SELECT "
    "seen FROM passed WHERE seen IS NOT NULL\n    ORDER BY pg_snapshot_xmax(seen), (SELECT "
    "count(*) "
    "FROM pg_snapshot_xip(seen)) DESC LIMIT 1),\n  allowed AS (SELECT o.seen FROM oldest AS o "
    "CROSS "
    "JOIN aftertouch.meta AS m\n    WHERE m.through IS NULL OR (pg_snapshot_xmax(m.through) <= "
    "pg_snapshot_xmax(o.seen) AND NOT EXISTS (SELECT 1 FROM pg_snapshot_xip(o.seen) AS x WHERE "
    "pg_visible_in_snapshot(x, m.through)))\n    FOR UPDATE OF m),\n  gone AS (DELETE FROM "
    "aftertouch.log AS l USING allowed AS a WHERE pg_visible_in_snapshot(l.xid, a.seen) RETURNING "
    "l.at),\n  own AS (DELETE FROM aftertouch.own_change AS o USING allowed AS a WHERE "
    "pg_visible_in_snapshot(o.xid, a.seen)),\n  noted AS (UPDATE aftertouch.meta SET through = "
    "a.seen, pruned_at = coalesce(greatest(pruned_at, (SELECT max(at) FROM gone)), '-infinity') "
    "FROM allowed AS "
    "a)\nSELECT "
    "count(*) AS removed FROM gone";

} // namespace aftertouch::postgres::dialect

namespace aftertouch::postgres {

[[nodiscard]] inline Script status_script() {
    Script script;
    script.add("Each pipeline, how far it has come and what it is behind. Reads only.",
        std::string{dialect::status});
    script.add("Who has written and not committed yet, the oldest first: these changes come when "
               "they are.\nRoles without pg_read_all_stats see their own.",
        std::string{dialect::open_transactions});
    return script;
}

/// Run it now and then, while programs run: it holds up neither writers nor pipelines.
[[nodiscard]] inline Script prune_script() {
    Script script;
    script.add("Removes from the log what every pipeline has handled. A pipeline that is gone for "
               "good keeps\neverything: delete its row from aftertouch.checkpoint first.",
        std::string{dialect::prune});
    return script;
}

} // namespace aftertouch::postgres
