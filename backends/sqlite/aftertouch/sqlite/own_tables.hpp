// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/sqlite/dialect.hpp>

/// \file
/// The tables that the SQLite backend makes for itself, as DDL. No client library is called.

namespace aftertouch::sqlite {

/// One table or trigger that must exist, with the text that makes it and what a DBA should know.
struct SchemaObject {
    std::string_view type; ///< "table" or "trigger"
    std::string name;
    std::string sql;
    std::string comment;
    bool tells_changes = true; ///< where it is missing, changes may have gone unseen
};

/// The tables that every capture of a schema shares, in the order in which they are made.
[[nodiscard]] inline std::vector<SchemaObject> shared_tables(std::size_t key_parts) {
    return {
        {"table", "aftertouch_meta",
            "CREATE TABLE \"aftertouch_meta\" (log_id TEXT NOT NULL, layout INTEGER NOT NULL, "
            "pruned_through INTEGER NOT NULL)",
            "One row: which log this is, and how far it has been pruned.\n"
            "Undo: DROP TABLE, together with the other five."},
        {"table", "aftertouch_log",
            "CREATE TABLE \"aftertouch_log\" (seq INTEGER PRIMARY KEY AUTOINCREMENT, capture, "
            "operation, at, origin, " +
                dialect::key_columns(key_parts) + ")",
            "The change log: triggers append to it. Columns have no type, so that keys keep their\n"
            "storage class; there is no constraint, so that no writer can fail on it; "
            "AUTOINCREMENT,\n"
            "so that no number is given out twice. Put no trigger and no index that is unique on "
            "it."},
        {"table", "aftertouch_capture",
            "CREATE TABLE \"aftertouch_capture\" (id INTEGER PRIMARY KEY, name TEXT NOT NULL "
            "UNIQUE, "
            "definition TEXT NOT NULL, incarnation TEXT NOT NULL)",
            "What is captured, as the program that installed it declared it."},
        {"table", "aftertouch_checkpoint",
            "CREATE TABLE \"aftertouch_checkpoint\" (pipeline TEXT PRIMARY KEY NOT NULL, "
            "checkpoint "
            "TEXT NOT NULL, version INTEGER NOT NULL, attempts INTEGER NOT NULL, at REAL NOT NULL)",
            "How far each pipeline has come; written in the transaction of what its handler "
            "derives."},
        {"table", "aftertouch_dead_letter",
            "CREATE TABLE \"aftertouch_dead_letter\" (id INTEGER PRIMARY KEY AUTOINCREMENT, "
            "pipeline TEXT NOT NULL, record TEXT NOT NULL, \"key\" TEXT NOT NULL, operation TEXT "
            "NOT NULL, change TEXT NOT NULL, error TEXT NOT NULL, attempts INTEGER NOT NULL, "
            "parked_at TEXT NOT NULL, released INTEGER NOT NULL DEFAULT 0)",
            "Changes that a pipeline has set aside since its handler failed on them. To have them\n"
            "handed over again: UPDATE ... SET released = 1 WHERE pipeline = ... AND record = "
            "...;\n"
            "to give them up: DELETE. With all letters of a record alike, its changes stay in "
            "order.",
            false},
        {"table", "aftertouch_lease",
            "CREATE TABLE \"aftertouch_lease\" (pipeline TEXT PRIMARY KEY NOT NULL, holder TEXT "
            "NOT "
            "NULL, until REAL NOT NULL)",
            "Which instance may run a pipeline, and until when, as julianday tells it, unless it\n"
            "renews. To let another one in: DELETE its row. Pipelines without a lease have none.",
            false},
    };
}

/// The table by which transactions mark what they change as of low priority, for captures that
/// heed it. Only one that is written now ever has a row.
[[nodiscard]] inline SchemaObject low_priority_table() {
    return {"table", "aftertouch_low_priority",
        "CREATE TABLE \"aftertouch_low_priority\" (since INTEGER NOT NULL)",
        "Marks what a transaction changes as of low priority, between\nINSERT INTO "
        "aftertouch_low_priority SELECT coalesce(max(seq), 0) FROM aftertouch_log and\nDELETE FROM "
        "aftertouch_low_priority. Undo: DROP TABLE, without captures that heed it.",
        false};
}

/// The tables that hold a capture's images: one for each 900 columns.
[[nodiscard]] inline std::vector<SchemaObject> image_tables(
    std::int64_t id, const Capture& capture) {
    std::vector<SchemaObject> tables;
    const std::size_t columns = capture.imaged.size();
    for (std::size_t part = 0; part < dialect::image_parts(columns); ++part) {
        const std::size_t width =
            std::min(columns - part * dialect::image_columns, dialect::image_columns);
        const std::string name = dialect::image_table(id, part);
        tables.push_back({"table", name,
            "CREATE TABLE " + quoted(name) + " (seq INTEGER PRIMARY KEY, " +
                dialect::key_columns(width, "b") + ", " + dialect::key_columns(width, "a") + ")",
            "Images of " + capture.name +
                ": before (b) and after (a) of the log row with the same seq."});
    }
    return tables;
}

} // namespace aftertouch::sqlite
