// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

/// \file
/// Schemes that lose, double or turn round changes, as other systems have them or as a condition of
/// ours that is broken: the statements that a follower sends instead of the library's.

namespace soak {

/// In each statement that holds `only_with`, `from` becomes `to`.
struct Rewriting {
    std::string_view from;
    std::string_view to;
    std::string_view only_with{};
};

struct Double {
    std::string_view name;
    std::vector<Rewriting> rewritings;
    void (*in_front)(PGconn* connection, const std::string& sql) = nullptr; ///< of each statement
};

// Gives the batch's transaction a number before it reads: begins it in front of the flush that
// does.
inline void write_first(PGconn* connection, const std::string& sql) {
    if (!sql.starts_with("BEGIN ISOLATION") || PQpipelineStatus(connection) != PQ_PIPELINE_ON) {
        return;
    }
    PQexitPipelineMode(connection);
    PQclear(PQexec(connection, "BEGIN ISOLATION LEVEL READ COMMITTED"));
    PQclear(PQexec(connection, "SELECT pg_current_xact_id()"));
    PQenterPipelineMode(connection);
}

[[nodiscard]] inline const std::vector<Double>& doubles() {
    // What the library's reads of the log have in common.
    static constexpr std::string_view unseen = "NOT pg_visible_in_snapshot(l.xid, $1::pg_snapshot)";
    static constexpr std::string_view within = "pg_visible_in_snapshot(l.xid, $2::pg_snapshot)";
    static constexpr std::string_view mark_is_old = "WHERE m.n <= least(";
    static constexpr std::string_view new_window = "AS until";
    static const std::vector<Double> all{
        // The position is a number: what commits later with a lower one is stepped over.
        {"by_number", {{mark_is_old, "WHERE true OR m.n <= least("},
                          {unseen, "$1::pg_snapshot IS NOT NULL"}}},
        // Windows, but searched from the number that was the last one when the snapshot was taken.
        {"last_number", {{mark_is_old, "WHERE true OR m.n <= least("}}},
        // Windows, but what an old transaction wrote is searched from where the new ones begin.
        {"young_search", {{"ORDER BY x LIMIT 1", "ORDER BY x LIMIT 0"}}},
        // Windows between the oldest running transactions.
        {"horizon", {{mark_is_old, "WHERE false AND m.n <= least("},
                        {unseen,
                            "l.xid >= pg_snapshot_xmin($1::pg_snapshot) AND l.xid < "
                            "pg_snapshot_xmin(w.until)",
                            new_window},
                        {unseen, "l.xid >= pg_snapshot_xmin($1::pg_snapshot)"},
                        {within, "l.xid < pg_snapshot_xmin($2::pg_snapshot)"}}},
        // Everything below the newest transaction counts as ended.
        {"no_running", {{unseen, "l.xid >= pg_snapshot_xmax($1::pg_snapshot)"}}},
        // The snapshot is taken by a transaction that has a number already.
        {"after_writing", {{"pg_current_xact_id_if_assigned() IS NULL", "true"}}, write_first},
        // Whoever writes the checkpoint last is right.
        {"unfenced", {{" AND version = $3::bigint RETURNING", " AND $3::bigint > 0 RETURNING"}}},
        // Nobody asks what was pruned.
        {"blind", {{"m.through::text AS through", "NULL::text AS through"}}},
        // A rebuild's page is older than the snapshot that stands for it.
        {"late_snapshot",
            {{"pg_current_snapshot() AS until", "public.later_snapshot() AS until", "FULL JOIN"}}},
        // Changes of keys whose page is still to come are handed over.
        {"beyond_cursor", {{" WHERE (k.k1) <= (", " WHERE true OR (k.k1) <= ("}}},
    };
    return all;
}

/// A statement as the double sends it.
[[nodiscard]] inline std::string rewritten(const Double& chosen, std::string sql) {
    for (const Rewriting& one : chosen.rewritings) {
        const std::size_t at = sql.find(one.from);
        if (at == std::string::npos || sql.find(one.only_with) == std::string::npos) { continue; }
        sql.replace(at, one.from.size(), one.to);
    }
    return sql;
}

} // namespace soak
