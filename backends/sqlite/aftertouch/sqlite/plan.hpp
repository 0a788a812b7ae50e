// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/script.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/log_check.hpp>
#include <aftertouch/sqlite/own_tables.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/requirements.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/sqlite/triggers.hpp>

/// \file
/// Compares a database with what a capture needs, and says how to get there. Changes nothing.

namespace aftertouch::sqlite {

/// What a capture needs of a database, and how to get there.
struct SchemaPlan {
    Script script;                       ///< empty where the database agrees
    std::vector<Difference> differences; ///< the same in words
    TableFacts facts;
};

/// A capture as it is installed.
struct InstalledCapture {
    std::int64_t id = 0;
    std::string definition;
    std::string log;    ///< identity of the log and of this installation of the capture in it
    std::string log_id; ///< of the log alone
    std::int64_t pruned_through = 0;
};

/// Plans one capture. The answers hold as long as the transaction that they are asked in.
class Planner {
public:
    Planner(Connection& connection, const Capture& capture, Catalog& catalog)
        : connection_{connection},
          capture_{capture},
          schema_{dialect::schema_of(capture)},
          catalog_{catalog} {
        // Which file a table is in depends on who looks: it is no part of the declaration.
        Capture declared = capture;
        declared.table.name.schema.clear();
        definition_ = declared.definition();
    }

    /// *Throws* `Error` (`schema_mismatch`, `capture_conflict`) for what no script can mend.
    [[nodiscard]] SchemaPlan plan() {
        SchemaPlan plan;
        plan.facts = catalog_.table(capture_.table.name);
        require_capturable(capture_, plan.facts);
        plan_shared_tables(plan);
        const std::optional<InstalledCapture> installed = find();
        refuse_conflict(installed);
        const std::int64_t id = installed ? installed->id : next_id();
        plan_capture(plan, id, installed.has_value());
        plan_triggers(plan, id);
        const bool lost = std::any_of(plan.differences.begin(), plan.differences.end(),
            [](const Difference& difference) { return difference.lost; });
        if (installed && lost) {
            plan.script.add(
                "Changes may have gone unseen: every pipeline over this capture starts with a "
                "rebuild.",
                "UPDATE " + own("capture") +
                    " SET incarnation = lower(hex(randomblob(8))) WHERE id = " +
                    std::to_string(id));
        }
        return plan;
    }

    /// The capture of this name in this database, if it is installed.
    [[nodiscard]] std::optional<InstalledCapture> find() {
        std::optional<InstalledCapture> found;
        if (!has_table("aftertouch_capture") || !has_table("aftertouch_meta")) { return found; }
        const std::vector<Value> name{Value{Cell::text(capture_.name)}};
        connection_.each(dialect::find_capture(schema_), name, [&](const Statement& row) {
            found = InstalledCapture{row[0].as_integer(), std::string{row[1].bytes()},
                std::string{row[2].bytes()}, std::string{row[3].bytes()}, row[4].as_integer()};
            return false;
        });
        return found;
    }

    [[nodiscard]] std::string own(std::string_view table) const {
        return dialect::own(schema_, table);
    }
    [[nodiscard]] std::string in_schema(std::string_view object) const {
        return quoted(schema_) + '.' + quoted(object);
    }
    [[nodiscard]] bool has_table(std::string_view name) {
        return catalog_.object("table", name).has_value();
    }

private:
    static constexpr std::size_t usual_key_parts = 4;

    [[nodiscard]] std::int64_t next_id() {
        if (!has_table("aftertouch_capture")) { return 1; }
        return catalog_.number("SELECT coalesce(max(id), 0) + 1 FROM " + own("capture"))
            .value_or(1);
    }

    [[noreturn]] void refuse(const std::string& sentence) const {
        throw Error{
            Errc::capture_conflict, catalog_.database() + sentence, {.where = catalog_.database()}};
    }

    void refuse_conflict(const std::optional<InstalledCapture>& installed) {
        if (installed && installed->definition != definition_) {
            aftertouch::detail::refuse_conflict(
                catalog_.database(), capture_.name, installed->definition, definition_);
        }
        if (installed || !has_table("aftertouch_capture")) { return; }
        const std::vector<Value> name{Value{Cell::text(capture_.name)}};
        connection_.each("SELECT name FROM " + own("capture") + " WHERE name = $1 COLLATE NOCASE",
            name, [&](const Statement& row) -> bool {
                refuse(" has a capture " + std::string{row[0].bytes()} + ", and this program's " +
                       capture_.name +
                       " differs from it in case only, which SQLite's names don't tell apart: "
                       "name one of the two otherwise with named()");
            });
    }

    // The text of a CREATE statement, with the schema in front of the name: SQLite keeps it
    // without.
    [[nodiscard]] std::string qualified(const SchemaObject& object) const {
        const std::size_t name = object.sql.find('"');
        return object.sql.substr(0, name) + (schema_ == "main" ? "" : quoted(schema_) + '.') +
               object.sql.substr(name);
    }

    // ---------------------------------------------------------------------- what captures share

    void plan_shared_tables(SchemaPlan& plan) {
        for (const SchemaObject& object : shared_tables(usual_key_parts)) {
            add_if_missing(plan, object);
        }
        const bool log = has_table("aftertouch_log");
        std::size_t parts = usual_key_parts;
        if (log) { parts = require_sound_log(catalog_); }
        for (++parts; parts <= capture_.table.key.size(); ++parts) {
            const std::string column = 'k' + std::to_string(parts);
            plan.script.add("A place for one more part of a key.",
                "ALTER TABLE " + own("log") + " ADD COLUMN " + column);
            plan.differences.push_back(
                {"aftertouch_log has no column " + column, "install the capture"});
        }
        if (!has_table("aftertouch_meta")) {
            plan.script.add("A random name tells this log from any other.",
                "INSERT INTO " + own("meta") +
                    " (log_id, layout, pruned_through) VALUES (lower(hex(randomblob(8))), 1, 0)");
        } else if (!log || numbers_begun_again(catalog_)) {
            if (log) {
                plan.differences.push_back(
                    {"the numbers of aftertouch_log have begun again below those that were pruned",
                        "install the capture again", true});
            }
            plan.script.add("The log is a new one.",
                "UPDATE " + own("meta") +
                    " SET log_id = lower(hex(randomblob(8))), pruned_through = 0");
        }
    }

    void add_if_missing(SchemaPlan& plan, const SchemaObject& object) {
        if (has_table(object.name)) { return; }
        plan.script.add(object.comment, qualified(object));
        plan.differences.push_back(
            {object.name + " is missing", "install the capture", object.tells_changes});
    }

    // ------------------------------------------------------------------------------ one capture

    void plan_capture(SchemaPlan& plan, std::int64_t id, bool installed) {
        if (!installed) {
            plan.script.add("Declares capture " + capture_.name + '.',
                "INSERT INTO " + own("capture") + " (id, name, definition, incarnation) VALUES (" +
                    std::to_string(id) + ", " + quoted_text(capture_.name) + ", " +
                    quoted_text(definition_) + ", lower(hex(randomblob(8))))");
            plan.differences.push_back(
                {"capture " + capture_.name + " isn't installed", "install it"});
        }
        if (capture_.images) {
            for (const SchemaObject& object : image_tables(id, capture_)) {
                plan_table(plan, object);
                plan_leftover_images(plan, object.name);
            }
        }
        if (capture_.low_priority) { add_if_missing(plan, low_priority_table()); }
        const auto row_table = TriggerWriter{id, capture_, plan.facts}.row_table();
        if (row_table) {
            plan_table(plan, *row_table);
        } else if (has_table(dialect::row_table(id))) {
            plan.script.add(
                "No guard needs it any more.", "DROP TABLE " + in_schema(dialect::row_table(id)));
            plan.differences.push_back(
                {dialect::row_table(id) + " is needed no more", "install the capture again"});
        }
    }

    // A table of the capture alone; another form of it holds nothing that is of use.
    void plan_table(SchemaPlan& plan, const SchemaObject& object) {
        const std::optional<std::string> there = catalog_.object("table", object.name);
        if (there && *there != object.sql) {
            plan.script.add({}, "DROP TABLE " + in_schema(object.name));
            plan.script.add(object.comment, qualified(object));
            plan.differences.push_back(
                {object.name + " isn't as it should be", "install the capture again", true});
        } else {
            add_if_missing(plan, object);
        }
    }

    // Images of a log that is gone would stand in the way of new ones.
    void plan_leftover_images(SchemaPlan& plan, const std::string& images) {
        if (!has_table(images)) { return; }
        const std::string ahead = has_table("aftertouch_log")
                                      ? " WHERE seq > (" + dialect::high_water(schema_) + ')'
                                      : std::string{};
        const std::string any = "SELECT 1 FROM " + in_schema(images) + ahead + " LIMIT 1";
        if (!catalog_.number(any)) { return; }
        plan.script.add(
            "Images of changes that another log had.", "DELETE FROM " + in_schema(images) + ahead);
        plan.differences.push_back({images + " has images of changes that aren't in the log",
            "install the capture again", true});
    }

    void plan_triggers(SchemaPlan& plan, std::int64_t id) {
        const std::vector<SchemaObject> wanted = TriggerWriter{id, capture_, plan.facts}.triggers();
        const Overtaken overtaken = overtaken_by(capture_, plan.facts);
        for (const std::string_view moment : trigger_moments) {
            const std::string name = trigger_name(capture_, moment);
            const auto object = std::find_if(wanted.begin(), wanted.end(),
                [&](const SchemaObject& candidate) { return candidate.name == name; });
            const std::optional<std::string> there = catalog_.object("trigger", name);
            const bool needed = object != wanted.end();
            const bool as_wanted = needed && there == object->sql;
            const bool older = as_wanted && !overtaken.by.empty() && tells_changes(moment) &&
                               !moment.ends_with("_guard");
            if (needed ? as_wanted && !older : !there) { continue; }
            if (there) { plan.script.add({}, "DROP TRIGGER " + in_schema(name)); }
            if (needed) { plan.script.add(object->comment, qualified(*object)); }
            const std::string state =
                !there    ? " is missing"
                : !needed ? " is needed no more"
                : older   ? " is older than trigger " + overtaken.by + ", which runs before it"
                          : " isn't as it should be";
            plan.differences.push_back({"trigger " + name + state, "install the capture again",
                needed && tells_changes(moment) && (!older || overtaken.lost)});
        }
    }

    Connection& connection_;
    const Capture& capture_;
    std::string schema_;
    Catalog& catalog_;
    std::string definition_;
};

} // namespace aftertouch::sqlite
