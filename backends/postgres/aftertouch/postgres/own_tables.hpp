// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// \file
/// The tables that the PostgreSQL backend makes for itself, as DDL. No client library is called.

namespace aftertouch::postgres {

/// One table of the schema aftertouch: the statements that make it, and what a DBA should know.
struct OwnTable {
    std::string name; ///< for SQL text
    std::vector<std::string> sql;
    std::string comment;
    bool tells_changes = true; ///< where it is missing, changes may have gone unseen
};

/// Keeps the log from being truncated: a TRUNCATE would take what open transactions are about to
/// commit.
inline constexpr std::string_view log_guard = "log_is_pruned_by_delete";

[[nodiscard]] inline std::vector<std::string> log_guard_sql() {
    const std::string name{log_guard};
    return {"CREATE OR REPLACE FUNCTION aftertouch." + name +
                "() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n  RAISE EXCEPTION "
                "'aftertouch.log isn''t truncated, which would lose changes: prune it by DELETE, "
                "as the README of the PostgreSQL backend says';\nEND\n$$",
        "REVOKE ALL ON FUNCTION aftertouch." + name + "() FROM PUBLIC",
        "CREATE OR REPLACE TRIGGER " + name +
            " BEFORE TRUNCATE ON aftertouch.log EXECUTE FUNCTION aftertouch." + name + "()"};
}

/// In the order in which they are made.
[[nodiscard]] inline const std::vector<OwnTable>& own_tables() {
    const std::vector<std::string> guard = log_guard_sql();
    constexpr const char* create_log =
        "CREATE TABLE aftertouch.log (xid xid8 NOT NULL DEFAULT pg_catalog.pg_current_xact_id(), "
        "seq bigint GENERATED ALWAYS AS IDENTITY, capture integer NOT NULL, op \"char\" NOT NULL, "
        "at timestamp with time zone NOT NULL DEFAULT pg_catalog.clock_timestamp(), keys integer, "
        "key text, image text)";
    static const std::vector<OwnTable> tables{
        {"aftertouch.meta",
            {"CREATE TABLE aftertouch.meta (log_id text NOT NULL, layout integer NOT NULL, through "
             "pg_snapshot, pruned_at timestamp with time zone)",
                "ALTER TABLE aftertouch.meta REPLICA IDENTITY FULL"},
            "One row: which log this is, and what may have been pruned from it: rows of "
            "transactions\nthat the snapshot sees, none newer than pruned_at. Undo: DROP SCHEMA "
            "aftertouch CASCADE, without "
            "captures."},
        {"aftertouch.log",
            {create_log, "CREATE INDEX log_position ON aftertouch.log (seq)",
                "ALTER TABLE aftertouch.log REPLICA IDENTITY FULL", guard[0], guard[1], guard[2]},
            "The change log: triggers append to it. No constraint that a writer could fail on. "
            "The\n"
            "transaction's number is drawn before the row's (column order), numbers are given out "
            "one\nby one (no CACHE): both must stay. Remove rows by DELETE only, never by "
            "TRUNCATE. "
            "A row\nholds one key, or an array of `keys` keys; images are row literals."},
        {"aftertouch.capture",
            {"CREATE TABLE aftertouch.capture (id integer PRIMARY KEY, name text NOT NULL UNIQUE, "
             "definition text NOT NULL, incarnation text NOT NULL)"},
            "What is captured, as the program that installed it declared it."},
        {"aftertouch.checkpoint",
            {"CREATE TABLE aftertouch.checkpoint (pipeline text PRIMARY KEY, checkpoint text NOT "
             "NULL, version bigint NOT NULL, attempts bigint NOT NULL, at timestamp with time zone "
             "NOT NULL, marks text NOT NULL) WITH (fillfactor = 50)"},
            "How far each pipeline has come; written in the transaction of what its handler "
            "derives."},
        {"aftertouch.dead_letter",
            {"CREATE TABLE aftertouch.dead_letter (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY "
             "KEY, pipeline text NOT NULL, record text NOT NULL, key text NOT NULL, operation text "
             "NOT NULL, change text NOT NULL, error text NOT NULL, attempts bigint NOT NULL, "
             "parked_at timestamp with time zone NOT NULL, released boolean NOT NULL DEFAULT "
             "false)"},
            "Changes that a pipeline has set aside since its handler failed on them. To have them\n"
            "handed over again: UPDATE ... SET released = true WHERE pipeline = ... AND record = "
            "...;\n"
            "to give them up: DELETE. With all letters of a record alike, its changes stay in "
            "order.",
            false},
        {"aftertouch.lease",
            {"CREATE TABLE aftertouch.lease (pipeline text PRIMARY KEY, holder text NOT NULL, "
             "until timestamp with time zone NOT NULL) WITH (fillfactor = 50)"},
            "Which instance may run a pipeline, and until when unless it renews. To let another "
            "one in:\nDELETE its row. Pipelines without a lease have none.",
            false},
        {"aftertouch.lane",
            {"CREATE TABLE aftertouch.lane (pipeline text, lane integer, deal bigint NOT NULL, "
             "PRIMARY KEY (pipeline, lane)) WITH (fillfactor = 50)"},
            "Which part of its changes each lane of a pipeline has handled last: the checkpoint "
            "says what\nthey were dealt. Pipelines without lanes have none.",
            false},
        {"aftertouch.standby",
            {"CREATE TABLE aftertouch.standby (pipeline text, instance text, until timestamp with "
             "time zone NOT NULL, PRIMARY KEY (pipeline, instance)) WITH (fillfactor = 50)"},
            "Which instances stand by for the one that holds a pipeline's lease, and take parts "
            "of what\nits lanes are dealt.",
            false},
        {"aftertouch.own_change",
            {"CREATE TABLE aftertouch.own_change (xid xid8 NOT NULL, pipeline text NOT NULL)",
                "CREATE INDEX own_change_xid ON aftertouch.own_change (xid)",
                "ALTER TABLE aftertouch.own_change REPLICA IDENTITY FULL"},
            "Which transactions were a pipeline's own, for pipelines that leave out what they "
            "change."},
    };
    return tables;
}

/// A new name that no other log or installation has.
inline constexpr std::string_view random_name =
    "substr(replace(pg_catalog.gen_random_uuid()::text, '-', ''), 1, 16)";

} // namespace aftertouch::postgres
