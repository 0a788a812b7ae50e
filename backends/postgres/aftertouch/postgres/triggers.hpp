// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/trigger_bodies.hpp>

/// \file
/// The triggers and functions of a capture, as DDL. No client library is called.

namespace aftertouch::postgres {

/// A function that must exist, and the trigger that calls it.
struct TriggerObject {
    std::string moment;   ///< insert, update, delete, truncate
    std::string trigger;  ///< its name
    std::string function; ///< its name in the schema aftertouch
    std::string body;
    std::string settings; ///< as the catalog writes them, in lower case
    std::string settings_sql;
    std::int64_t kind = 0; ///< pg_trigger.tgtype
    bool always = false;   ///< fires for replicas too
    std::string old_rows;
    std::string new_rows;

    [[nodiscard]] std::string function_sql() const {
        std::string quote = "$aftertouch$";
        while (body.find(quote) != std::string::npos) { quote.insert(1, "a"); }
        return "CREATE OR REPLACE FUNCTION aftertouch." + function +
               "() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER" + settings_sql + " AS " +
               quote + body + quote;
    }
    [[nodiscard]] std::string revoke_sql() const {
        return "REVOKE ALL ON FUNCTION aftertouch." + function + "() FROM PUBLIC";
    }
    [[nodiscard]] std::string trigger_sql(const std::string& table) const {
        std::string text =
            "CREATE OR REPLACE TRIGGER " + quoted(trigger) + " AFTER " + moment + " ON " + table;
        if (!old_rows.empty() || !new_rows.empty()) { text += " REFERENCING"; }
        if (!old_rows.empty()) { text += " OLD TABLE AS " + old_rows; }
        if (!new_rows.empty()) { text += " NEW TABLE AS " + new_rows; }
        text += (kind & 1) != 0 ? " FOR EACH ROW" : " FOR EACH STATEMENT";
        return text + " EXECUTE FUNCTION aftertouch." + function + "()";
    }
    [[nodiscard]] std::string enable_sql(const std::string& table) const {
        return "ALTER TABLE " + table + " ENABLE ALWAYS TRIGGER " + quoted(trigger);
    }
    /// Whether it is the same, but for when it fires.
    [[nodiscard]] bool is(const TriggerFacts& facts) const {
        return facts.name == trigger && facts.function == "aftertouch." + function &&
               facts.kind == kind && facts.old_rows == old_rows && facts.new_rows == new_rows &&
               facts.plain;
    }
    [[nodiscard]] bool is(const FunctionFacts& facts) const {
        return facts.body == body && facts.settings == settings && facts.definer && !facts.open;
    }
};

/// Triggers run in the order of their names: this one stands before letters and digits.
[[nodiscard]] inline std::string trigger_name(std::int64_t capture, std::string_view moment) {
    return "!aftertouch_" + std::to_string(capture) + '_' + std::string{moment};
}
[[nodiscard]] inline std::string function_name(std::int64_t capture, std::string_view moment) {
    return "capture_" + std::to_string(capture) + '_' + std::string{moment};
}
inline constexpr std::string_view trigger_moments[] = {"insert", "update", "delete", "truncate"};

/// Writes the triggers of one capture on one table.
class TriggerWriter {
public:
    TriggerWriter(std::int64_t id, const Capture& capture, const TableFacts& facts)
        : id_{id},
          capture_{capture},
          rows_{facts.partitioned() || capture.always || capture.per_row},
          bodies_{id, capture} {
        choose_settings(facts);
    }

    /// What must exist.
    [[nodiscard]] std::vector<TriggerObject> objects() const {
        std::vector<TriggerObject> all;
        const Operations which = capture_.operations;
        if (which.contains(Operation::inserted)) {
            all.push_back(
                object("insert", 4, {}, new_rows, rows_ ? bodies_.insert_row() : bodies_.insert()));
        }
        if (which.contains(Operation::updated)) {
            all.push_back(object(
                "update", 16, old_rows, new_rows, rows_ ? bodies_.update_row() : bodies_.update()));
        }
        if (which.contains(Operation::deleted)) {
            all.push_back(
                object("delete", 8, old_rows, {}, rows_ ? bodies_.remove_row() : bodies_.remove()));
            TriggerObject truncate = object("truncate", 32, {}, {}, bodies_.truncate());
            truncate.kind = 32;
            all.push_back(std::move(truncate));
        }
        return all;
    }

private:
    [[nodiscard]] TriggerObject object(std::string_view moment, std::int64_t kind,
        std::string_view old, std::string_view fresh, std::string body) const {
        TriggerObject made;
        made.moment = moment;
        made.trigger = trigger_name(id_, moment);
        made.function = function_name(id_, moment);
        made.body = "\n" + std::move(body);
        made.settings = settings_;
        made.settings_sql = settings_sql_;
        made.kind = kind + (rows_ ? 1 : 0);
        made.always = capture_.always;
        if (!rows_) {
            made.old_rows = old;
            made.new_rows = fresh;
        }
        return made;
    }

    // A SET costs every statement of a writer: only for what the captured columns' text depends
    // on, and for bodies with expressions over many columns.
    void choose_settings(const TableFacts& facts) {
        bool needed = false;
        const auto look = [&](std::size_t column) {
            const ColumnFacts& found = *facts.column(capture_.table.columns[column].name);
            needed = needed || !renders_alike(found.type_number);
        };
        for (const std::size_t part : capture_.table.key) { look(part); }
        for (const std::size_t column : capture_.imaged) { look(column); }
        if (capture_.images) { add("search_path", "pg_catalog, pg_temp", false); }
        for (const Setting& setting : settings) {
            if (needed) { add(setting.name, setting.value, true); }
        }
    }

    void add(std::string_view name, std::string_view value, bool literal) {
        settings_sql_ += " SET " + std::string{name} + " = ";
        settings_sql_ += literal ? quoted_text(value) : std::string{value};
        settings_ += settings_.empty() ? "" : "\n";
        settings_ += std::string{name} + '=';
        for (const char c : value) { settings_ += aftertouch::detail::to_lower(c); }
    }

    // Types whose text is the same in every session: boolean, integers, text, numeric, uuid, json.
    [[nodiscard]] static constexpr bool renders_alike(std::uint32_t type) noexcept {
        for (const std::uint32_t alike :
            {16U, 20U, 21U, 23U, 25U, 26U, 1042U, 1043U, 1700U, 2950U, 18U, 19U, 114U, 3802U}) {
            if (type == alike) { return true; }
        }
        return false;
    }

    std::int64_t id_;
    const Capture& capture_;
    // Row by row: statement triggers don't see what is written into a partition, or by a
    // replication's worker.
    bool rows_;
    TriggerBodies bodies_;
    std::string settings_;
    std::string settings_sql_;
};

} // namespace aftertouch::postgres
