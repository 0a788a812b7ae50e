// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <aftertouch/identifier.hpp>
#include <aftertouch/table.hpp>

/// \file
/// SQL text for rows of a mapped table, the same on every engine; parameters are $1, $2 and so on.

namespace aftertouch::dml {

/// `"a", "b"`: the columns of `table`.
[[nodiscard]] inline std::string columns(const Table& table) {
    std::string text;
    for (const Column& column : table.columns) {
        text += (text.empty() ? "" : ", ") + quoted(column.name);
    }
    return text;
}

/// `"a" = $1 AND "b" = $2`: a row by its key.
[[nodiscard]] inline std::string by_key(const Table& table) {
    std::string text;
    std::size_t number = 0;
    for (const std::size_t part : table.key) {
        text += (text.empty() ? "" : " AND ") + quoted(table.columns[part].name) + " = $" +
                std::to_string(++number);
    }
    return text;
}

[[nodiscard]] inline std::string select_by_key(const Table& table) {
    return "SELECT " + columns(table) + " FROM " + table.name.quoted() + " WHERE " + by_key(table);
}

[[nodiscard]] inline std::string erase_by_key(const Table& table) {
    return "DELETE FROM " + table.name.quoted() + " WHERE " + by_key(table);
}

[[nodiscard]] inline std::string insert(const Table& table) {
    std::string holes;
    for (std::size_t i = 1; i <= table.columns.size(); ++i) {
        holes += (i == 1 ? "$" : ", $") + std::to_string(i);
    }
    return "INSERT INTO " + table.name.quoted() + " (" + columns(table) + ") VALUES (" + holes +
           ")";
}

/// Inserts the row, or overwrites the mapped columns of the row that has its key.
[[nodiscard]] inline std::string upsert(const Table& table) {
    std::string key;
    for (const std::size_t part : table.key) {
        key += (key.empty() ? "" : ", ") + quoted(table.columns[part].name);
    }
    std::string changes;
    for (const Column& column : table.columns) {
        if (column.key_part != 0) { continue; }
        changes += (changes.empty() ? "" : ", ") + quoted(column.name) + " = excluded." +
                   quoted(column.name);
    }
    return insert(table) + " ON CONFLICT (" + key + ") DO " +
           (changes.empty() ? "NOTHING" : "UPDATE SET " + changes);
}

/// `declared_type(ColumnType)` is the engine's name for a type.
template <class DeclaredType>
[[nodiscard]] std::string create_table(const Table& table, DeclaredType declared_type) {
    std::string text = "CREATE TABLE IF NOT EXISTS " + table.name.quoted() + " (";
    std::string key;
    for (const Column& column : table.columns) {
        const std::string_view type = declared_type(column.type);
        text += quoted(column.name) + (type.empty() ? "" : " ") + std::string{type};
        text += column.nullable ? ", " : " NOT NULL, ";
    }
    for (const std::size_t part : table.key) {
        key += (key.empty() ? "" : ", ") + quoted(table.columns[part].name);
    }
    return text + "PRIMARY KEY (" + key + "))";
}

} // namespace aftertouch::dml
