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

#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Reads what the database says of its own objects.

namespace aftertouch::postgres {

struct ColumnFacts {
    std::string name;
    std::string type; ///< of its values, without a domain around it; for SQL text
    std::uint32_t type_number = 0;
    Form form = Form::text;
    bool not_null = false;
    std::string collation;     ///< for SQL text; empty for the database's own, or none
    bool deterministic = true; ///< the collation calls only equal bytes equal
    bool of_catalog = true;    ///< the type is PostgreSQL's own
};

struct TriggerFacts {
    std::string name;
    std::string function;  ///< schema and name
    std::int64_t kind = 0; ///< pg_trigger.tgtype
    std::string old_rows;  ///< the transition tables' names
    std::string new_rows;
    char enabled = 'O';
    bool plain = true;          ///< no condition, no columns, no arguments, not deferrable
    bool of_constraint = false; ///< made by CREATE CONSTRAINT TRIGGER: can't be replaced
};

struct TableFacts {
    std::string oid;  ///< empty: there is no such table
    std::string name; ///< schema and name, for SQL text
    char kind = 'r';
    char persistence = 'p';
    bool has_children = false;
    bool has_parent = false; ///< is a partition, or inherits
    bool hides_rows = false; ///< row security applies to this role
    std::vector<ColumnFacts> columns{};
    std::vector<std::vector<std::string>>
        keys{}; ///< columns of each unique index that can name rows
    std::vector<TriggerFacts> triggers{};
    std::vector<std::string> partitions{}; ///< names for SQL text, and of their numbers
    std::vector<std::string> partition_oids{};

    [[nodiscard]] const ColumnFacts* column(std::string_view wanted) const noexcept {
        const auto found = std::find_if(columns.begin(), columns.end(),
            [&](const ColumnFacts& column) { return column.name == wanted; });
        return found == columns.end() ? nullptr : &*found;
    }
    [[nodiscard]] bool partitioned() const noexcept { return kind == 'p'; }
};

struct FunctionFacts {
    std::string body;
    std::string settings; ///< lower case, `name=value` in lines
    bool definer = false;
    bool open = false;      ///< PUBLIC may execute it
    std::string owner;      ///< for SQL text
    bool may_write = false; ///< its owner may append to the log
};

/// A trigger of a capture on a table that isn't its source, nor a partition of it.
struct StrayTrigger {
    std::string table; ///< schema and name, for SQL text
    std::string trigger;
};

/// Asks the catalogs of a connection. Nothing is kept.
class Catalog {
public:
    explicit Catalog(Connection& connection) : connection_{connection} {}

    [[nodiscard]] const std::string& database() const noexcept {
        return connection_.handle().name();
    }

    [[nodiscard]] TableFacts table(const TableName& name) {
        TableFacts facts;
        const Answer answer = ask(
            "SELECT c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind, "
            "c.relpersistence, EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent = c.oid), EXISTS "
            "(SELECT 1 FROM pg_inherits WHERE inhrelid = c.oid), row_security_active(c.oid) FROM "
            "pg_class AS c JOIN pg_namespace AS n ON n.oid "
            "= c.relnamespace WHERE c.oid = to_regclass($1)",
            name.quoted());
        if (answer.rows() == 0) { return facts; }
        facts.oid = answer.text(0, 0);
        facts.name = answer.text(0, 1);
        facts.kind = answer.text(0, 2).front();
        facts.persistence = answer.text(0, 3).front();
        facts.has_children = answer.flag(0, 4);
        facts.has_parent = answer.flag(0, 5);
        facts.hides_rows = answer.flag(0, 6);
        read_columns(facts);
        read_keys(facts);
        facts.triggers = triggers(facts.oid);
        if (facts.partitioned()) { read_partitions(facts); }
        return facts;
    }

    /// The triggers of a table that its owner made, by its number.
    [[nodiscard]] std::vector<TriggerFacts> triggers(std::string_view oid) {
        const Answer answer = ask(
            "SELECT t.tgname, quote_ident(n.nspname) || '.' || quote_ident(p.proname), t.tgtype, "
            "coalesce(t.tgoldtable, ''), coalesce(t.tgnewtable, ''), t.tgenabled, t.tgqual IS NULL "
            "AND t.tgattr::text = '' AND t.tgnargs = 0 AND NOT t.tgdeferrable, t.tgconstraint <> 0 "
            "FROM pg_trigger AS t "
            "JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_namespace AS n ON n.oid = "
            "p.pronamespace WHERE t.tgrelid = $1::oid AND (NOT t.tgisinternal OR t.tgparentid <> "
            "0) "
            "ORDER BY t.tgname",
            oid);
        std::vector<TriggerFacts> found;
        found.reserve(answer.rows());
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            found.push_back({std::string{answer.text(i, 0)}, std::string{answer.text(i, 1)},
                answer.number(i, 2), std::string{answer.text(i, 3)}, std::string{answer.text(i, 4)},
                answer.text(i, 5).front(), answer.flag(i, 6), answer.flag(i, 7)});
        }
        return found;
    }

    /// A function without arguments of the schema aftertouch.
    [[nodiscard]] std::optional<FunctionFacts> function(std::string_view name) {
        const Answer answer =
            ask("SELECT p.prosrc, lower(coalesce(array_to_string(p.proconfig, E'\\n'), '')), "
                "p.prosecdef, EXISTS (SELECT 1 FROM aclexplode(coalesce(p.proacl, acldefault('f', "
                "p.proowner))) WHERE grantee = 0), quote_ident(pg_get_userbyid(p.proowner)), "
                "has_schema_privilege(p.proowner, p.pronamespace, 'USAGE') AND "
                "coalesce(has_table_privilege(p.proowner, to_regclass('aftertouch.log')::oid, "
                "'INSERT'), true) FROM pg_proc AS p WHERE p.pronamespace = "
                "to_regnamespace('aftertouch') AND p.proname = $1 AND p.pronargs = 0",
                name);
        if (answer.rows() == 0) { return std::nullopt; }
        return FunctionFacts{std::string{answer.text(0, 0)}, std::string{answer.text(0, 1)},
            answer.flag(0, 2), answer.flag(0, 3), std::string{answer.text(0, 4)},
            answer.flag(0, 5)};
    }

    /// The triggers that call a function whose name begins with `prefix`, on other tables than
    /// these: on a partition that was detached, on a table that was renamed.
    [[nodiscard]] std::vector<StrayTrigger> strays(
        std::string_view prefix, const TableFacts& source) {
        std::string known = source.oid.empty() ? "0" : source.oid;
        for (const std::string& oid : source.partition_oids) { known += ", " + oid; }
        const Answer answer = ask(
            "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), t.tgname FROM "
            "pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_class AS c ON c.oid = "
            "t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE p.pronamespace = "
            "to_regnamespace('aftertouch') AND starts_with(p.proname, $1) AND t.tgparentid = 0 "
            "AND t.tgrelid NOT IN (" +
                known + ") ORDER BY 1, 2",
            prefix);
        std::vector<StrayTrigger> found;
        found.reserve(answer.rows());
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            found.push_back({std::string{answer.text(i, 0)}, std::string{answer.text(i, 1)}});
        }
        return found;
    }

    /// Whether there is a relation of this name, given as SQL text.
    [[nodiscard]] bool exists(std::string_view name) {
        return !ask("SELECT to_regclass($1)", name).null(0, 0);
    }
    /// The first column of the first row; nothing without a row, or for null.
    [[nodiscard]] std::optional<std::string> word(std::string_view sql, std::string_view value) {
        const Answer answer = ask(sql, value);
        if (answer.rows() == 0 || answer.null(0, 0)) { return std::nullopt; }
        return std::string{answer.text(0, 0)};
    }
    [[nodiscard]] std::optional<std::string> word(std::string_view sql) {
        const Answer answer = connection_.ask(sql);
        if (answer.rows() == 0 || answer.null(0, 0)) { return std::nullopt; }
        return std::string{answer.text(0, 0)};
    }

private:
    [[nodiscard]] Answer ask(std::string_view sql, std::string_view value) {
        const std::vector<Value> values{Value{Cell::text(value)}};
        return connection_.ask(sql, values);
    }

    void read_columns(TableFacts& facts) {
        const Answer answer = ask(
            "WITH RECURSIVE base(num, type) AS (SELECT attnum, atttypid FROM pg_attribute WHERE "
            "attrelid = $1::oid AND attnum > 0 AND NOT attisdropped UNION ALL SELECT b.num, "
            "t.typbasetype FROM base AS b JOIN pg_type AS t ON t.oid = b.type WHERE t.typtype = "
            "'d') SELECT a.attname, format_type(t.oid, -1), t.oid, a.attnotnull, CASE WHEN "
            "a.attcollation NOT IN (0, 100) THEN quote_ident(cn.nspname) || '.' || "
            "quote_ident(co.collname) ELSE '' END, coalesce(co.collisdeterministic, true), "
            "t.typnamespace = 'pg_catalog'::regnamespace FROM base AS b JOIN pg_type AS t ON t.oid "
            "= b.type AND t.typtype <> 'd' JOIN pg_attribute AS a ON a.attrelid = $1::oid AND "
            "a.attnum = b.num LEFT JOIN pg_collation AS co ON co.oid = a.attcollation LEFT JOIN "
            "pg_namespace AS cn ON cn.oid = co.collnamespace ORDER BY a.attnum",
            facts.oid);
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            const auto type = static_cast<std::uint32_t>(answer.number(i, 2));
            facts.columns.push_back({std::string{answer.text(i, 0)}, std::string{answer.text(i, 1)},
                type, form_of(type), answer.flag(i, 3), std::string{answer.text(i, 4)},
                answer.flag(i, 5), answer.flag(i, 6)});
        }
    }

    void read_keys(TableFacts& facts) {
        const Answer answer = ask(
            "SELECT i.indexrelid, a.attname FROM pg_index AS i CROSS JOIN LATERAL "
            "unnest(i.indkey::int2[]) WITH ORDINALITY AS k(num, place) JOIN pg_attribute AS a ON "
            "a.attrelid = i.indrelid AND a.attnum = k.num WHERE i.indrelid = $1::oid AND "
            "i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND "
            "i.indexprs IS NULL AND k.place <= i.indnkeyatts ORDER BY 1, k.place",
            facts.oid);
        std::string_view index;
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            if (answer.text(i, 0) != index) { facts.keys.emplace_back(); }
            index = answer.text(i, 0);
            facts.keys.back().emplace_back(answer.text(i, 1));
        }
    }

    void read_partitions(TableFacts& facts) {
        const Answer answer = ask(
            "SELECT c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM "
            "pg_partition_tree($1::oid::regclass) AS p JOIN pg_class AS c ON c.oid = p.relid JOIN "
            "pg_namespace AS n ON n.oid = c.relnamespace WHERE p.level > 0 AND c.relkind IN ('r', "
            "'p') ORDER BY 2",
            facts.oid);
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            facts.partition_oids.emplace_back(answer.text(i, 0));
            facts.partitions.emplace_back(answer.text(i, 1));
        }
    }

    Connection& connection_;
};

} // namespace aftertouch::postgres
