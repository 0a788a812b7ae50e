// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/script.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/own_tables.hpp>
#include <aftertouch/sqlite/plan.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/sqlite/triggers.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Installs, verifies and removes a capture, each in one transaction.

namespace aftertouch::sqlite {

/// Installs, verifies and removes one capture.
///
/// *Threads*: those of the connection.
class SchemaManager {
public:
    SchemaManager(Connection& connection, const Capture& capture)
        : connection_{&connection},
          capture_{&capture},
          schema_{dialect::schema_of(capture)},
          catalog_{connection, schema_} {}

    /// Compares; changes nothing. *Throws* `Error` (`schema_mismatch`, `capture_conflict`) for what
    /// no script can mend.
    [[nodiscard]] SchemaPlan plan() {
        return in_transaction("BEGIN", [&] { return planner().plan(); });
    }

    /// Does what `mode` says; answers whether anything was changed.
    ///
    /// *Throws* `Error`: `schema_mismatch` with every difference in words (`verify`), `busy` where
    /// the lock isn't to be had within the busy timeout, `capture_conflict` where another program
    /// declares this capture's name otherwise.
    bool bring_up(Schema mode) {
        if (mode == Schema::none) { return false; }
        const SchemaPlan found = plan();
        if (found.script.empty()) { return false; }
        if (mode == Schema::verify) {
            aftertouch::detail::refuse_differences(
                connection_->handle().name(), *capture_, found.differences);
        }
        in_transaction("BEGIN IMMEDIATE", [&] {
            // Another program may have been faster.
            run(planner().plan().script);
            return true;
        });
        return true;
    }

    /// What takes off the capture's triggers, images, log rows and checkpoints, and with the last
    /// capture the log itself. Nothing else.
    [[nodiscard]] Script removal() {
        return in_transaction("BEGIN", [&] { return plan_removal(); });
    }

    void remove() {
        in_transaction("BEGIN IMMEDIATE", [&] {
            run(plan_removal());
            return true;
        });
    }

    /// The capture of this name in this database, if it is installed.
    [[nodiscard]] std::optional<InstalledCapture> find() { return planner().find(); }

    /// The name of the capture whose log, as a checkpoint names it, this is; empty where none of
    /// them is installed here.
    [[nodiscard]] std::string capture_of(std::string_view log) {
        std::string name;
        const std::vector<Value> values{Value{Cell::text(log)}};
        connection_->each(dialect::capture_of(schema_), values, [&](const Statement& row) {
            name = row[0].bytes();
            return false;
        });
        return name;
    }

    [[nodiscard]] Catalog& catalog() noexcept { return catalog_; }

private:
    [[nodiscard]] Planner planner() { return {*connection_, *capture_, catalog_}; }

    // A comparison joins a transaction that is open already.
    template <class Work>
    std::invoke_result_t<Work&> in_transaction(std::string_view begin, Work work) {
        if (connection_->handle().in_transaction()) {
            if (begin == "BEGIN") { return work(); }
            aftertouch::detail::refuse_inside_transaction(connection_->handle().name());
        }
        connection_->begin(begin);
        try {
            auto answer = work();
            connection_->run("COMMIT");
            return answer;
        } catch (...) {
            connection_->roll_back();
            throw;
        }
    }

    void run(const Script& script) {
        for (const ScriptStatement& statement : script.statements()) {
            connection_->run_all(statement.sql);
        }
    }

    [[nodiscard]] Script plan_removal() {
        Script script;
        Planner planner = this->planner();
        for (const std::string_view moment : trigger_moments) {
            const std::string name = trigger_name(*capture_, moment);
            if (catalog_.object("trigger", name)) {
                script.add("Captures no more.", "DROP TRIGGER " + planner.in_schema(name));
            }
        }
        const std::optional<InstalledCapture> installed = planner.find();
        if (!installed) { return script; }
        const auto drop = [&](const char* comment, const std::string& table) {
            const bool there = planner.has_table(table);
            if (there) { script.add(comment, "DROP TABLE " + planner.in_schema(table)); }
            return there;
        };
        std::size_t part = 0;
        while (drop("Its images.", dialect::image_table(installed->id, part))) { ++part; }
        drop("Its guards' row.", dialect::row_table(installed->id));
        if (is_last(installed->id)) {
            for (const SchemaObject& object : shared_tables(1)) {
                drop("It was the last capture.", object.name);
            }
            drop("", low_priority_table().name);
        } else {
            add_removal_of_rows(script, planner, *installed);
        }
        return script;
    }

    // Triggers that were left behind still write the log: without it, writers would fail.
    [[nodiscard]] bool is_last(std::int64_t id) {
        const auto others = catalog_.number("SELECT count(*) FROM " + planner().own("capture") +
                                            " WHERE id <> " + std::to_string(id));
        if (others.value_or(0) != 0) { return false; }
        for (const TriggerFacts& trigger : catalog_.triggers()) {
            if (!is_trigger_of(*capture_, trigger.name) &&
                detail::mentions(trigger.sql, "aftertouch_log")) {
                return false;
            }
        }
        return true;
    }

    static void add_removal_of_rows(
        Script& script, Planner& planner, const InstalledCapture& installed) {
        const std::string id = std::to_string(installed.id);
        const std::string log = planner.own("log");
        const std::string of_capture = id + ", " + std::to_string(low_capture(installed.id));
        script.add(
            "Its changes, but for the row with the highest number, from which SQLite counts on.",
            "DELETE FROM " + log + " WHERE capture IN (" + of_capture +
                ") AND seq < (SELECT max(seq) FROM " + log + ")");
        script.add("That one, if it is of this capture, keeps its number alone.",
            "UPDATE " + log +
                " SET capture = NULL, k1 = NULL, k2 = NULL, k3 = NULL, k4 = NULL WHERE capture IN "
                "(" +
                of_capture + ')');
        const std::string of_its_pipelines =
            " WHERE substr(checkpoint, 5, instr(substr(checkpoint, 5), ' ') - 1) = (SELECT "
            "m.log_id || '.' || "
            "c.incarnation FROM " +
            planner.own("meta") + " AS m, " + planner.own("capture") + " AS c WHERE c.id = " + id +
            ')';
        for (const auto& [what, table] :
            {std::pair{"The dead letters", "dead_letter"}, {"The leases", "lease"}}) {
            if (!planner.has_table(std::string{"aftertouch_"} + table)) { continue; }
            script.add(std::string{what} + " of its pipelines.",
                "DELETE FROM " + planner.own(table) + " WHERE pipeline IN (SELECT pipeline FROM " +
                    planner.own("checkpoint") + of_its_pipelines + ')');
        }
        script.add("The checkpoints of its pipelines.",
            "DELETE FROM " + planner.own("checkpoint") + of_its_pipelines);
        script.add(
            "Its declaration.", "DELETE FROM " + planner.own("capture") + " WHERE id = " + id);
    }

    Connection* connection_;
    const Capture* capture_;
    std::string schema_;
    Catalog catalog_;
};

} // namespace aftertouch::sqlite
