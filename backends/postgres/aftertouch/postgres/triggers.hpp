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
#include <aftertouch/operation.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/trigger_bodies.hpp>
#include <aftertouch/script.hpp>

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
               facts.plain && !facts.of_constraint;
    }
    [[nodiscard]] bool is(const FunctionFacts& facts) const {
        return facts.body == body && facts.settings == settings && facts.definer && !facts.open;
    }
};

namespace detail {

[[nodiscard]] inline const TriggerFacts* trigger_of(
    const TriggerObject& object, const std::vector<TriggerFacts>& triggers) {
    const auto there = std::find_if(triggers.begin(), triggers.end(),
        [&](const TriggerFacts& facts) { return facts.name == object.trigger; });
    return there == triggers.end() ? nullptr : &*there;
}

inline constexpr std::string_view too_much = " fires for replicas too";

// What is wrong with it among the triggers of a table; empty where nothing is.
[[nodiscard]] inline std::string_view fault_of(
    const TriggerObject& object, const std::vector<TriggerFacts>& triggers) {
    const TriggerFacts* const there = trigger_of(object, triggers);
    if (there == nullptr) { return " is missing"; }
    if (!object.is(*there)) { return " isn't as it should be"; }
    if (there->enabled == (object.always ? 'A' : 'O')) { return {}; }
    if (there->enabled == 'A') { return too_much; }
    return there->enabled == 'O' ? " doesn't fire for replicas" : " is switched off";
}

// Replacing also switches it on, and wants no right but TRIGGER: ALTER TABLE is the owner's.
inline void put_up(Script& script, const TriggerObject& object, const std::string& table,
    const std::vector<TriggerFacts>& triggers) {
    const TriggerFacts* const there = trigger_of(object, triggers);
    if (there != nullptr && there->of_constraint) {
        script.add("A constraint trigger can't be replaced.",
            "DROP TRIGGER " + quoted(object.trigger) + " ON " + table);
    }
    script.add("Costs one call a " + std::string{(object.kind & 1) != 0 ? "row" : "statement"} +
                   ". Undo: DROP TRIGGER.",
        object.trigger_sql(table));
    if (object.always) {
        script.add("Also for what a replication's worker writes.", object.enable_sql(table));
    }
}

} // namespace detail

/// Triggers run in the order of their names: this one stands before letters and digits.
[[nodiscard]] inline std::string trigger_name(std::int64_t capture, std::string_view moment) {
    return "!aftertouch_" + std::to_string(capture) + '_' + std::string{moment};
}
[[nodiscard]] inline std::string function_name(std::int64_t capture, std::string_view moment) {
    return "capture_" + std::to_string(capture) + '_' + std::string{moment};
}
inline constexpr std::string_view trigger_moments[] = {"insert", "update", "delete", "truncate"};

/// A condition in SQL: all rows of a partition were written while it was one, and it was never
/// truncated. Where it is too large to look at, that isn't known.
[[nodiscard]] inline std::string has_missed_nothing(const std::string& partition) {
    const std::string number = quoted_text(partition) + "::regclass";
    return "EXISTS (SELECT 1 FROM pg_class AS c WHERE c.oid = " + number +
           " AND (c.relkind = 'p' OR (pg_relation_filenode(c.oid) = c.oid AND "
           "pg_relation_size(c.oid) < 8388608 AND NOT EXISTS (SELECT 1 FROM " +
           partition +
           " AS t WHERE age(t.xmin) >= (SELECT min(age(i.xmin)) FROM pg_inherits AS i WHERE "
           "i.inhrelid IN (SELECT pg_partition_ancestors(c.oid)))))))";
}

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
        std::string needed;
        const auto look = [&](std::size_t column) {
            const ColumnFacts& found = *facts.column(capture_.table.columns[column].name);
            needed += text_depends_on(found.type_number);
        };
        for (const std::size_t part : capture_.table.key) { look(part); }
        for (const std::size_t column : capture_.imaged) { look(column); }
        if (capture_.images) { add("search_path", "pg_catalog, pg_temp", false); }
        for (const Setting& setting : settings) {
            if (needed.find(setting.name) != std::string::npos ||
                needed.find('*') != std::string::npos) {
                add(setting.name, setting.value, true);
            }
        }
    }

    void add(std::string_view name, std::string_view value, bool literal) {
        settings_sql_ += " SET " + std::string{name} + " = ";
        settings_sql_ += literal ? quoted_text(value) : std::string{value};
        settings_ += settings_.empty() ? "" : "\n";
        settings_ += std::string{name} + '=';
        for (const char c : value) { settings_ += aftertouch::detail::to_lower(c); }
    }

    // The settings of a session that a type's text depends on; `*`: perhaps on all of them.
    [[nodiscard]] static constexpr std::string_view text_depends_on(std::uint32_t type) noexcept {
        // boolean, integers, text, numeric, uuid, json, time
        for (const std::uint32_t none : {16U, 20U, 21U, 23U, 25U, 26U, 1042U, 1043U, 1700U, 2950U,
                 18U, 19U, 114U, 3802U, 1083U}) {
            if (type == none) { return {}; }
        }
        switch (type) {
            case 1082:
            case 1114: return "datestyle ";          // date, timestamp
            case 1184: return "datestyle timezone "; // timestamp with time zone
            case 1186: return "intervalstyle ";
            case 17: return "bytea_output ";
            case 700:
            case 701: return "extra_float_digits ";
            case 790: return "lc_monetary ";
            default: return "* ";
        }
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
