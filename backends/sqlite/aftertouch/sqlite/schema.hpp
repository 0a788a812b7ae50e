// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/script.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/requirements.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/sqlite/triggers.hpp>

/// \file
/// Compares a database with what a capture needs, and installs, verifies or removes it, in one transaction each.

namespace aftertouch::sqlite {

/// What a capture needs of a database, and how to get there.
struct SchemaPlan {
    Script script;                        ///< empty where the database agrees
    std::vector<Difference> differences;  ///< the same in words
    TableFacts facts;
};

/// A capture as it is installed.
struct InstalledCapture {
    std::int64_t id = 0;
    std::string definition;
    std::string log;     ///< identity of the log and of this installation of the capture in it
    std::string log_id;  ///< of the log alone
    std::int64_t pruned_through = 0;
};

/// Installs, verifies and removes one capture.
///
/// *Threads*: those of the connection.
class SchemaManager {
public:
    SchemaManager(Connection& connection, const Capture& capture)
        : connection_{&connection}, capture_{&capture}, schema_{dialect::schema_of(capture)}, catalog_{connection, schema_} {}

    /// Compares; changes nothing. *Throws* `Error` (`schema_mismatch`, `capture_conflict`) for what no script can mend.
    [[nodiscard]] SchemaPlan plan() {
        SchemaPlan plan;
        plan.facts = catalog_.table(capture_->table.name);
        require_capturable(*capture_, plan.facts);
        plan_shared_tables(plan);
        const std::optional<InstalledCapture> installed = find();
        if (installed && installed->definition != capture_->definition()) { refuse_other_definition(*installed); }
        const std::int64_t id = installed ? installed->id : next_id();
        plan_capture(plan, id, installed.has_value());
        plan_triggers(plan, id);
        if (installed && std::any_of(plan.differences.begin(), plan.differences.end(),
                                     [](const Difference& difference) { return difference.lost; })) {
            plan.script.add("Changes may have gone unseen: every pipeline over this capture starts with a rebuild.",
                            "UPDATE " + table("capture") + " SET incarnation = lower(hex(randomblob(8))) WHERE id = " +
                                std::to_string(id));
        }
        return plan;
    }

    /// Does what `mode` says; answers whether anything was changed.
    ///
    /// *Throws* `Error`: `schema_mismatch` with every difference in words (`verify`), `busy` where the lock isn't to be
    /// had within the busy timeout, `capture_conflict` where another program declares this capture's name otherwise.
    bool bring_up(Schema mode) {
        if (mode == Schema::none) { return false; }
        const SchemaPlan found = plan();
        if (found.script.empty()) { return false; }
        if (mode == Schema::verify) {
            throw Error{Errc::schema_mismatch, connection_->handle().name() + " isn't as capture " + capture_->name +
                                                   " needs it: " + to_text(found.differences)};
        }
        in_transaction([&] {
            // Another program may have been faster.
            run(plan().script);
        });
        return true;
    }

    /// Drops the capture's triggers, images and log rows, and with the last capture the log itself. Nothing else.
    [[nodiscard]] Script removal() {
        Script script;
        const std::optional<InstalledCapture> installed = find();
        for (const std::string_view moment : trigger_moments) {
            const std::string name = trigger_name(*capture_, moment);
            if (catalog_.object("trigger", name)) {
                script.add("Captures no more.", "DROP TRIGGER " + quoted(schema_) + '.' + quoted(name));
            }
        }
        if (!installed) { return script; }
        const std::string id = std::to_string(installed->id);
        for (std::size_t part = 0; catalog_.object("table", dialect::image_table(installed->id, part)); ++part) {
            script.add("Its images.", "DROP TABLE " + quoted(schema_) + '.' + quoted(dialect::image_table(installed->id, part)));
        }
        if (number("SELECT count(*) FROM " + table("capture")).value_or(0) > 1) {
            script.add("Its changes.", "DELETE FROM " + table("log") + " WHERE capture = " + id);
            script.add("The checkpoints of its pipelines.", "DELETE FROM " + table("checkpoint") +
                                                                " WHERE substr(checkpoint, 5, length(" + quoted_text(installed->log) +
                                                                ") + 1) = " + quoted_text(installed->log + ' '));
            script.add("Its declaration.", "DELETE FROM " + table("capture") + " WHERE id = " + id);
            return script;
        }
        for (const SchemaObject& object : shared_tables(1)) {
            script.add("It was the last capture.", "DROP TABLE IF EXISTS " + quoted(schema_) + '.' + quoted(object.name));
        }
        return script;
    }

    void remove() {
        in_transaction([&] { run(removal()); });
    }

    /// The capture of this name in this database, if it is installed.
    [[nodiscard]] std::optional<InstalledCapture> find() {
        std::optional<InstalledCapture> found;
        if (!catalog_.object("table", "aftertouch_capture") || !catalog_.object("table", "aftertouch_meta")) { return found; }
        const std::vector<Value> name{Value{Cell::text(capture_->name)}};
        connection_->each(dialect::find_capture(schema_), name, [&](const Statement& row) {
            found = InstalledCapture{row[0].as_integer(), std::string{row[1].bytes()}, std::string{row[2].bytes()},
                                     std::string{row[3].bytes()}, row[4].as_integer()};
            return false;
        });
        return found;
    }

    [[nodiscard]] Catalog& catalog() noexcept { return catalog_; }

private:
    static constexpr std::size_t usual_key_parts = 4;

    template <class Work>
    void in_transaction(Work work) {
        connection_->run("BEGIN IMMEDIATE");
        try {
            work();
            connection_->run("COMMIT");
        } catch (...) {
            if (connection_->handle().in_transaction()) { connection_->run("ROLLBACK"); }
            throw;
        }
    }

    void run(const Script& script) {
        for (const ScriptStatement& statement : script.statements()) { connection_->run_all(statement.sql); }
    }

    [[nodiscard]] std::string table(std::string_view name) const { return dialect::own(schema_, name); }

    [[nodiscard]] std::optional<std::int64_t> number(const std::string& sql) {
        std::optional<std::int64_t> found;
        connection_->each(sql, std::span<const Value>{}, [&](const Statement& row) {
            found = row[0].as_integer();
            return false;
        });
        return found;
    }

    [[nodiscard]] std::int64_t next_id() {
        if (!catalog_.object("table", "aftertouch_capture")) { return 1; }
        return number("SELECT coalesce(max(id), 0) + 1 FROM " + table("capture")).value_or(1);
    }

    [[noreturn]] void refuse_other_definition(const InstalledCapture& installed) const {
        throw Error{Errc::capture_conflict,
                    connection_->handle().name() + " has a capture " + capture_->name + " declared as [" + installed.definition +
                        "], and this program declares it as [" + capture_->definition() +
                        "]: name one of the two with named(), or remove() the old one if no program uses it any more"};
    }

    // The text of a CREATE statement, with the schema in front of the name: SQLite keeps it without.
    [[nodiscard]] std::string qualified(const SchemaObject& object) const {
        const std::size_t name = object.sql.find('"');
        return object.sql.substr(0, name) + (schema_ == "main" ? "" : quoted(schema_) + '.') + object.sql.substr(name);
    }

    void plan_shared_tables(SchemaPlan& plan) {
        const std::size_t parts = std::max(usual_key_parts, capture_->table.key.size());
        for (const SchemaObject& object : shared_tables(usual_key_parts)) { add_if_missing(plan, object); }
        const std::optional<std::string> log = catalog_.object("table", "aftertouch_log");
        if (log && log->find("AUTOINCREMENT") == std::string::npos) {
            throw Error{Errc::schema_mismatch, connection_->handle().name() +
                                                   ": aftertouch_log has no AUTOINCREMENT, so that numbers of changes could "
                                                   "come twice: remove() the captures of this database and install them again"};
        }
        for (std::size_t part = usual_key_parts + 1; part <= parts; ++part) {
            const std::string column = 'k' + std::to_string(part);
            if (log && number("SELECT count(*) FROM pragma_table_info('aftertouch_log', " + quoted_text(schema_) +
                              ") WHERE name = " + quoted_text(column))
                               .value_or(0) != 0) {
                continue;
            }
            plan.script.add("A place for one more part of a key.", "ALTER TABLE " + table("log") + " ADD COLUMN " + column);
            plan.differences.push_back({"aftertouch_log has no column " + column, "install the capture"});
        }
        if (!catalog_.object("table", "aftertouch_meta")) {
            plan.script.add("A random name tells this log from any other.",
                            "INSERT INTO " + table("meta") +
                                " (log_id, layout, pruned_through) VALUES (lower(hex(randomblob(8))), 1, 0)");
        }
    }

    void add_if_missing(SchemaPlan& plan, const SchemaObject& object) {
        if (catalog_.object(object.type, object.name)) { return; }
        plan.script.add(object.comment, qualified(object));
        plan.differences.push_back({object.name + " is missing", "install the capture", true});
    }

    void plan_capture(SchemaPlan& plan, std::int64_t id, bool installed) {
        if (!installed) {
            plan.script.add("Declares capture " + capture_->name + '.',
                            "INSERT INTO " + table("capture") + " (id, name, definition, incarnation) VALUES (" +
                                std::to_string(id) + ", " + quoted_text(capture_->name) + ", " +
                                quoted_text(capture_->definition()) + ", lower(hex(randomblob(8))))");
            plan.differences.push_back({"capture " + capture_->name + " isn't installed", "install it"});
        }
        const bool new_log = !catalog_.object("table", "aftertouch_log");
        if (new_log && catalog_.object("table", "aftertouch_meta")) {
            plan.script.add("The log is a new one.", "UPDATE " + table("meta") + " SET log_id = lower(hex(randomblob(8)))");
        }
        if (!capture_->images) { return; }
        for (const SchemaObject& object : image_tables(id, *capture_)) {
            if (new_log && catalog_.object("table", object.name)) {
                plan.script.add("Images of a log that is gone.", "DELETE FROM " + quoted(schema_) + '.' + quoted(object.name));
            }
            add_if_missing(plan, object);
        }
    }

    void plan_triggers(SchemaPlan& plan, std::int64_t id) {
        const std::vector<SchemaObject> wanted = TriggerWriter{id, *capture_, plan.facts}.triggers();
        const bool overtaken = is_overtaken(plan.facts);
        for (const std::string_view moment : trigger_moments) {
            const std::string name = trigger_name(*capture_, moment);
            const auto object = std::find_if(wanted.begin(), wanted.end(),
                                             [&](const SchemaObject& candidate) { return candidate.name == name; });
            const std::optional<std::string> there = catalog_.object("trigger", name);
            const bool needed = object != wanted.end();
            if (needed ? (there == object->sql && !overtaken) : !there) { continue; }
            if (there) { plan.script.add({}, "DROP TRIGGER " + quoted(schema_) + '.' + quoted(name)); }
            if (needed) { plan.script.add(object->comment, qualified(*object)); }
            plan.differences.push_back(
                {"trigger " + name + (!there ? " is missing" : !needed ? " is needed no more"
                                                          : there == object->sql ? " is older than a trigger of another program, "
                                                                                   "which could keep it from running"
                                                                                 : " isn't as it should be"),
                 "install the capture again", needed});
        }
    }

    // SQLite runs the newest trigger first; one that is newer than ours may end the statement for its row before ours
    // has run (RAISE(IGNORE)).
    [[nodiscard]] bool is_overtaken(const TableFacts& facts) const {
        std::optional<std::int64_t> our_oldest;
        std::int64_t newest_other = 0;
        for (const TriggerFacts& trigger : facts.triggers) {
            const bool ours = std::any_of(std::begin(trigger_moments), std::end(trigger_moments), [&](std::string_view moment) {
                return trigger.name == trigger_name(*capture_, moment);
            });
            if (ours) {
                our_oldest = std::min(our_oldest.value_or(trigger.age), trigger.age);
            } else if (!trigger.name.starts_with("aftertouch_")) {
                newest_other = std::max(newest_other, trigger.age);
            }
        }
        return our_oldest && newest_other > *our_oldest;
    }

    Connection* connection_;
    const Capture* capture_;
    std::string schema_;
    Catalog catalog_;
};

}  // namespace aftertouch::sqlite
