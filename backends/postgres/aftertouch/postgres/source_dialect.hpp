// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <aftertouch/dml.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/table.hpp>

/// \file
/// The SQL that reads a source's rows; no client library.

namespace aftertouch::postgres::dialect {

/// A page of a rebuild: how its rows are read.
struct Page {
    const Table& table;
    const std::vector<std::size_t>& order; ///< columns
    std::size_t limit = 0;
    bool from_start = true;           ///< or behind the values $4, $5, ... of `order`
    std::vector<std::size_t> sized{}; ///< columns whose values may be large: count their bytes
};

namespace detail {

[[nodiscard]] inline std::string page_rows(
    const Page& page, const std::string& columns, const std::string& condition) {
    std::string order;
    for (const std::size_t column : page.order) {
        order += (order.empty() ? "" : ", ") + quoted(page.table.columns[column].name);
    }
    std::string where = condition;
    if (!page.from_start) {
        where +=
            (where.empty() ? "(" : " AND (") + order + ") > (" + holes(page.order.size(), 4) + ")";
    }
    return "SELECT " + columns + " FROM " + page.table.name.quoted() +
           (where.empty() ? "" : " WHERE " + where) + " ORDER BY " + order + " LIMIT " +
           std::to_string(page.limit);
}

// Rows and facts of one statement, which shows one state of the database (R2): the row of `facts`
// stands before or behind the others, and has nulls for their columns as they have for its own.
[[nodiscard]] inline std::string beside(const std::string& facts, const std::string& rows) {
    return "SELECT s.*, p.* FROM (" + facts + ") AS s FULL JOIN (" + rows + ") AS p ON false";
}

} // namespace detail

/// A page of a table none of whose rows is larger than a page of the server's: whether it has
/// others is added to `facts`, and then no row is read.
[[nodiscard]] inline std::string read_page(const Page& page, const std::string& facts) {
    const std::string name = quoted_text(page.table.name.quoted());
    return "WITH large AS MATERIALIZED (SELECT coalesce(pg_relation_size(reltoastrelid), 0) > 0 AS "
           "are FROM pg_class WHERE oid = to_regclass(" +
           name + ")) " +
           detail::beside("SELECT f.*, (SELECT are FROM large) AS large FROM (" + facts + ") AS f",
               detail::page_rows(page, dml::columns(page.table), "NOT (SELECT are FROM large)"));
}

/// The same for any table, up to `chunk_bytes` of values and the row that goes beyond. In front of
/// the columns of each row the bytes up to its end.
[[nodiscard]] inline std::string read_page_by_size(const Page& page, const std::string& facts) {
    std::string size = "0::bigint";
    for (const std::size_t column : page.sized) {
        size += " + coalesce(pg_column_size(" + quoted(page.table.columns[column].name) + "), 0)";
    }
    std::string columns;
    for (std::size_t i = 0; i < page.table.columns.size(); ++i) {
        columns += "c" + std::to_string(i + 1) + ", ";
    }
    columns.resize(columns.size() - 2);
    const std::string rows = detail::page_rows(page, dml::columns(page.table) + ", " + size, "");
    return detail::beside("SELECT f.*, false AS large FROM (" + facts + ") AS f",
        "SELECT total::bigint, " + columns +
            " FROM (SELECT *, sum(size) OVER (ROWS UNBOUNDED PRECEDING) AS total FROM (" + rows +
            ") AS r(" + columns + ", size)) AS r WHERE total - size < " +
            std::to_string(chunk_bytes));
}

/// Rows by keys, each with the number of its key: arrays of the key's parts. OFFSET keeps the
/// server from reading the whole table for the keys of a batch, as it does where it thinks that
/// cheaper.
[[nodiscard]] inline std::string fetch(const Table& table, const std::vector<std::string>& types) {
    std::string arrays;
    std::string names;
    std::string same;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const std::string name = "k" + std::to_string(i + 1);
        arrays += (i == 0 ? "$" : ", $") + std::to_string(i + 1) + "::" + types[i] + "[]";
        names += name + ", ";
        same += (i == 0 ? "" : " AND ") + ("t." + quoted(table.columns[table.key[i]].name)) +
                " = k." + name;
    }
    std::string columns;
    for (const Column& column : table.columns) {
        columns += (columns.empty() ? "t." : ", t.") + quoted(column.name);
    }
    return "SELECT k.i, r.* FROM unnest(" + arrays + ") WITH ORDINALITY AS k(" + names +
           "i) CROSS JOIN LATERAL (SELECT " + columns + " FROM " + table.name.quoted() +
           " AS t WHERE " + same + " OFFSET 0) AS r";
}

/// How many rows a table has: counted where it is small, estimated where counting would take long.
/// $1 its quoted name.
[[nodiscard]] inline std::string count_rows(const Table& table) {
    return "SELECT CASE WHEN pg_table_size(c.oid) < 64000000 THEN (SELECT count(*) FROM " +
           table.name.quoted() +
           ") ELSE greatest(c.reltuples::bigint, pg_table_size(c.oid) / 200) END FROM pg_class AS "
           "c WHERE c.oid = to_regclass($1)";
}

} // namespace aftertouch::postgres::dialect
