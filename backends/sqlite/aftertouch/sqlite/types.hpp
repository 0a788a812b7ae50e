// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <aftertouch/codec.hpp>
#include <aftertouch/time_text.hpp>
#include <aftertouch/value.hpp>

/// \file
/// C++ types and SQLite's storage classes: the declared type of a column, and the form that a value is stored in.

namespace aftertouch::sqlite {

/// The declared type that `create_table` gives a column.
///
/// Dates and times are ISO-8601 text in UTC, one of the three forms that SQLite's own functions read (SQLite manual,
/// "Datatypes", section 2.2); UUIDs are their 36 lower-case characters.
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

/// The 36 characters of a UUID's 16 bytes.
[[nodiscard]] inline std::string uuid_text(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) { text += '-'; }
        text += digits[static_cast<unsigned char>(bytes[i]) >> 4U];
        text += digits[static_cast<unsigned char>(bytes[i]) & 15U];
    }
    return text;
}

/// The form in which SQLite stores `cell`: its own five storage classes pass as they are, the rest becomes integer or
/// text. `room` holds the text while the result is used.
[[nodiscard]] inline Cell stored_form(Cell cell, std::string& room) {
    switch (cell.kind()) {
        case Kind::boolean: return Cell::integer(cell.as_integer());
        case Kind::timestamp: room = iso_timestamp(cell.as_integer()); return Cell::text(room);
        case Kind::date: room = iso_date(static_cast<std::int32_t>(cell.as_integer())); return Cell::text(room);
        case Kind::uuid: room = uuid_text(cell.bytes()); return Cell::text(room);
        default: return cell;
    }
}

}  // namespace aftertouch::sqlite
