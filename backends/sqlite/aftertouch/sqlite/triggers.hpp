// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>

/// \file
/// The DDL of the SQLite backend: its own tables, and the triggers of a capture. No client library is called.

namespace aftertouch::sqlite {

/// One table or trigger that must exist, with the text that makes it and what a DBA should know of it.
struct SchemaObject {
    std::string_view type;  ///< "table" or "trigger"
    std::string name;
    std::string sql;
    std::string comment;
};

/// The tables that every capture of a schema shares, in the order in which they are made.
[[nodiscard]] inline std::vector<SchemaObject> shared_tables(std::size_t key_parts) {
    return {
        {"table", "aftertouch_meta",
         "CREATE TABLE \"aftertouch_meta\" (log_id TEXT NOT NULL, layout INTEGER NOT NULL, pruned_through INTEGER NOT NULL)",
         "One row: which log this is, and how far it has been pruned. Undo: DROP TABLE, together with the other four."},
        {"table", "aftertouch_log",
         "CREATE TABLE \"aftertouch_log\" (seq INTEGER PRIMARY KEY AUTOINCREMENT, capture, operation, at, origin, " +
             dialect::key_columns(key_parts) + ")",
         "The change log: triggers append to it. Columns have no type, so that keys keep their storage class; there is no\n"
         "constraint, so that no writer can fail on it; AUTOINCREMENT, so that no number is given out twice."},
        {"table", "aftertouch_capture",
         "CREATE TABLE \"aftertouch_capture\" (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
         "definition TEXT NOT NULL, incarnation TEXT NOT NULL)",
         "What is captured, as the program that installed it declared it."},
        {"table", "aftertouch_checkpoint",
         "CREATE TABLE \"aftertouch_checkpoint\" (pipeline TEXT PRIMARY KEY NOT NULL, checkpoint TEXT NOT NULL, "
         "version INTEGER NOT NULL, attempts INTEGER NOT NULL, at REAL NOT NULL)",
         "How far each pipeline has come; written in the transaction of what its handler derives."},
    };
}

/// The tables that hold a capture's images: one for each 900 columns.
[[nodiscard]] inline std::vector<SchemaObject> image_tables(std::int64_t id, const Capture& capture) {
    std::vector<SchemaObject> tables;
    const std::size_t columns = capture.imaged.size();
    for (std::size_t part = 0; part < dialect::image_parts(columns); ++part) {
        const std::size_t width = std::min(columns - part * dialect::image_columns, dialect::image_columns);
        const std::string name = dialect::image_table(id, part);
        tables.push_back({"table", name,
                          "CREATE TABLE " + quoted(name) + " (seq INTEGER PRIMARY KEY, " +
                              dialect::key_columns(width, "b") + ", " + dialect::key_columns(width, "a") + ")",
                          "Images of " + capture.name + ": before (b) and after (a) of the log row with the same seq."});
    }
    return tables;
}

/// What the triggers of a capture are named by, behind its own name.
inline constexpr std::string_view trigger_moments[] = {"before_insert", "before_update", "insert",
                                                       "update",        "rekey",         "delete"};

[[nodiscard]] inline std::string trigger_name(const Capture& capture, std::string_view moment) {
    return "aftertouch_" + capture.name + '_' + std::string{moment};
}

/// Writes the triggers of one capture on one table.
class TriggerWriter {
public:
    TriggerWriter(std::int64_t id, const Capture& capture, const TableFacts& facts)
        : id_{id}, capture_{capture}, facts_{facts} {}

    /// The triggers that must exist. Guards against REPLACE stand first: SQLite runs the newest trigger first, and the
    /// order between BEFORE and AFTER triggers doesn't matter.
    [[nodiscard]] std::vector<SchemaObject> triggers() const {
        std::vector<SchemaObject> all;
        const Operations which = capture_.operations;
        const bool removals = which.contains(Operation::deleted);
        if (const std::string guards = replace_guards(false); removals && !guards.empty()) {
            all.push_back(trigger("before_insert", "BEFORE INSERT", "", guards));
        }
        if (const std::string guards = replace_guards(true); removals && !guards.empty()) {
            all.push_back(trigger("before_update", "BEFORE UPDATE", "", guards));
        }
        if (which.contains(Operation::inserted)) {
            all.push_back(trigger("insert", "AFTER INSERT", "", append('I', {}, "NEW")));
        }
        if (which.contains(Operation::updated)) {
            all.push_back(trigger("update", "AFTER UPDATE", same_key(), append('U', "OLD", "NEW")));
            all.push_back(trigger("rekey", "AFTER UPDATE", "NOT (" + same_key() + ")",
                                  append('D', "OLD", {}) + append('I', {}, "NEW")));
        }
        if (which.contains(Operation::deleted)) {
            all.push_back(trigger("delete", "AFTER DELETE", "", append('D', "OLD", {})));
        }
        return all;
    }

private:
    [[nodiscard]] SchemaObject trigger(std::string_view moment, std::string_view when, const std::string& condition,
                                       const std::string& body) const {
        SchemaObject object{"trigger", trigger_name(capture_, moment), {}, {}};
        object.sql = "CREATE TRIGGER " + quoted(object.name) + ' ' + std::string{when} + " ON " + quoted(facts_.name) +
                     (condition.empty() ? "" : "\nWHEN " + condition) + "\nBEGIN\n" + body + "END";
        object.comment = comment(moment);
        return object;
    }

    [[nodiscard]] std::string comment(std::string_view moment) const {
        std::string text = moment.starts_with("before")
                               ? "Touches the rows that REPLACE may remove: they fire no delete trigger. Costs an index look-up for\n"
                                 "each unique index."
                           : moment == "rekey" ? "An update that changes the key: deleted under the old, inserted under the new."
                                               : "Captures every " + std::string{moment} + '.';
        text += " Writes aftertouch_log";
        if (capture_.images) { text += " and " + dialect::image_table(id_, 0); }
        return text + ". Undo: DROP TRIGGER.";
    }

    // One log row, and its image if the capture has images; `before` and `after` name the row, or nothing.
    [[nodiscard]] std::string append(char operation, std::string_view before, std::string_view after) const {
        const std::string_view row = after.empty() ? before : after;
        std::string text = "  INSERT INTO \"aftertouch_log\" (capture, operation, at, " +
                           dialect::key_columns(capture_.table.key.size()) + ") VALUES (" + std::to_string(id_) + ", '" +
                           operation + "', " + std::string{dialect::now} + ", " + key_of(row) + ");\n";
        const std::size_t parts = capture_.images ? dialect::image_parts(capture_.imaged.size()) : 0;
        for (std::size_t part = 0; part < parts; ++part) { text += append_image(part, before, after); }
        return text;
    }

    // OR REPLACE: a log that was made anew below old images must not make a writer fail.
    [[nodiscard]] std::string append_image(std::size_t part, std::string_view before, std::string_view after) const {
        const std::size_t begin = part * dialect::image_columns;
        const std::size_t width = std::min(capture_.imaged.size() - begin, dialect::image_columns);
        std::string columns = "seq";
        // The number of the log row just written; an image's own insertion has the same one.
        std::string values = "last_insert_rowid()";
        const auto side = [&](std::string_view row, std::string_view prefix) {
            if (row.empty()) { return; }
            columns += ", " + dialect::key_columns(width, prefix);
            for (std::size_t i = begin; i < begin + width; ++i) { values += ", " + member(row, capture_.imaged[i]); }
        };
        side(before, "b");
        side(after, "a");
        return "  INSERT OR REPLACE INTO " + quoted(dialect::image_table(id_, part)) + " (" + columns + ") VALUES (" + values +
               ");\n";
    }

    [[nodiscard]] std::string member(std::string_view row, std::size_t column) const {
        return std::string{row} + '.' + quoted(capture_.table.columns[column].name);
    }

    [[nodiscard]] std::string key_of(std::string_view row) const {
        std::string text;
        for (const std::size_t part : capture_.table.key) { text += (text.empty() ? "" : ", ") + member(row, part); }
        return text;
    }

    [[nodiscard]] std::string same_key() const {
        std::string text;
        for (const std::size_t part : capture_.table.key) {
            text += (text.empty() ? "" : " AND ") + member("OLD", part) + " IS " + member("NEW", part);
        }
        return text;
    }

    // ------------------------------------------------------------------------------------------------- REPLACE

    // For every unique index: touch the row that stands in the way of NEW. One with the key of NEW is touched by the change
    // itself, and only an image needs it.
    [[nodiscard]] std::string replace_guards(bool update) const {
        std::string text;
        for (const UniqueIndex& index : facts_.unique) {
            if (capture_.images || !is_key(index)) { text += guard(index, update); }
        }
        if (!facts_.rowid_alias.empty() && (capture_.images || !is_key_column(facts_.rowid_alias))) {
            text += guard({"rowid", {{quoted(facts_.rowid_alias), "BINARY", facts_.rowid_alias}}, {}}, update);
        }
        return text;
    }

    // A touch, never a deletion: OR IGNORE and DO NOTHING leave the row where it is. With images it keeps the row as before.
    [[nodiscard]] std::string guard(const UniqueIndex& index, bool update) const {
        const std::string found = " FROM " + quoted(facts_.name) + "\n    WHERE " + in_the_way(index, update) + ";\n";
        std::string text = "  INSERT INTO \"aftertouch_log\" (capture, operation, at, " +
                           dialect::key_columns(capture_.table.key.size()) + ")\n    SELECT " + std::to_string(id_) +
                           ", 'T', " + std::string{dialect::now} + ", " + plain_key() + found;
        const std::size_t parts = capture_.images ? dialect::image_parts(capture_.imaged.size()) : 0;
        for (std::size_t part = 0; part < parts; ++part) {
            const std::size_t begin = part * dialect::image_columns;
            const std::size_t width = std::min(capture_.imaged.size() - begin, dialect::image_columns);
            text += "  INSERT OR REPLACE INTO " + quoted(dialect::image_table(id_, part)) + " (seq, " +
                    dialect::key_columns(width, "b") + ")\n    SELECT last_insert_rowid()";
            for (std::size_t i = begin; i < begin + width; ++i) {
                text += ", " + quoted(capture_.table.columns[capture_.imaged[i]].name);
            }
            text += found;
        }
        return text;
    }

    [[nodiscard]] std::string in_the_way(const UniqueIndex& index, bool update) const {
        std::string text;
        for (const UniqueIndex::Term& term : index.terms) {
            text += (text.empty() ? "(" : " AND (") + term.expression + ") COLLATE " + quoted(term.collation) + " = " + of_new(term);
        }
        if (!index.predicate.empty()) {
            text += " AND (" + index.predicate + ") AND (SELECT " + index.predicate + " FROM (" + new_row() + "))";
        }
        return update || !capture_.images ? text + " AND (" + another_row(update) + ')' : text;
    }

    // The term's value in the row to come. An expression is computed over a row that has NEW's values under its names.
    [[nodiscard]] std::string of_new(const UniqueIndex::Term& term) const {
        if (!term.column.empty()) { return "NEW." + term.expression; }
        return "(SELECT " + term.expression + " FROM (" + new_row() + "))";
    }

    [[nodiscard]] std::string new_row() const {
        std::string text;
        for (const ColumnFacts& column : facts_.columns) {
            const std::string name = quoted(column.name);
            text += (text.empty() ? "SELECT NEW." : ", NEW.") + name + " AS " + name;
        }
        return text;
    }

    [[nodiscard]] std::string plain_key() const {
        std::string text;
        for (const std::size_t part : capture_.table.key) {
            text += (text.empty() ? "" : ", ") + quoted(capture_.table.columns[part].name);
        }
        return text;
    }

    // The row itself is no row in its way. Before an insertion that leaves the number of the row to SQLite, NEW's is -1.
    [[nodiscard]] std::string another_row(bool update) const {
        std::string text;
        for (const std::size_t part : capture_.table.key) {
            const std::string name = quoted(capture_.table.columns[part].name);
            text += (text.empty() ? "" : " OR ") + name + " IS NOT " + (update ? "OLD." : "NEW.") + name;
        }
        if (!update && capture_.table.key.size() == 1 && is_key_column(facts_.rowid_alias)) {
            text += " OR NEW." + plain_key() + " = -1";
        }
        return text;
    }

    [[nodiscard]] bool is_key_column(std::string_view column) const {
        for (const std::size_t part : capture_.table.key) {
            if (detail::same_name(capture_.table.columns[part].name, column)) { return true; }
        }
        return false;
    }

    // Rows that this index finds have the key of the row itself.
    [[nodiscard]] bool is_key(const UniqueIndex& index) const {
        if (!index.predicate.empty() || index.terms.size() != capture_.table.key.size()) { return false; }
        for (const UniqueIndex::Term& term : index.terms) {
            const ColumnFacts* column = term.column.empty() ? nullptr : facts_.column(term.column);
            if (column == nullptr || !is_key_column(term.column) || column->collation != term.collation) { return false; }
        }
        return true;
    }

    std::int64_t id_;
    const Capture& capture_;
    const TableFacts& facts_;
};

}  // namespace aftertouch::sqlite
