// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <aftertouch/codec.hpp>
#include <aftertouch/time_text.hpp>
#include <aftertouch/uuid_text.hpp>
#include <aftertouch/value.hpp>

/// \file
/// C++ types and SQLite's storage classes: the declared type of a column, and the form that a value
/// is stored in.

namespace aftertouch::sqlite {

/// The declared type that `create_table` gives a column.
///
/// Dates and times are ISO-8601 text in UTC, one of the three forms that SQLite's own functions
/// read (SQLite manual, "Datatypes", section 2.2); UUIDs are their 36 lower-case characters.
[[nodiscard]] constexpr std::string_view declared_type(ColumnType type) noexcept {
    switch (type) {
        case ColumnType::boolean: return "BOOLEAN";
        case ColumnType::int16:
        case ColumnType::int32:
        case ColumnType::int64: return "INTEGER";
        case ColumnType::real32:
        case ColumnType::real64: return "REAL";
        case ColumnType::text: return "TEXT";
        case ColumnType::blob: return "BLOB";
        case ColumnType::timestamp:
        case ColumnType::date:
        case ColumnType::uuid: return "TEXT";
        case ColumnType::any: return "";
    }
    return "";
}

/// The affinity of a column with this declared type: INTEGER, TEXT, BLOB, REAL or NUMERIC, each of
/// which declares itself (SQLite manual, "Datatypes", section 3.1).
[[nodiscard]] inline std::string_view affinity_of(std::string_view declared) {
    std::string upper;
    for (const char c : declared) {
        upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    const auto has = [&](std::string_view part) { return upper.find(part) != std::string::npos; };
    if (has("INT")) { return "INTEGER"; }
    if (has("CHAR") || has("CLOB") || has("TEXT")) { return "TEXT"; }
    if (has("BLOB") || upper.empty()) { return "BLOB"; }
    if (has("REAL") || has("FLOA") || has("DOUB")) { return "REAL"; }
    return "NUMERIC";
}

/// The form in which SQLite stores `cell`: its own five storage classes pass as they are, the rest
/// becomes integer or text. `room` holds the text while the result is used.
[[nodiscard]] inline Cell stored_form(Cell cell, std::string& room) {
    switch (cell.kind()) {
        case Kind::boolean: return Cell::integer(cell.as_integer());
        case Kind::timestamp: room = iso_timestamp(cell.as_integer()); return Cell::text(room);
        case Kind::date:
            room = iso_date(static_cast<std::int32_t>(cell.as_integer()));
            return Cell::text(room);
        case Kind::uuid: room = uuid_text(cell.bytes()); return Cell::text(room);
        default: return cell;
    }
}

} // namespace aftertouch::sqlite
