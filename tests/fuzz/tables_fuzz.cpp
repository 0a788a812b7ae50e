// SPDX-License-Identifier: MIT
// Generated DDL: any table that SQLite accepts is captured whole, or refused and left as it is; and
// what is removed leaves nothing behind (C2, C3, C8, O5).
#include <string>
#include <string_view>
#include <vector>

#include <support/captured.hpp>

#include "fuzz.hpp"

namespace {

using fuzz::Input;
using test::Lab;

constexpr std::string_view types[] = {"", "INTEGER", "INT", "TEXT", "REAL", "BLOB", "ANY",
    "NUMERIC", "VARCHAR(9)", "DOUBLE PRECISION"};
constexpr std::string_view constraints[] = {"", " NOT NULL", " UNIQUE",
    " UNIQUE ON CONFLICT REPLACE", " COLLATE NOCASE", " COLLATE RTRIM UNIQUE", " DEFAULT 7",
    " DEFAULT 'x' NOT NULL", " CHECK (1)", " GENERATED ALWAYS AS (1)", " PRIMARY KEY",
    " NOT NULL ON CONFLICT REPLACE DEFAULT 3"};
constexpr std::string_view values[] = {"NULL", "0", "1", "-1", "1.5", "'a'", "'A'", "'a '", "x'61'",
    "''", "9e999", "-9223372036854775808"};
constexpr std::string_view verbs[] = {"INSERT", "REPLACE", "INSERT OR IGNORE", "INSERT OR FAIL"};
constexpr std::string_view updates[] = {"UPDATE", "UPDATE OR REPLACE", "UPDATE OR IGNORE"};

template <std::size_t N>
std::string one_of(Input& input, const std::string_view (&all)[N]) {
    return std::string{all[input.below(N)]};
}

struct Table {
    std::vector<std::string> columns;
    std::vector<std::string> written;
    std::vector<std::string> sql;
};

// A name that SQL text can carry, and that no other column has.
std::string any_name(Input& input, std::size_t number) {
    std::string name = input.text(6);
    const bool fits =
        !name.empty() && name.find('\0') == std::string::npos && aftertouch::valid_utf8(name);
    return (fits ? name : "c") + std::to_string(number);
}

std::string one_column(Input& input, const std::vector<std::string>& columns) {
    return aftertouch::quoted(columns[input.below(columns.size())]);
}

Table any_table(Input& input) {
    Table table;
    std::string text;
    const std::size_t count = 2 + input.below(4);
    for (std::size_t i = 0; i < count; ++i) {
        table.columns.push_back(any_name(input, i));
        const std::string constraint = one_of(input, constraints);
        if (constraint.find("GENERATED") == std::string::npos) {
            table.written.push_back(table.columns.back());
        }
        text += (i == 0 ? "" : ", ") + aftertouch::quoted(table.columns.back()) + ' ' +
                one_of(input, types) + constraint;
    }
    if (table.written.empty()) { return {}; }
    if (input.below(3) == 0) {
        text += ", PRIMARY KEY (" + one_column(input, table.columns) + ", " +
                one_column(input, table.columns) + ')';
    }
    constexpr std::string_view options[] = {"", "", "", " WITHOUT ROWID", " STRICT"};
    table.sql.push_back("CREATE TABLE t (" + text + ')' + one_of(input, options));
    for (std::size_t i = input.below(3); i > 0; --i) {
        constexpr std::string_view before[] = {"", "lower(", "hex(", "("};
        constexpr std::string_view after[] = {"", " COLLATE NOCASE", " DESC"};
        const std::size_t wrapped = input.below(4);
        std::string index = "CREATE UNIQUE INDEX i" + std::to_string(i) + " ON t (";
        index += std::string{before[wrapped]} + one_column(input, table.columns) +
                 (wrapped == 0 ? "" : ")") + one_of(input, after) + ')';
        if (input.below(3) == 0) {
            index += " WHERE " + one_column(input, table.columns) + " IS NOT 1";
        }
        table.sql.push_back(std::move(index));
    }
    return table;
}

std::string any_statement(Input& input, const Table& table) {
    switch (input.below(4)) {
        case 0:
            return "DELETE FROM t WHERE " + one_column(input, table.columns) + " IS " +
                   one_of(input, values);
        case 1:
            return one_of(input, updates) + " t SET " + one_column(input, table.written) + " = " +
                   one_of(input, values);
        default: break;
    }
    std::string columns;
    std::string row;
    for (const std::string& column : table.written) {
        columns += (columns.empty() ? "" : ", ") + aftertouch::quoted(column);
        row += (row.empty() ? "" : ", ") + one_of(input, values);
    }
    return one_of(input, verbs) + " INTO t (" + columns + ") VALUES (" + row + ')';
}

// What somebody who repeats the finding needs: each statement that made the table, and what was
// done to it.
std::string script(const Table& table, const std::vector<std::string>& done) {
    std::string all;
    for (const auto* statements : {&table.sql, &done}) {
        for (const std::string& sql : *statements) { all += "\n  " + sql + ';'; }
    }
    return all;
}

std::string schema(Lab& lab) {
    return lab.text("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name <> "
                    "'sqlite_sequence' ORDER BY 1, 2");
}

bool is_installed(Lab& lab, const aftertouch::Capture& capture, const Table& table) {
    try {
        lab.install(capture);
        return true;
    } catch (const aftertouch::Error& error) {
        fuzz::require(
            error.code() == aftertouch::Errc::schema_mismatch, error.what() + script(table, {}));
        return false;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input{data, size};
    const Table table = any_table(input);
    if (table.columns.empty()) { return 0; }
    Lab lab;
    Lab twin;
    for (const std::string& sql : table.sql) {
        const int code = lab.attempt(sql);
        twin.attempt(sql);
        if (code != SQLITE_OK && sql.starts_with("CREATE TABLE")) { return 0; }
    }
    // With any trigger, SQLite may visit the rows of an UPDATE in another order: which of two rows
    // OR IGNORE keeps is up to that.
    twin.attempt("CREATE TRIGGER idle BEFORE UPDATE ON t BEGIN SELECT 1; END");
    // And before a BEFORE INSERT trigger it checks the types of a STRICT table, which it does after
    // NOT NULL otherwise: of a row that breaks both, OR IGNORE then reports the type.
    if (table.sql.front().ends_with("STRICT")) {
        twin.attempt("CREATE TRIGGER idle_insert BEFORE INSERT ON t BEGIN SELECT 1; END");
    }
    const std::string before = schema(lab);
    const bool images = input.below(2) == 0;
    const aftertouch::Capture capture = test::capture_of(
        "t", table.columns, {table.columns[input.below(table.columns.size())]}, images);
    if (!is_installed(lab, capture, table)) {
        fuzz::require(schema(lab) == before, "a refusal changes nothing");
        return 0;
    }
    fuzz::require(lab.differences(capture).empty(), "what was installed is as it should be");
    std::vector<std::string> done;
    for (int i = 0; i < 12 && !input.empty(); ++i) {
        const std::string& sql = done.emplace_back(any_statement(input, table));
        const std::string escaped = lab.escaped(capture, sql);
        fuzz::require(escaped.empty(), "no change escapes: " + escaped + script(table, done));
        fuzz::require(twin.attempt(sql) == lab.last_code(),
            "a writer sees what it saw:" + script(table, done));
        fuzz::require(lab.rows("SELECT * FROM t") == twin.rows("SELECT * FROM t"),
            "a table holds what it held:" + script(table, done));
    }
    lab.remove(capture);
    fuzz::require(schema(lab) == before, "what is removed leaves nothing");
    return 0;
}
