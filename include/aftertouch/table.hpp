// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/codec.hpp>
#include <aftertouch/detail/entity_check.hpp>
#include <aftertouch/detail/fields.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/identifier.hpp>

/// \file
/// What an entity wants of a database, as plain data: for code that writes SQL and is no template.

namespace aftertouch {

struct Column {
    std::string name;
    ColumnType type = ColumnType::any;
    bool nullable = false;
    std::size_t key_part = 0; ///< its place in the key, from 1; 0 if it isn't part of it
};

struct Table {
    TableName name;
    std::vector<Column> columns;  ///< in the order of the fields
    std::vector<std::size_t> key; ///< indexes into columns, in the key's order
};

namespace detail {

template <class T, std::size_t... I>
[[nodiscard]] Table make_table(std::index_sequence<I...>) {
    Table table{table_name<T>(), {}, {key_indices_of<T>.begin(), key_indices_of<T>.end()}};
    table.columns.reserve(sizeof...(I));
    (table.columns.push_back({std::string{column_names_of<T>[I]}, column_type<FieldType<T, I>>,
         nullable<FieldType<T, I>>, 0}),
        ...);
    for (std::size_t part = 0; part < table.key.size(); ++part) {
        table.columns[table.key[part]].key_part = part + 1;
    }
    return table;
}

} // namespace detail

/// Made once per entity and process. *Threads* any.
template <Entity T>
[[nodiscard]] const Table& table_of() {
    static const Table table = detail::make_table<T>(detail::FieldIndexes<T>{});
    return table;
}

} // namespace aftertouch
