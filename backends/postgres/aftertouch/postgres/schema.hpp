// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <aftertouch/capture.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/own_tables.hpp>
#include <aftertouch/postgres/plan.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/requirements.hpp>
#include <aftertouch/postgres/triggers.hpp>
#include <aftertouch/script.hpp>

/// \file
/// Installs, verifies and removes a capture, each in one transaction.

namespace aftertouch::postgres {

/// Installs, verifies and removes one capture.
///
/// *Threads*: those of the connection.
class SchemaManager {
public:
    SchemaManager(Connection& connection, const Capture& capture)
        : connection_{&connection}, capture_{&capture} {}

    /// Compares; changes nothing. *Throws* `Error` (`schema_mismatch`, `capture_conflict`) for what
    /// no script can mend.
    [[nodiscard]] SchemaPlan plan() { return planner().plan(); }

    /// Does what `mode` says; answers whether anything was changed. Where the database agrees, it
    /// only reads catalogs.
    ///
    /// *Throws* `Error`: `schema_mismatch` with every difference in words (`verify`), `busy` where
    /// a lock isn't to be had within the lock timeout, `capture_conflict` where another program
    /// declares this capture's name otherwise.
    bool bring_up(Schema mode) {
        if (mode == Schema::none) { return false; }
        const SchemaPlan found = plan();
        require_readable(*capture_, found.facts);
        if (found.script.empty()) { return false; }
        if (mode == Schema::verify) {
            aftertouch::detail::refuse_differences(
                connection_->handle().name(), *capture_, found.differences);
        }
        try {
            install();
        } catch (const Error& error) {
            // Another program makes the same objects at the same time: when it is done, they are
            // there.
            if (!is_made_by_another(error)) { throw; }
            install();
        }
        return true;
    }

    /// What takes off the capture's triggers, functions, log rows and checkpoints, and with the
    /// last capture the log itself. Nothing else.
    [[nodiscard]] Script removal() { return plan_removal(); }

    void remove() {
        in_transaction([&] { run(plan_removal()); });
    }

    /// The capture of this name in this database, if it is installed.
    [[nodiscard]] std::optional<InstalledCapture> find() { return planner().find(); }

    /// The name of the capture whose log, as a checkpoint names it, this is; empty where none of
    /// them is installed here.
    [[nodiscard]] std::string capture_of(std::string_view log) {
        return planner()
            .catalog()
            .word("SELECT c.name FROM aftertouch.capture AS c, aftertouch.meta AS m, "
                  "pg_control_system() AS s WHERE m.log_id || '.' || to_hex(s.system_identifier) "
                  "|| '.' || c.incarnation = $1",
                log)
            .value_or("");
    }

    [[nodiscard]] Planner planner() { return {*connection_, *capture_}; }

private:
    template <class Work>
    void in_transaction(Work work) {
        if (!connection_->handle().idle()) {
            aftertouch::detail::refuse_inside_transaction(connection_->handle().name());
        }
        connection_->begin("BEGIN ISOLATION LEVEL READ COMMITTED");
        try {
            // One program at a time.
            if (planner().catalog().exists("aftertouch.capture")) {
                connection_->run("LOCK TABLE aftertouch.capture IN SHARE ROW EXCLUSIVE MODE");
            }
            work();
            connection_->run("COMMIT");
        } catch (...) {
            connection_->roll_back();
            throw;
        }
    }

    void install() {
        in_transaction([&] { run(planner().plan().script); });
    }

    [[nodiscard]] static bool is_made_by_another(const Error& error) noexcept {
        for (const std::string_view state : {"23505", "42P06", "42P07", "42710", "XX000"}) {
            if (error.native_code() == detail::packed(state)) { return true; }
        }
        return false;
    }

    void run(const Script& script) {
        for (const ScriptStatement& statement : script.statements()) {
            connection_->run_all(statement.sql);
        }
    }

    [[nodiscard]] Script plan_removal() {
        Script script;
        Planner planner = this->planner();
        const std::optional<InstalledCapture> installed = planner.find();
        if (!installed) { return script; }
        Catalog& catalog = planner.catalog();
        const TableFacts facts = catalog.table(capture_->table.name);
        if (!facts.oid.empty()) { add_triggers(script, catalog, installed->id, facts); }
        for (const StrayTrigger& stray : catalog.strays(function_name(installed->id, ""), facts)) {
            script.add("Captures no more.",
                "DROP TRIGGER " + quoted(stray.trigger) + " ON " + stray.table);
        }
        for (const std::string_view moment : trigger_moments) {
            const std::string name = function_name(installed->id, moment);
            if (catalog.function(name)) {
                script.add({}, "DROP FUNCTION aftertouch." + name + "()");
            }
        }
        if (is_last(catalog, installed->id)) {
            add_removal_of_tables(script, catalog);
        } else {
            add_removal_of_rows(script, *installed);
        }
        return script;
    }

    static void add_triggers(
        Script& script, Catalog& catalog, std::int64_t id, const TableFacts& facts) {
        const auto add = [&](const std::vector<TriggerFacts>& triggers, const std::string& table) {
            for (const TriggerFacts& trigger : triggers) {
                if (!Planner::is_trigger_of(id, trigger.name)) { continue; }
                script.add("Captures no more.",
                    "DROP TRIGGER IF EXISTS " + quoted(trigger.name) + " ON " + table);
            }
        };
        add(facts.triggers, facts.name);
        for (std::size_t i = 0; i < facts.partitions.size(); ++i) {
            add(catalog.triggers(facts.partition_oids[i]), facts.partitions[i]);
        }
    }

    // Other functions in the schema write the log, or are somebody else's: then it stays.
    [[nodiscard]] static bool is_last(Catalog& catalog, std::int64_t id) {
        return !catalog.word(
            "SELECT 1 FROM aftertouch.capture WHERE id <> $1::integer LIMIT 1", std::to_string(id));
    }

    // An array of their oids; what depends on one of them goes with it.
    [[nodiscard]] static std::string own_relations() {
        std::string oids = "ARRAY[0";
        for (const OwnTable& table : own_tables()) {
            oids += ", coalesce(to_regclass('" + table.name + "')::oid, 0)";
        }
        return oids + "]::oid[]";
    }

    static void add_removal_of_tables(Script& script, Catalog& catalog) {
        for (const OwnTable& table : own_tables()) {
            if (catalog.exists(table.name)) {
                script.add("It was the last capture.", "DROP TABLE " + table.name);
            }
        }
        if (catalog.function(log_guard)) {
            script.add({}, "DROP FUNCTION aftertouch." + std::string{log_guard} + "()");
        }
        const auto others = catalog.word(
            "SELECT 1 FROM pg_class AS c WHERE relnamespace = to_regnamespace('aftertouch') AND "
            "relkind IN ('r', 'p', 'v', 'm', 'f', 'c', 'S') AND c.oid <> ALL (" +
                own_relations() +
                ") AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = c.oid AND refobjid = ANY "
                "(" +
                own_relations() +
                ")) UNION ALL SELECT 1 FROM pg_proc WHERE pronamespace = "
                "to_regnamespace('aftertouch') AND proname !~ '^capture_[0-9]+_' AND proname <> $1 "
                "LIMIT 1",
            log_guard);
        if (!others) { script.add({}, "DROP SCHEMA aftertouch"); }
    }

    void add_removal_of_rows(Script& script, const InstalledCapture& installed) {
        const std::string id = std::to_string(installed.id);
        script.add("Its changes.", "DELETE FROM aftertouch.log WHERE capture IN (" + id + ", " +
                                       std::to_string(low_capture(installed.id)) + ')');
        const std::string of_its_pipelines =
            " WHERE split_part(checkpoint, ' ', 2) = (SELECT m.log_id || '.' || "
            "to_hex(s.system_identifier) || '.' || c.incarnation FROM aftertouch.meta AS m, "
            "aftertouch.capture AS c, pg_control_system() AS s WHERE c.id = " +
            id + ")";
        for (const auto& [what, table] : {std::pair{"The dead letters", "aftertouch.dead_letter"},
                 {"The leases", "aftertouch.lease"}, {"The lanes", "aftertouch.lane"},
                 {"The standbys", "aftertouch.standby"}}) {
            if (!planner().catalog().exists(table)) { continue; }
            script.add(std::string{what} + " of its pipelines.",
                std::string{"DELETE FROM "} + table +
                    " WHERE pipeline IN (SELECT pipeline FROM aftertouch.checkpoint" +
                    of_its_pipelines + ")");
        }
        script.add("The checkpoints of its pipelines.",
            "DELETE FROM aftertouch.checkpoint" + of_its_pipelines);
        script.add("Its declaration.", "DELETE FROM aftertouch.capture WHERE id = " + id);
    }

    Connection* connection_;
    const Capture* capture_;
};

} // namespace aftertouch::postgres
