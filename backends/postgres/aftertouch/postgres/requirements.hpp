// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/codec.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/table.hpp>

/// \file
/// Whether a table can be captured as an entity declares it: its columns are there and fit its
/// fields, and its key names one row in one text. No client library is called.

namespace aftertouch::postgres {

namespace detail {

/// Whether each key value of a type has one text: no 1.0 beside 1.00, no text that equals another.
[[nodiscard]] constexpr bool has_one_text(std::uint32_t type) noexcept {
    // int8 int2 int4, text bpchar varchar, uuid, bytea, date timestamp timestamptz
    for (const std::uint32_t fit :
        {20U, 21U, 23U, 25U, 1042U, 1043U, 2950U, 17U, 1082U, 1114U, 1184U}) {
        if (type == fit) { return true; }
    }
    return false;
}

[[nodiscard]] inline bool is_key(const TableFacts& facts, const Capture& capture) {
    std::vector<std::string> wanted;
    wanted.reserve(capture.table.key.size());
    for (const std::size_t part : capture.table.key) {
        wanted.push_back(capture.table.columns[part].name);
    }
    std::sort(wanted.begin(), wanted.end());
    return std::any_of(facts.keys.begin(), facts.keys.end(), [&](std::vector<std::string> columns) {
        std::sort(columns.begin(), columns.end());
        return columns == wanted;
    });
}

/// Whether a field of this type can hold any value of a column whose texts have this form. What may
/// fit, as text that is a date, is let pass: the row says it.
[[nodiscard]] constexpr bool can_hold(ColumnType field, Form column) noexcept {
    const bool is_real = column == Form::real32 || column == Form::real64;
    switch (field) {
        case ColumnType::boolean: return column == Form::boolean || column == Form::integer;
        case ColumnType::int16:
        case ColumnType::int32:
        case ColumnType::int64:
            return column == Form::integer || column == Form::boolean || is_real;
        case ColumnType::real32:
        case ColumnType::real64: return column == Form::integer || is_real;
        case ColumnType::text: return column == Form::text;
        case ColumnType::blob: return column == Form::blob;
        case ColumnType::timestamp:
            return column == Form::timestamp || column == Form::text || column == Form::integer ||
                   is_real;
        case ColumnType::date: return column == Form::date || column == Form::text;
        case ColumnType::uuid:
            return column == Form::uuid || column == Form::text || column == Form::blob;
        case ColumnType::any: break;
    }
    return true;
}

[[nodiscard]] constexpr std::string_view words_of(ColumnType field) noexcept {
    switch (field) {
        case ColumnType::boolean: return "a bool";
        case ColumnType::int16:
        case ColumnType::int32:
        case ColumnType::int64: return "an integer";
        case ColumnType::real32: return "a float";
        case ColumnType::real64: return "a double";
        case ColumnType::text: return "a std::string";
        case ColumnType::blob: return "a vector of bytes";
        case ColumnType::timestamp: return "a time point";
        case ColumnType::date: return "a date";
        case ColumnType::uuid: return "a UUID";
        case ColumnType::any: break;
    }
    return "a Value";
}

/// The field that holds every value of a column.
[[nodiscard]] constexpr std::string_view field_for(Form column) noexcept {
    switch (column) {
        case Form::text: return "std::string";
        case Form::boolean: return "bool";
        case Form::integer: return "std::int64_t";
        case Form::real32: return "float";
        case Form::real64: return "double";
        case Form::blob: return "std::vector<std::byte>";
        case Form::timestamp: return "aftertouch::Timestamp";
        case Form::date: return "std::chrono::year_month_day";
        case Form::uuid: return "boost::uuids::uuid";
    }
    return "aftertouch::Value";
}

class Requirements {
public:
    Requirements(const Capture& capture, const TableFacts& facts)
        : capture_{capture}, facts_{facts}, table_{capture.table.name.text()} {}

    void check() const {
        check_names();
        check_table();
        for (const Column& column : capture_.table.columns) {
            if (facts_.column(column.name) == nullptr) {
                refuse(
                    "has no column " + column.name, "add it, or name another one in EntityTraits");
            }
            if (column.name == "aftertouch_place") {
                refuse("has a column aftertouch_place, a name that the triggers use themselves",
                    "leave it out of the struct, or rename it");
            }
        }
        if (!is_key(facts_, capture_)) {
            refuse("has no primary key or unique constraint on exactly the key of the entity that "
                   "isn't deferrable",
                "add one, or name the table's key in EntityTraits");
        }
        for (const std::size_t part : capture_.table.key) {
            check_key_part(*facts_.column(capture_.table.columns[part].name));
        }
    }

    void check_fields() const {
        for (const Column& field : capture_.table.columns) {
            const ColumnFacts& column = *facts_.column(field.name);
            if (can_hold(field.type, column.form)) { continue; }
            refuse("has a column " + field.name + " of type " + column.type +
                       ", which its field, " + std::string{words_of(field.type)} + ", can't hold",
                "declare the field as " + std::string{field_for(column.form)} +
                    ", or change the column's type");
        }
    }

private:
    [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const {
        throw Error{Errc::schema_mismatch, "table " + table_ + ' ' + what + ": " + remedy,
            {.where = table_}};
    }

    // A longer name is cut, and could be another table's.
    void check_names() const {
        const TableName& name = capture_.table.name;
        if (std::max(name.schema.size(), name.name.size()) <= 63) { return; }
        refuse("has a name of more than 63 bytes, which PostgreSQL would cut",
            "give its name as the database has it in EntityTraits");
    }

    void check_table() const {
        if (facts_.oid.empty()) {
            refuse("isn't there", "create it, or give its schema and name in EntityTraits");
        }
        if (facts_.kind != 'r' && facts_.kind != 'p') {
            refuse("is no table of its own (a view, a foreign table)",
                "capture the table that its rows are stored in");
        }
        if (facts_.persistence == 't') {
            refuse("is a temporary one of this session", "capture a table that others see too");
        }
        if (facts_.persistence != 'p') {
            refuse("isn't logged, and loses its rows in a crash while their changes stay",
                "use ALTER TABLE ... SET LOGGED");
        }
        if (facts_.has_parent) {
            refuse("is a partition or inherits, and its triggers don't see what is written "
                   "through its parent",
                "capture the parent, if it is partitioned; tables that inherit can't be captured");
        }
        if (facts_.hides_rows) {
            refuse("has row security that hides rows from this role",
                "run pipelines as its owner or with BYPASSRLS");
        }
        if (facts_.kind == 'r' && facts_.has_children) {
            refuse("has tables that inherit from it, whose rows its triggers don't see",
                "capture each of them, or use partitions");
        }
    }

    void check_key_part(const ColumnFacts& column) const {
        if (!has_one_text(column.type_number)) {
            refuse("has a key column " + column.name + " of type " + column.type +
                       ", whose equal values may have several texts",
                "use integers, text, uuid, bytes, dates or timestamps as a key");
        }
        if (!column.deterministic) {
            refuse("has a key column " + column.name +
                       " with a collation that calls different texts equal",
                "use a deterministic collation for the key");
        }
        if (!column.not_null) {
            refuse("has a key column " + column.name + " that may be null", "declare it NOT NULL");
        }
    }

    const Capture& capture_;
    const TableFacts& facts_;
    std::string table_;
};

} // namespace detail

/// *Throws* `Error` (`schema_mismatch`) with what is in the way, and what to do.
inline void require_capturable(const Capture& capture, const TableFacts& facts) {
    detail::Requirements{capture, facts}.check();
}

/// The same, and that each field can hold what its column has: of a pipeline that begins, since a
/// type may change under one that runs.
inline void require_readable(const Capture& capture, const TableFacts& facts) {
    require_capturable(capture, facts);
    detail::Requirements{capture, facts}.check_fields();
}

} // namespace aftertouch::postgres
