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
        plan_triggers(plan, id);
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
            plan.differences.push_back({table.name + " is missing", "install the capture", true});
        }
        if (had_log) { check_log(); }
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

    // What would lose changes, or make writers fail, and no script should decide about.
    void check_log() {
        const auto wrong = catalog_.word(
            "SELECT concat_ws(', ', CASE WHEN c.relpersistence <> 'p' THEN 'it is unlogged' END, "
            "CASE WHEN c.relrowsecurity THEN 'it has row security' END, CASE WHEN c.relhasrules "
            "THEN 'it has rules' END, CASE WHEN EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = "
            "c.oid) THEN 'it has triggers' END, CASE WHEN s.seqcache <> 1 OR s.seqincrement <> 1 "
            "OR s.seqcycle THEN 'its numbers have a CACHE, INCREMENT or CYCLE of their own' END, "
            "CASE WHEN (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = "
            "'xid') > (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'seq') "
            "THEN 'its column xid stands behind seq' END) FROM pg_class AS c JOIN pg_sequence AS s "
            "ON s.seqrelid = pg_get_serial_sequence('aftertouch.log', 'seq')::regclass WHERE c.oid "
            "= 'aftertouch.log'::regclass");
        if (wrong && wrong->empty()) { return; }
        throw Error{Errc::schema_mismatch,
            "aftertouch.log in " + catalog_.database() +
                " isn't as it was made: " + wrong.value_or("its numbers have no sequence") +
                ": undo that, or remove the captures and install them anew"};
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
    void plan_triggers(SchemaPlan& plan, std::int64_t id) {
        const std::vector<TriggerObject> wanted = TriggerWriter{id, capture_, plan.facts}.objects();
        for (const TriggerObject& object : wanted) { plan_function(plan, object); }
        std::vector<std::vector<TriggerFacts>> of_partitions;
        of_partitions.reserve(plan.facts.partition_oids.size());
        for (const std::string& oid : plan.facts.partition_oids) {
            of_partitions.push_back(catalog_.triggers(oid));
        }
        for (const TriggerObject& object : wanted) { plan_trigger(plan, object, of_partitions); }
    }

    void plan_function(SchemaPlan& plan, const TriggerObject& object) {
        const std::optional<FunctionFacts> there = catalog_.function(object.function);
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

    // A row trigger of a partitioned table has a copy on each partition, which follows it; a
    // trigger of statements has none.
    void plan_trigger(SchemaPlan& plan, const TriggerObject& object,
        const std::vector<std::vector<TriggerFacts>>& of_partitions) {
        const auto found = [&](const std::string& table, const std::vector<TriggerFacts>& there) {
            const std::string_view fault = fault_of(object, there);
            if (fault.empty()) { return false; }
            plan.differences.push_back(
                {"trigger " + object.trigger + " on " + table + std::string{fault},
                    "install the capture again", fault != too_much});
            return true;
        };
        bool wrong = found(plan.facts.name, plan.facts.triggers);
        for (std::size_t i = 0; i < of_partitions.size(); ++i) {
            const std::string& partition = plan.facts.partitions[i];
            if (!found(partition, of_partitions[i])) { continue; }
            if (object.moment == "truncate") {
                put_up(plan.script, object, partition);
            } else {
                wrong = true;
            }
        }
        if (wrong) { put_up(plan.script, object, plan.facts.name); }
    }

    static constexpr std::string_view too_much = " fires for replicas too";

    // What is wrong with it among the triggers of a table; empty where nothing is.
    [[nodiscard]] static std::string_view fault_of(
        const TriggerObject& object, const std::vector<TriggerFacts>& triggers) {
        const auto there = std::find_if(triggers.begin(), triggers.end(),
            [&](const TriggerFacts& facts) { return facts.name == object.trigger; });
        if (there == triggers.end()) { return " is missing"; }
        if (!object.is(*there)) { return " isn't as it should be"; }
        if (there->enabled == (object.always ? 'A' : 'O')) { return {}; }
        if (there->enabled == 'A') { return too_much; }
        return there->enabled == 'O' ? " doesn't fire for replicas" : " is switched off";
    }

    // Replacing also switches it on, and wants no right but TRIGGER: ALTER TABLE is the owner's.
    static void put_up(Script& script, const TriggerObject& object, const std::string& table) {
        script.add("Costs one call a " + std::string{(object.kind & 1) != 0 ? "row" : "statement"} +
                       ". Undo: DROP TRIGGER.",
            object.trigger_sql(table));
        if (object.always) {
            script.add("Also for what a replication's worker writes.", object.enable_sql(table));
        }
    }

    Connection& connection_;
    const Capture& capture_;
    Catalog catalog_;
};

} // namespace aftertouch::postgres
