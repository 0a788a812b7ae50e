// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <aftertouch/capture.hpp>
#include <aftertouch/identifier.hpp>

/// \file
/// The bodies of a capture's trigger functions. No client library is called.

namespace aftertouch::postgres {

inline constexpr std::string_view old_rows = "aftertouch_old";
inline constexpr std::string_view new_rows = "aftertouch_new";

/// Writes the bodies.
///
/// They run as their owner, on behalf of anybody: every name in them is qualified, operators too;
/// values become text by pg_catalog.concat, never by a cast or an assignment, which could call the
/// table owner's code; and what is compared is compared as it is stored, by `*=`. A source column
/// wins over a variable of the same name.
class TriggerBodies {
public:
    TriggerBodies(std::int64_t id, const Capture& capture)
        : id_{std::to_string(id)},
          marked_id_{capture.low_priority ? marked(id) : id_},
          capture_{capture} {}

    [[nodiscard]] std::string insert() const { return statement('I', new_rows); }
    [[nodiscard]] std::string remove() const { return statement('D', old_rows); }
    [[nodiscard]] std::string truncate() const {
        return "BEGIN\n  INSERT INTO aftertouch.log (capture, op) VALUES (" + id_ +
               ", 'X');\n  RETURN NULL;\nEND\n";
    }
    /// Rows before and after are paired by their place: a key may have changed.
    [[nodiscard]] std::string update() const {
        if (capture_.images) { return plain(paired()); }
        const std::string same = "(SELECT ROW(pg_catalog.array_agg(" + key_value() +
                                 ")) FROM (SELECT " + key_columns() + " FROM ";
        return std::string{head} + "DECLARE\n  written bigint;\nBEGIN\n  IF " + same +
               std::string{old_rows} + ") AS r) OPERATOR(pg_catalog.*=) " + same +
               std::string{new_rows} + ") AS r) THEN\n" + touches('U', new_rows) + "  ELSE\n" +
               paired() + "  END IF;\n  RETURN NULL;\nEND\n";
    }

    /// \name For each row
    /// @{
    [[nodiscard]] std::string insert_row() const { return plain(one('I', {}, "NEW")); }
    [[nodiscard]] std::string remove_row() const { return plain(one('D', "OLD", {})); }
    [[nodiscard]] std::string update_row() const {
        return plain("  IF " + compared("OLD", "=", "NEW") + " THEN\n" + one('U', "OLD", "NEW") +
                     "  ELSE\n" + one('D', "OLD", {}) + one('I', {}, "NEW") + "  END IF;\n");
    }
    /// @}

private:
    static constexpr const char* head = "#variable_conflict use_column\n";

    [[nodiscard]] std::string plain(const std::string& statements) const {
        return std::string{head} + "BEGIN\n" + statements + "  RETURN NULL;\nEND\n";
    }
    [[nodiscard]] std::string statement(char operation, std::string_view rows) const {
        if (capture_.images) { return plain(imaged(operation, rows)); }
        return std::string{head} + "DECLARE\n  written bigint;\nBEGIN\n" +
               touches(operation, rows) + "  RETURN NULL;\nEND\n";
    }

    [[nodiscard]] const std::string& column(std::size_t index) const {
        return capture_.table.columns[index].name;
    }
    // `r."a", r."b"`
    template <class Indexes>
    [[nodiscard]] std::string list(const Indexes& indexes, std::string_view row) const {
        std::string text;
        for (const std::size_t index : indexes) {
            text += text.empty() ? "" : ", ";
            if (!row.empty()) { text += std::string{row} + '.'; }
            text += quoted(column(index));
        }
        return text;
    }
    [[nodiscard]] std::string key_columns() const { return list(capture_.table.key, ""); }
    [[nodiscard]] std::string key_row(std::string_view row) const {
        return "ROW(" + list(capture_.table.key, row) + ")";
    }
    // Two keys as they are stored; as sub-selects, since two ROWs would be compared part by part.
    [[nodiscard]] std::string compared(
        std::string_view a, std::string_view how, std::string_view b) const {
        return "(SELECT " + key_row(a) + ") OPERATOR(pg_catalog.*" + std::string{how} +
               ") (SELECT " + key_row(b) + ")";
    }
    // The key as one value: itself, or a row of its parts.
    [[nodiscard]] std::string key_value(std::string_view row = {}) const {
        return capture_.table.key.size() == 1 ? list(capture_.table.key, row) : key_row(row);
    }
    [[nodiscard]] std::string key_text(std::string_view row) const {
        return "pg_catalog.concat(" + key_value(row) + ")";
    }
    // `(old)(new)`, or one of them.
    [[nodiscard]] std::string image(std::string_view before, std::string_view after) const {
        std::string rows;
        for (const std::string_view row : {before, after}) {
            if (row.empty()) { continue; }
            rows += (rows.empty() ? "ROW(" : ", ROW(") + list(capture_.imaged, row) + ")";
        }
        return "pg_catalog.concat(" + rows + ")";
    }
    [[nodiscard]] std::string insert_into(std::string_view columns) const {
        return "    INSERT INTO aftertouch.log (capture, op, " + std::string{columns} +
               (capture_.images ? ", image)\n" : ")\n");
    }
    [[nodiscard]] std::string start(char operation) const {
        return marked_id_ + ", '" + operation + "', ";
    }

    // The first eight as rows of their own, the rest as pods of 500 keys: cheap for one row and
    // for a million.
    [[nodiscard]] std::string touches(char operation, std::string_view rows) const {
        const std::string from{rows};
        return insert_into("key") + "      SELECT " + start(operation) + key_text("r") + " FROM " +
               from + " AS r LIMIT 8;\n    GET DIAGNOSTICS written = ROW_COUNT;\n" +
               "    IF written OPERATOR(pg_catalog.=) 8 THEN\n  " + insert_into("keys, key") +
               "        SELECT " + start(operation) +
               "LEAST(500, pg_catalog.cardinality(a) OPERATOR(pg_catalog.-) i "
               "OPERATOR(pg_catalog.+) 1),\n            pg_catalog.concat(a[i:i "
               "OPERATOR(pg_catalog.+) 499])\n          FROM (SELECT pg_catalog.array_agg(" +
               key_value() + ") AS a FROM (SELECT " + key_columns() + " FROM " + from +
               " OFFSET 8) AS rest) AS pod,\n            pg_catalog.generate_series(1, "
               "pg_catalog.cardinality(a), 500) AS i;\n    END IF;\n";
    }

    [[nodiscard]] std::string imaged(char operation, std::string_view rows) const {
        return insert_into("key") + "      SELECT " + start(operation) + key_text("r") + ", " +
               image("r", {}) + " FROM " + std::string{rows} + " AS r;\n";
    }

    // One statement for what may have a changed key: deleted under the old, inserted under the new.
    [[nodiscard]] std::string paired() const {
        const std::string same = compared("o", "=", "n");
        const std::string other = compared("o", "<>", "n");
        const auto part = [&](char number, char operation, std::string_view before,
                              std::string_view after, const std::string& when) {
            return "SELECT " + std::string{number} + ", '" + operation +
                   "'::pg_catalog.\"char\", " + key_text(after.empty() ? before : after) +
                   (capture_.images ? ", " + image(before, after) : "") + " WHERE " + when;
        };
        return insert_into("key") + "      SELECT " + marked_id_ + ", e.op, e.key" +
               (capture_.images ? ", e.image" : "") + "\n        FROM " + placed(old_rows) +
               " AS o\n        JOIN " + placed(new_rows) +
               " AS n ON n.aftertouch_place OPERATOR(pg_catalog.=) o.aftertouch_place\n        "
               "CROSS JOIN LATERAL (\n          " +
               part('1', 'U', "o", "n", same) + "\n          UNION ALL " +
               part('1', 'D', "o", "", other) + "\n          UNION ALL " +
               part('2', 'I', "", "n", other) + ") AS e(part, op, key" +
               (capture_.images ? ", image" : "") +
               ")\n        ORDER BY o.aftertouch_place, e.part;\n";
    }

    [[nodiscard]] std::string placed(std::string_view rows) const {
        const std::string columns =
            capture_.images ? list(capture_.imaged, "r") : list(capture_.table.key, "r");
        return "(SELECT " + columns +
               ", pg_catalog.row_number() OVER () AS aftertouch_place FROM " + std::string{rows} +
               " AS r)";
    }

    // Row by row.
    [[nodiscard]] std::string one(
        char operation, std::string_view before, std::string_view after) const {
        return insert_into("key") + "      VALUES (" + start(operation) +
               key_text(after.empty() ? before : after) +
               (capture_.images ? ", " + image(before, after) : "") + ");\n";
    }

    // The transaction may have said that what it does is of low priority.
    [[nodiscard]] static std::string marked(std::int64_t id) {
        return "CASE WHEN pg_catalog.current_setting('aftertouch.priority', true) "
               "OPERATOR(pg_catalog.=) 'low' THEN " +
               std::to_string(low_capture(id)) + " ELSE " + std::to_string(id) + " END";
    }

    std::string id_;
    std::string marked_id_;
    const Capture& capture_;
};

} // namespace aftertouch::postgres
