// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/guards.hpp>
#include <aftertouch/sqlite/own_tables.hpp>

/// \file
/// The triggers of a capture, as DDL. No client library is called.

namespace aftertouch::sqlite {

/// What the triggers of a capture are named by, behind its own name. None ends in another one with
/// an underscore before it: two captures never have a trigger's name in common.
inline constexpr std::string_view trigger_moments[] = {
    "insert_guard", "update_guard", "rowid_guard", "insert", "update", "rekey", "delete", "low"};

/// Whether a trigger tells changes; the other one says how soon they are wanted.
[[nodiscard]] constexpr bool tells_changes(std::string_view moment) noexcept {
    return moment != "low";
}

[[nodiscard]] inline std::string trigger_name(const Capture& capture, std::string_view moment) {
    return "aftertouch_" + capture.name + '_' + std::string{moment};
}

/// Whether a trigger is one of this capture's.
[[nodiscard]] inline bool is_trigger_of(const Capture& capture, std::string_view name) {
    return std::any_of(
        std::begin(trigger_moments), std::end(trigger_moments), [&](std::string_view moment) {
            return detail::same_name(name, trigger_name(capture, moment));
        });
}

/// What other triggers of the table do to the order in which a capture's run.
struct Overtaken {
    std::string by;    ///< a trigger of another program that is newer; empty if there is none
    bool lost = false; ///< whether it may have ended statements before the capture's ran
};

/// SQLite runs the newest AFTER trigger first: one that is newer than the capture's may end the
/// statement for its row before they have run (RAISE(IGNORE)), or change the row once more.
[[nodiscard]] inline Overtaken overtaken_by(const Capture& capture, const TableFacts& facts) {
    std::optional<std::int64_t> our_oldest;
    for (const TriggerFacts& trigger : facts.triggers) {
        if (trigger.runs_after() && is_trigger_of(capture, trigger.name)) {
            our_oldest = std::min(our_oldest.value_or(trigger.age), trigger.age);
        }
    }
    Overtaken overtaken;
    for (const TriggerFacts& trigger : facts.triggers) {
        if (!our_oldest || trigger.age < *our_oldest || !trigger.runs_after() ||
            detail::mentions(trigger.sql, "aftertouch_log")) {
            continue;
        }
        overtaken.by = trigger.name;
        overtaken.lost = overtaken.lost || detail::mentions(trigger.sql, "RAISE");
    }
    return overtaken;
}

/// Writes the triggers of one capture on one table.
class TriggerWriter {
public:
    TriggerWriter(std::int64_t id, const Capture& capture, const TableFacts& facts)
        : id_{id}, capture_{capture}, facts_{facts}, guards_{id, capture, facts} {}

    /// The triggers that must exist.
    [[nodiscard]] std::vector<SchemaObject> triggers() const {
        std::vector<SchemaObject> all;
        const Operations which = capture_.operations;
        if (which.contains(Operation::deleted)) { add_guards(all); }
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
        if (capture_.low_priority) { all.push_back(low_priority()); }
        return all;
    }

    /// The table that its guards need; nothing for most captures.
    [[nodiscard]] std::optional<SchemaObject> row_table() const {
        return capture_.operations.contains(Operation::deleted) ? guards_.row_table()
                                                                : std::nullopt;
    }

private:
    void add_guards(std::vector<SchemaObject>& all) const {
        if (const std::string body = guards_.insert(); !body.empty()) {
            all.push_back(trigger("insert_guard", "BEFORE INSERT", guards_.insert_when(), body));
        }
        if (const std::string body = guards_.update(); !body.empty()) {
            all.push_back(
                trigger("update_guard", "BEFORE UPDATE" + of(guards_.update_columns()), "", body));
        }
        if (const std::string body = guards_.renumber(); !body.empty()) {
            all.push_back(trigger("rowid_guard", "BEFORE UPDATE", guards_.renumbered(), body));
        }
    }

    // ` OF "a", "b"`: a trigger that isn't concerned costs nothing then. Not for keys: a BEFORE
    // trigger of theirs may change one that the statement doesn't name.
    [[nodiscard]] static std::string of(const std::vector<std::string>& columns) {
        std::string text;
        for (const std::string& column : columns) {
            text += (text.empty() ? " OF " : ", ") + quoted(column);
        }
        return text;
    }
    [[nodiscard]] SchemaObject trigger(std::string_view moment, std::string_view when,
        const std::string& condition, const std::string& body) const {
        SchemaObject object{"trigger", trigger_name(capture_, moment), {}, {}};
        object.sql = "CREATE TRIGGER " + quoted(object.name) + ' ' + std::string{when} + " ON " +
                     quoted(facts_.name) + (condition.empty() ? "" : "\nWHEN " + condition) +
                     "\nBEGIN\n" + body + "END";
        object.comment = comment(moment);
        return object;
    }

    // What was written since moves to the end of the log: never to a place that a pipeline may have
    // passed, whatever `since` says. A row that somebody has left there counts for nothing beside a
    // newer one.
    [[nodiscard]] SchemaObject low_priority() const {
        SchemaObject object{"trigger", trigger_name(capture_, "low"), {}, {}};
        const std::string log = "\"aftertouch_log\"";
        const std::string kept =
            "operation, at, origin, " + dialect::key_columns(capture_.table.key.size());
        const std::string since = " WHERE seq > max(OLD.since, coalesce((SELECT max(since) FROM " +
                                  quoted(low_priority_table().name) +
                                  "), 0)) AND capture = " + std::to_string(id_);
        object.sql = "CREATE TRIGGER " + quoted(object.name) + " AFTER DELETE ON " +
                     quoted(low_priority_table().name) + "\nBEGIN\n  INSERT INTO " + log +
                     " (capture, " + kept + ") SELECT " + std::to_string(low_capture(id_)) + ", " +
                     kept + " FROM " + log + since + " ORDER BY seq;\n  DELETE FROM " + log +
                     since + ";\nEND";
        object.comment = "Gives changes that were marked as of low priority their own place in the "
                         "log.\nWrites aftertouch_log. Undo: DROP TRIGGER.";
        return object;
    }

    [[nodiscard]] std::string comment(std::string_view moment) const {
        if (moment.ends_with("_guard")) {
            return "Touches the rows that REPLACE may remove, for which no trigger runs. Costs a "
                   "look-up in each\n"
                   "unique index. Writes aftertouch_log. Undo: DROP TRIGGER.";
        }
        std::string text =
            moment == "rekey"
                ? "An update that changes the key: deleted under the old, inserted under the new."
                : "Captures every " + std::string{moment} + '.';
        text += "\nWrites aftertouch_log";
        for (std::size_t part = 0; part < image_tables(); ++part) {
            text += " and " + dialect::image_table(id_, part);
        }
        return text + ". Undo: DROP TRIGGER.";
    }

    [[nodiscard]] std::size_t image_tables() const {
        return capture_.images ? dialect::image_parts(capture_.imaged.size()) : 0;
    }

    // One log row, and its image if the capture has images; `before` and `after` name the row, or
    // nothing.
    [[nodiscard]] std::string append(
        char operation, std::string_view before, std::string_view after) const {
        const std::string_view row = after.empty() ? before : after;
        std::string text = "  INSERT INTO \"aftertouch_log\" (capture, operation, at, " +
                           dialect::key_columns(capture_.table.key.size()) + ") VALUES (" +
                           std::to_string(id_) + ", '" + operation + "', " +
                           std::string{dialect::now} + ", " + key_of(row) + ");\n";
        for (std::size_t part = 0; part < image_tables(); ++part) {
            text += append_image(part, before, after);
        }
        return text;
    }

    // OR REPLACE: a log that was made anew below old images must not make a writer fail.
    [[nodiscard]] std::string append_image(
        std::size_t part, std::string_view before, std::string_view after) const {
        const std::size_t begin = part * dialect::image_columns;
        const std::size_t width = std::min(capture_.imaged.size() - begin, dialect::image_columns);
        std::string columns = "seq";
        // The number of the log row just written; an image's own insertion has the same one.
        std::string values = "last_insert_rowid()";
        const auto side = [&](std::string_view row, std::string_view prefix) {
            if (row.empty()) { return; }
            columns += ", " + dialect::key_columns(width, prefix);
            for (std::size_t i = begin; i < begin + width; ++i) {
                values += ", " + member(row, capture_.imaged[i]);
            }
        };
        side(before, "b");
        side(after, "a");
        return "  INSERT OR REPLACE INTO " + quoted(dialect::image_table(id_, part)) + " (" +
               columns + ") VALUES (" + values + ");\n";
    }

    [[nodiscard]] std::string member(std::string_view row, std::size_t column) const {
        return std::string{row} + '.' + quoted(capture_.table.columns[column].name);
    }

    [[nodiscard]] std::string key_of(std::string_view row) const {
        std::string text;
        for (const std::size_t part : capture_.table.key) {
            text += (text.empty() ? "" : ", ") + member(row, part);
        }
        return text;
    }

    [[nodiscard]] std::string same_key() const {
        std::string text;
        for (const std::size_t part : capture_.table.key) {
            text +=
                (text.empty() ? "" : " AND ") + member("OLD", part) + " IS " + member("NEW", part);
        }
        return text;
    }

    std::int64_t id_;
    const Capture& capture_;
    const TableFacts& facts_;
    GuardWriter guards_;
};

} // namespace aftertouch::sqlite
