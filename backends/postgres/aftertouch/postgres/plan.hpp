// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/log_requirements.hpp>
#include <aftertouch/postgres/own_tables.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/requirements.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/triggers.hpp>
#include <aftertouch/script.hpp>

/// \file
/// Compares a database with what a capture needs, and says how to get there. Changes nothing.

namespace aftertouch::postgres {

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
    std::string log;       ///< identity of server, log and installation of the capture in it
    std::string short_log; ///< the same without the server, as a read of the log tells it
    std::string log_id;    ///< of the log alone
};

/// Plans one capture. The answers hold as long as nobody changes the database.
class Planner {
public:
    Planner(Connection& connection, const Capture& capture)
        : connection_{connection}, capture_{capture}, catalog_{connection} {}

    /// *Throws* `Error` (`schema_mismatch`, `capture_conflict`) for what no script can mend.
    [[nodiscard]] SchemaPlan plan() {
        SchemaPlan plan;
        plan.facts = catalog_.table(capture_.table.name);
        require_capturable(capture_, plan.facts);
        plan_own_tables(plan);
        const std::optional<InstalledCapture> installed = find();
        refuse_conflict(installed);
        const std::int64_t id = installed ? installed->id : next_id();
        if (!installed) { declare(plan, id); }
        plan_triggers(plan, id, installed.has_value());
        const bool lost = std::any_of(plan.differences.begin(), plan.differences.end(),
            [](const Difference& difference) { return difference.lost; });
        if (installed && lost) {
            plan.script.add(
                "Changes may have gone unseen: every pipeline over this capture starts with a "
                "rebuild.",
                "UPDATE aftertouch.capture SET incarnation = " + std::string{random_name} +
                    " WHERE id = " + std::to_string(id));
        }
        return plan;
    }

    /// The capture of this name in this database, if it is installed.
    [[nodiscard]] std::optional<InstalledCapture> find() {
        if (!catalog_.exists("aftertouch.capture") || !catalog_.exists("aftertouch.meta")) {
            return std::nullopt;
        }
        const std::vector<Value> name{Value{Cell::text(capture_.name)}};
        const Answer answer = connection_.ask(
            "SELECT c.id, c.definition, m.log_id, to_hex(s.system_identifier), c.incarnation FROM "
            "aftertouch.capture AS c CROSS JOIN aftertouch.meta AS m CROSS JOIN "
            "pg_control_system() AS s WHERE c.name = $1",
            name);
        if (answer.rows() == 0) { return std::nullopt; }
        const std::string log_id{answer.text(0, 2)};
        const std::string server{answer.text(0, 3)};
        const std::string incarnation{answer.text(0, 4)};
        return InstalledCapture{answer.number(0, 0), std::string{answer.text(0, 1)},
            log_id + '.' + server + '.' + incarnation, log_id + '.' + incarnation, log_id};
    }

    [[nodiscard]] Catalog& catalog() noexcept { return catalog_; }

    /// Whether a trigger is one of a capture's.
    [[nodiscard]] static bool is_trigger_of(std::int64_t id, std::string_view name) {
        return std::any_of(std::begin(trigger_moments), std::end(trigger_moments),
            [&](std::string_view moment) { return name == trigger_name(id, moment); });
    }

private:
    [[nodiscard]] std::int64_t next_id() {
        if (!catalog_.exists("aftertouch.capture")) { return 1; }
        const auto next = catalog_.word("SELECT coalesce(max(id), 0) + 1 FROM aftertouch.capture");
        return std::strtoll(next.value_or("1").c_str(), nullptr, 10);
    }

    void refuse_conflict(const std::optional<InstalledCapture>& installed) const {
        if (!installed || installed->definition == capture_.definition()) { return; }
        aftertouch::detail::refuse_conflict(
            catalog_.database(), capture_.name, installed->definition, capture_.definition());
    }

    // ---------------------------------------------------------------------- what captures share

    void plan_own_tables(SchemaPlan& plan) {
        if (!catalog_.word("SELECT to_regnamespace('aftertouch')")) {
            plan.script.add(
                "What the library keeps: the log, checkpoints, and what is captured. Nobody but "
                "its owner has rights in it.",
                "CREATE SCHEMA aftertouch");
        }
        const bool had_log = catalog_.exists("aftertouch.log");
        for (const OwnTable& table : own_tables()) {
            if (catalog_.exists(table.name)) { continue; }
            for (const std::string& sql : table.sql) {
                plan.script.add(&sql == &table.sql.front() ? table.comment : std::string{}, sql);
            }
            plan.differences.push_back(
                {table.name + " is missing", "install the capture", table.tells_changes});
        }
        if (had_log) {
            require_sound_log(catalog_);
            plan_log_guard(plan);
        }
        const bool has_meta = catalog_.exists("aftertouch.meta") &&
                              catalog_.word("SELECT log_id FROM aftertouch.meta").has_value();
        if (!has_meta) {
            plan.script.add("A random name tells this log from any other.",
                "INSERT INTO aftertouch.meta (log_id, layout) VALUES (" + std::string{random_name} +
                    ", 1)");
        } else if (!had_log) {
            plan.script.add("The log is a new one.",
                "UPDATE aftertouch.meta SET log_id = " + std::string{random_name} +
                    ", through = NULL, pruned_at = NULL");
        }
    }

    void plan_log_guard(SchemaPlan& plan) {
        if (is_log_guarded(catalog_)) { return; }
        for (const std::string& sql : log_guard_sql()) {
            plan.script.add("Keeps the log from being truncated.", sql);
        }
        plan.script.add("It may have been: every pipeline starts with a rebuild.",
            "UPDATE aftertouch.meta SET log_id = " + std::string{random_name});
        plan.differences.push_back(
            {"trigger " + std::string{log_guard} + " on aftertouch.log is missing or switched off",
                "install the capture again", true});
    }

    // ------------------------------------------------------------------------------ one capture

    void declare(SchemaPlan& plan, std::int64_t id) const {
        plan.script.add("Declares capture " + capture_.name + '.',
            "INSERT INTO aftertouch.capture (id, name, definition, incarnation) VALUES (" +
                std::to_string(id) + ", " + quoted_text(capture_.name) + ", " +
                quoted_text(capture_.definition()) + ", " + std::string{random_name} + ")");
        plan.differences.push_back({"capture " + capture_.name + " isn't installed", "install it"});
    }

    // Functions first, so that a trigger never calls an old one.
    void plan_triggers(SchemaPlan& plan, std::int64_t id, bool installed) {
        const std::vector<TriggerObject> wanted = TriggerWriter{id, capture_, plan.facts}.objects();
        for (const TriggerObject& object : wanted) { plan_function(plan, object); }
        std::vector<std::vector<TriggerFacts>> of_partitions;
        of_partitions.reserve(plan.facts.partition_oids.size());
        for (const std::string& oid : plan.facts.partition_oids) {
            of_partitions.push_back(catalog_.triggers(oid));
        }
        for (const TriggerObject& object : wanted) {
            plan_trigger(plan, object, of_partitions, installed ? id : 0);
        }
        plan_strays(plan, id);
    }

    // A partition that was made empty has missed nothing: its rows come by the copied triggers.
    void plan_new_partition(
        SchemaPlan& plan, const TriggerObject& object, std::size_t which, std::int64_t id) {
        const std::string& partition = plan.facts.partitions[which];
        detail::put_up(plan.script, object, partition, {});
        const bool may_look = catalog_
                                  .word("SELECT 1 WHERE has_table_privilege($1::oid, 'SELECT')",
                                      plan.facts.partition_oids[which])
                                  .has_value();
        plan.script.add("If rows came with it, or were truncated, every pipeline over this capture "
                        "starts with a rebuild.",
            "UPDATE aftertouch.capture SET incarnation = " + std::string{random_name} +
                " WHERE id = " + std::to_string(id) +
                (may_look ? " AND NOT " + has_missed_nothing(partition) : std::string{}));
        plan.differences.push_back(
            {"trigger " + object.trigger + " on " + partition + " is missing: the partition is new",
                "install the capture again"});
    }

    void plan_strays(SchemaPlan& plan, std::int64_t id) {
        for (const StrayTrigger& stray : catalog_.strays(function_name(id, ""), plan.facts)) {
            plan.script.add("Not a part of " + plan.facts.name + " any more.",
                "DROP TRIGGER " + quoted(stray.trigger) + " ON " + stray.table);
            plan.differences.push_back({"trigger " + stray.trigger + " is on " + stray.table +
                                            ", which is no part of " + plan.facts.name,
                "install the capture again", true});
        }
    }

    void plan_function(SchemaPlan& plan, const TriggerObject& object) {
        const std::optional<FunctionFacts> there = catalog_.function(object.function);
        if (there && !there->may_write) { plan_rights(plan, object, there->owner); }
        if (there && object.is(*there)) { return; }
        plan.script.add("Captures each " + object.moment +
                            ". It runs as its owner, who needs no rights but INSERT on "
                            "aftertouch.log.",
            object.function_sql());
        plan.script.add({}, object.revoke_sql());
        plan.differences.push_back({"function aftertouch." + object.function +
                                        (there ? " isn't as it should be" : " is missing"),
            "install the capture again", true});
    }

    // Writers fail where it is missing, so nothing goes unseen.
    static void plan_rights(
        SchemaPlan& plan, const TriggerObject& object, const std::string& owner) {
        plan.script.add("All that the functions' owner needs.",
            "GRANT USAGE ON SCHEMA aftertouch TO " + owner +
                "; GRANT INSERT ON aftertouch.log TO " + owner);
        plan.differences.push_back(
            {"role " + owner + ", which owns function aftertouch." + object.function +
                    ", may not append to aftertouch.log, and writers fail",
                "grant it USAGE on the schema and INSERT on the table"});
    }

    // A row trigger of a partitioned table has a copy on each partition, which follows it; a
    // trigger of statements has none. `installed` is the capture's number; 0 where it is new.
    void plan_trigger(SchemaPlan& plan, const TriggerObject& object,
        const std::vector<std::vector<TriggerFacts>>& of_partitions, std::int64_t installed) {
        const auto found = [&](const std::string& table, const std::vector<TriggerFacts>& there) {
            const std::string_view fault = detail::fault_of(object, there);
            if (fault.empty()) { return false; }
            plan.differences.push_back(
                {"trigger " + object.trigger + " on " + table + std::string{fault},
                    "install the capture again", fault != detail::too_much});
            return true;
        };
        bool wrong = found(plan.facts.name, plan.facts.triggers);
        for (std::size_t i = 0; i < of_partitions.size(); ++i) {
            const std::string& partition = plan.facts.partitions[i];
            const bool of_statements = object.moment == "truncate";
            if (of_statements && installed != 0 &&
                detail::trigger_of(object, of_partitions[i]) == nullptr) {
                plan_new_partition(plan, object, i, installed);
                continue;
            }
            if (!found(partition, of_partitions[i])) { continue; }
            if (of_statements) {
                detail::put_up(plan.script, object, partition, of_partitions[i]);
            } else {
                wrong = true;
            }
        }
        if (wrong) { detail::put_up(plan.script, object, plan.facts.name, plan.facts.triggers); }
    }

    Connection& connection_;
    const Capture& capture_;
    Catalog catalog_;
};

} // namespace aftertouch::postgres
