// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/sqlite/index_text.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/sqlite/types.hpp>
#include <aftertouch/value.hpp>

/// \file
/// What the database says of a table: columns, keys, unique indexes, triggers. Read before anything
/// is installed.

namespace aftertouch::sqlite {

struct ColumnFacts {
    std::string name;
    bool not_null = false;       ///< also true for the key of a table WITHOUT ROWID
    std::size_t primary_key = 0; ///< place in the primary key, counted from 1; 0 for other columns
    std::string generated;       ///< the expression of a generated column; empty for others
    std::string fallback;        ///< the default's text; empty if there is none
    std::string collation = "BINARY";
    std::string affinity = "BLOB";
};

struct UniqueIndex {
    struct Term {
        std::string expression; ///< a quoted column, or the text of an expression
        std::string collation;
        std::string column; ///< empty for an expression
    };
    std::string name;
    std::vector<Term> terms;
    std::string predicate; ///< empty for an index over all rows
};

struct TriggerFacts {
    std::string name;
    std::string sql;
    std::int64_t age = 0; ///< rises with the time at which it was made

    /// Whether it is an AFTER trigger; BEFORE is what SQLite takes where nothing is said.
    [[nodiscard]] bool runs_after() const {
        const detail::Tokens tokens = detail::tokens_of(sql);
        return tokens.size() > 3 && detail::same_name(tokens[3], "AFTER");
    }
};

struct TableFacts {
    std::string name; ///< as the database spells it
    std::vector<ColumnFacts> columns;
    std::vector<UniqueIndex> unique; ///< the primary key's too, but for INTEGER PRIMARY KEY
    std::vector<TriggerFacts> triggers;
    std::string rowid_alias; ///< the INTEGER PRIMARY KEY column; empty if there is none
    /// What a row's number is reached by, the alias or "rowid"; empty for a table WITHOUT ROWID,
    /// and where columns have taken all of its names.
    std::string rowid;
    bool autoincrement = false;

    [[nodiscard]] const ColumnFacts* column(std::string_view wanted) const {
        const auto found = std::find_if(columns.begin(), columns.end(),
            [&](const ColumnFacts& column) { return detail::same_name(column.name, wanted); });
        return found == columns.end() ? nullptr : &*found;
    }
};

/// Reads the catalog of one schema of a connection.
class Catalog {
public:
    Catalog(Connection& connection, std::string schema)
        : connection_{&connection},
          schema_{std::move(schema)},
          version_{"PRAGMA " + quoted(schema_) + ".schema_version"} {}

    [[nodiscard]] const std::string& schema() const noexcept { return schema_; }
    /// The database's name for people.
    [[nodiscard]] const std::string& database() const noexcept {
        return connection_->handle().name();
    }

    /// Rises with every change of the schema, whoever makes it.
    [[nodiscard]] std::int64_t version() { return number(version_).value_or(0); }

    /// The text that made an object, or nothing where there is none of this type and name.
    [[nodiscard]] std::optional<std::string> object(std::string_view type, std::string_view name) {
        std::optional<std::string> sql;
        connection_->each(
            "SELECT sql FROM " + schema_table() + " WHERE type = $1 AND name = $2 COLLATE NOCASE",
            texts(type, name), [&](const Statement& row) {
                sql.emplace(row[0].bytes());
                return false;
            });
        return sql;
    }

    /// Every trigger of the schema, or those of one table; the oldest first.
    [[nodiscard]] std::vector<TriggerFacts> triggers(std::string_view table = {}) {
        std::vector<TriggerFacts> found;
        connection_->each("SELECT name, sql, rowid FROM " + schema_table() +
                              " WHERE type = 'trigger' AND $1 IN ('', tbl_name COLLATE NOCASE) "
                              "ORDER BY rowid",
            std::vector<Value>{Value{Cell::text(table)}}, [&](const Statement& row) {
                found.push_back({std::string{row[0].bytes()}, std::string{row[1].bytes()},
                    row[2].as_integer()});
                return true;
            });
        return found;
    }

    /// What may fail an insertion into a table of ours, or leave it out: triggers and unique
    /// indexes, in words.
    [[nodiscard]] std::vector<std::string> in_the_way(std::string_view table) {
        std::vector<std::string> found;
        for (const TriggerFacts& trigger : triggers(table)) {
            found.push_back("trigger " + trigger.name);
        }
        connection_->each(
            "SELECT name FROM pragma_index_list($1, $2) WHERE \"unique\" = 1 ORDER BY name",
            texts(table, schema_), [&](const Statement& row) {
                found.push_back("unique index " + std::string{row[0].bytes()});
                return true;
            });
        return found;
    }

    /// The first value of a query, as a number; nothing without a row, and for NULL.
    [[nodiscard]] std::optional<std::int64_t> number(const std::string& sql) {
        std::optional<std::int64_t> found;
        connection_->each(sql, std::span<const Value>{}, [&](const Statement& row) {
            if (!row[0].is_null()) { found = row[0].as_integer(); }
            return false;
        });
        return found;
    }

    /// *Throws* `Error` (`schema_mismatch`) where there is no table of this name, or one that can't
    /// be captured.
    [[nodiscard]] TableFacts table(const TableName& name) {
        TableFacts facts;
        const TableText text = read_table_text(table_text(name, facts));
        read_columns(name, text, facts);
        read_unique_indexes(name, facts);
        facts.triggers = triggers(facts.name);
        return facts;
    }

private:
    [[nodiscard]] std::string schema_table() const { return quoted(schema_) + ".sqlite_schema"; }

    [[nodiscard]] static std::vector<Value> texts(std::string_view a, std::string_view b) {
        return {Value{Cell::text(a)}, Value{Cell::text(b)}};
    }

    [[noreturn]] void refuse(const TableName& name, std::string_view why) const {
        throw Error{Errc::schema_mismatch,
            connection_->handle().name() + ": " + name.text() + ' ' + std::string{why},
            {.where = name.text()}};
    }

    // The text that made the table; refuses what has none that can be captured.
    [[nodiscard]] std::string table_text(const TableName& name, TableFacts& facts) {
        std::string sql;
        std::string type;
        connection_->each("SELECT type, coalesce(sql, ''), name FROM " + schema_table() +
                              " WHERE type IN ('table', 'view') AND name = $1 COLLATE NOCASE",
            std::vector<Value>{Value{Cell::text(name.name)}}, [&](const Statement& row) {
                type = row[0].bytes();
                sql = row[1].bytes();
                facts.name = row[2].bytes();
                return false;
            });
        if (type.empty()) {
            refuse(name, "doesn't exist: create the table first, or name another in EntityTraits");
        }
        if (type == "view") { refuse(name, "is a view: capture the tables that it reads"); }
        if (detail::is_virtual_table(sql)) {
            refuse(name,
                "is a virtual table, and those have no triggers: capture the table that feeds it");
        }
        return sql;
    }

    void read_columns(const TableName& name, const TableText& text, TableFacts& facts) {
        connection_->each("SELECT name, \"notnull\", pk, type, coalesce(dflt_value, ''), hidden "
                          "FROM pragma_table_xinfo($1, $2) WHERE hidden <> 1",
            texts(facts.name, schema_), [&](const Statement& row) {
                ColumnFacts column;
                column.name = row[0].bytes();
                column.not_null = row[1].as_integer() != 0;
                column.primary_key = static_cast<std::size_t>(row[2].as_integer());
                const std::string_view type = row[3].bytes();
                const bool any = text.strict && detail::same_name(type, "ANY");
                column.affinity = any ? "BLOB" : affinity_of(type);
                column.fallback = row[4].bytes();
                for (const TableText::Generated& generated : text.generated) {
                    if (detail::same_name(generated.column, column.name)) {
                        column.generated = generated.expression;
                    }
                }
                if (row[5].as_integer() != 0 && column.generated.empty()) {
                    refuse(name, "has a generated column whose expression can't be read");
                }
                if (column.primary_key == 1 && detail::same_name(type, "INTEGER")) {
                    facts.rowid_alias = column.name;
                }
                facts.columns.push_back(std::move(column));
                return true;
            });
        read_collations(name, facts);
        read_rowid(text, facts);
    }

    void read_collations(const TableName& name, TableFacts& facts) {
        sqlite3* handle = connection_->handle().get();
        for (ColumnFacts& column : facts.columns) {
            const char* collation = nullptr;
            detail::check(handle,
                sqlite3_table_column_metadata(handle, schema_.c_str(), facts.name.c_str(),
                    column.name.c_str(), nullptr, &collation, nullptr, nullptr, nullptr),
                name.text());
            if (collation != nullptr) { column.collation = collation; }
        }
    }

    void read_rowid(const TableText& text, TableFacts& facts) {
        const auto parts = std::count_if(facts.columns.begin(), facts.columns.end(),
            [](const ColumnFacts& column) { return column.primary_key != 0; });
        if (parts != 1 || has_primary_key_index(facts)) { facts.rowid_alias.clear(); }
        facts.autoincrement = text.autoincrement;
        facts.rowid = facts.rowid_alias;
        for (const std::string_view name : {"rowid", "oid", "_rowid_"}) {
            if (facts.rowid.empty() && !text.without_rowid && facts.column(name) == nullptr) {
                facts.rowid = name;
            }
        }
    }

    // `INTEGER PRIMARY KEY DESC` has the type, and an index: it isn't the rowid.
    [[nodiscard]] bool has_primary_key_index(const TableFacts& facts) {
        return number("SELECT count(*) FROM pragma_index_list(" + quoted_text(facts.name) + ", " +
                      quoted_text(schema_) + ") WHERE origin = 'pk'")
                   .value_or(0) != 0;
    }

    void read_unique_indexes(const TableName&, TableFacts& facts) {
        std::vector<std::string> names;
        connection_->each(
            "SELECT name FROM pragma_index_list($1, $2) WHERE \"unique\" = 1 ORDER BY name",
            texts(facts.name, schema_), [&](const Statement& row) {
                names.emplace_back(row[0].bytes());
                return true;
            });
        for (const std::string& index : names) { facts.unique.push_back(read_index(index)); }
    }

    [[nodiscard]] UniqueIndex read_index(const std::string& name) {
        UniqueIndex index;
        index.name = name;
        const IndexText text = read_index_text(object("index", name).value_or(""));
        index.predicate = text.predicate;
        connection_->each("SELECT coalesce(name, ''), coll, seqno, cid FROM pragma_index_xinfo($1, "
                          "$2) WHERE key = 1 ORDER BY seqno",
            texts(name, schema_), [&](const Statement& row) {
                UniqueIndex::Term term;
                term.column = row[0].bytes();
                term.collation = row[1].bytes();
                const auto place = static_cast<std::size_t>(row[2].as_integer());
                if (!term.column.empty()) {
                    term.expression = quoted(term.column);
                } else if (place < text.terms.size()) {
                    term.expression = text.terms[place];
                }
                index.terms.push_back(std::move(term));
                return true;
            });
        return index;
    }

    Connection* connection_;
    std::string schema_;
    std::string version_; // the statement that asks for it
};

} // namespace aftertouch::sqlite
