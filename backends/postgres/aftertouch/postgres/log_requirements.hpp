// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <aftertouch/error.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/own_tables.hpp>
#include <aftertouch/postgres/prepared.hpp>

/// \file
/// Whether the change log is still as it was made.

namespace aftertouch::postgres {

/// *Throws* `Error` (`read_only`) on a standby: its snapshots don't tell which transactions run on
/// the primary, so that changes would be lost.
inline void require_primary(Connection& connection) {
    if (!connection.ask("SELECT pg_is_in_recovery()").flag(0, 0)) { return; }
    throw Error{Errc::read_only,
        connection.handle().name() +
            " is a standby: a pipeline runs on the primary, where its checkpoint is written"};
}

/// *Throws* `Error` (`schema_mismatch`) with what of aftertouch.log would lose changes or make
/// writers fail, and no script should decide about.
inline void require_sound_log(Catalog& catalog) {
    const auto wrong = catalog.word(
        "SELECT concat_ws(', ', CASE WHEN c.relpersistence <> 'p' THEN 'it is unlogged' END, "
        "CASE WHEN c.relrowsecurity THEN 'it has row security' END, CASE WHEN EXISTS "
        "(SELECT 1 FROM pg_rewrite WHERE ev_class = c.oid) THEN 'it has rules' END, CASE WHEN "
        "EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = "
        "c.oid AND tgname <> $1) THEN 'it has triggers' END, CASE WHEN EXISTS (SELECT 1 FROM "
        "pg_constraint WHERE conrelid = c.oid AND contype <> 'n') OR EXISTS (SELECT 1 FROM "
        "pg_index WHERE indrelid = c.oid AND indisunique) THEN 'it has constraints or unique "
        "indexes' END, CASE WHEN s.seqmax <> 9223372036854775807 THEN 'its numbers have a "
        "MAXVALUE of their own' END, CASE WHEN s.seqcache <> 1 OR s.seqincrement <> 1 OR "
        "s.seqcycle THEN 'its numbers have a CACHE, INCREMENT or CYCLE of their own' END, "
        "CASE WHEN (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = "
        "'xid') > (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'seq') "
        "THEN 'its column xid stands behind seq' END) FROM pg_class AS c JOIN pg_sequence AS s "
        "ON s.seqrelid = pg_get_serial_sequence('aftertouch.log', 'seq')::regclass WHERE c.oid "
        "= 'aftertouch.log'::regclass",
        log_guard);
    if (wrong && wrong->empty()) { return; }
    throw Error{Errc::schema_mismatch,
        "aftertouch.log in " + catalog.database() +
            " isn't as it was made: " + wrong.value_or("its numbers have no sequence") +
            ": undo that, or remove the captures and install them anew"};
}

/// Whether its trigger against TRUNCATE is there and switched on.
[[nodiscard]] inline bool is_log_guarded(Catalog& catalog) {
    return catalog
        .word("SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass('aftertouch.log') AND tgname = "
              "$1 AND tgenabled IN ('O', 'A')",
            log_guard)
        .has_value();
}

} // namespace aftertouch::postgres
