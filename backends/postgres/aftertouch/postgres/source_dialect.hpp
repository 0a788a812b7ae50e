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

/// A page of a rebuild: rows behind the values $2, $3, ... of `order`, or from the beginning; $1
/// how many. In front of each row the snapshot that the page shows, the last number, whether the
/// transaction has written nothing yet, how many rows were found, whether there is a row.
/// `sized` are the columns whose values may be large.
[[nodiscard]] inline std::string read_page(const Table& table,
    const std::vector<std::size_t>& order, const std::vector<std::size_t>& sized, bool from_start) {
    std::string columns;
    for (std::size_t i = 0; i < order.size(); ++i) {
        columns += (i == 0 ? "" : ", ") + quoted(table.columns[order[i]].name);
    }
    std::string size = "0";
    for (const std::size_t column : sized) {
        size += " + coalesce(pg_column_size(" + quoted(table.columns[column].name) + "), 0)";
    }
    std::string renamed;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        renamed += "c" + std::to_string(i + 1) + ", ";
    }
    return "SELECT s.until::text, s.last, s.fresh, p.* FROM (SELECT pg_current_snapshot() AS "
           "until, " +
           std::string{last_number} +
           " AS last, pg_current_xact_id_if_assigned() IS NULL AS fresh) AS s LEFT JOIN LATERAL "
           "(SELECT found, true, " +
           renamed.substr(0, renamed.size() - 2) +
           " FROM (SELECT *, count(*) OVER () AS found, sum(size) OVER (ROWS UNBOUNDED PRECEDING) "
           "- size AS before FROM (SELECT " +
           dml::columns(table) + ", " + size + " FROM " + table.name.quoted() +
           (from_start ? "" : " WHERE (" + columns + ") > (" + holes(order.size(), 2) + ")") +
           " ORDER BY " + columns + " LIMIT $1::bigint) AS r(" + renamed +
           "size)) AS r WHERE before < " + std::to_string(chunk_bytes) + ") AS p ON true";
}

/// Rows by keys, in the order of the keys: arrays of the key's parts.
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
    for (const Column& column : table.columns) { columns += ", t." + quoted(column.name); }
    return "SELECT k.i" + columns + " FROM unnest(" + arrays + ") WITH ORDINALITY AS k(" + names +
           "i) JOIN " + table.name.quoted() + " AS t ON " + same + " ORDER BY k.i";
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
