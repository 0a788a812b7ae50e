// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <aftertouch/codec.hpp>
#include <aftertouch/detail/digits.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/time_text.hpp>
#include <aftertouch/uuid_text.hpp>
#include <aftertouch/value.hpp>

/// \file
/// C++ types and PostgreSQL's: the declared type of a column, and values as text both ways, where
/// dates, times, reals and bytes are written as `settings` says. No client library.

namespace aftertouch::postgres {

/// The declared type that `create_table` gives a column.
[[nodiscard]] constexpr std::string_view declared_type(ColumnType type) noexcept {
    switch (type) {
        case ColumnType::boolean: return "boolean";
        case ColumnType::int16: return "smallint";
        case ColumnType::int32: return "integer";
        case ColumnType::int64: return "bigint";
        case ColumnType::real32: return "real";
        case ColumnType::real64: return "double precision";
        case ColumnType::text: return "text";
        case ColumnType::blob: return "bytea";
        case ColumnType::timestamp: return "timestamp with time zone";
        case ColumnType::date: return "date";
        case ColumnType::uuid: return "uuid";
        case ColumnType::any: return "text";
    }
    return "text";
}

/// How the text of a type is read.
enum class Form : std::uint8_t {
    text,
    boolean,
    integer,
    real32,
    real64,
    blob,
    timestamp,
    date,
    uuid
};

/// The form of a built-in type, by its number in pg_type; the numbers never change. Every type
/// that isn't listed is text: exact numerics keep their digits.
[[nodiscard]] constexpr Form form_of(std::uint32_t type) noexcept {
    switch (type) {
        case 16: return Form::boolean;
        case 17: return Form::blob;
        case 20:
        case 21:
        case 23:
        case 26: return Form::integer;
        case 700: return Form::real32;
        case 701: return Form::real64;
        case 1082: return Form::date;
        case 1114:
        case 1184: return Form::timestamp;
        case 2950: return Form::uuid;
        default: return Form::text;
    }
}

/// What must hold for texts to be read back whole: `name = value` for SET, by their names.
struct Setting {
    std::string_view name;
    std::string_view value;
};
inline constexpr Setting settings[] = {{"datestyle", "ISO, YMD"}, {"timezone", "UTC"},
    {"intervalstyle", "postgres"}, {"bytea_output", "hex"}, {"extra_float_digits", "1"},
    {"lc_monetary", "C"}};

/// One statement that sets them, how long a lock is waited for, and how long a client of an open
/// transaction may be silent (0: as the server has it); with `local` for a transaction.
[[nodiscard]] inline std::string settings_sql(
    bool local, std::chrono::milliseconds lock_timeout, std::chrono::milliseconds longest_silence) {
    std::string sql = "SELECT ";
    const auto set = [&](std::string_view name, std::string_view value) {
        sql.append("set_config('").append(name).append("', '").append(value);
        sql.append(local ? "', true)" : "', false)");
    };
    for (const Setting& setting : settings) {
        set(setting.name, setting.value);
        sql += ", ";
    }
    set("lock_timeout", std::to_string(lock_timeout.count()));
    if (longest_silence.count() != 0) {
        sql += ", ";
        set("idle_in_transaction_session_timeout", std::to_string(longest_silence.count()));
    }
    return sql;
}

/// Where the bytes of cells lie that aren't part of an answer's own text; emptied row by row.
class Room {
public:
    [[nodiscard]] char* take(std::size_t bytes) {
        return static_cast<char*>(memory_.allocate(bytes == 0 ? 1 : bytes, 1));
    }
    [[nodiscard]] std::string_view keep(std::string_view bytes) {
        char* copy = take(bytes.size());
        if (!bytes.empty()) { std::memcpy(copy, bytes.data(), bytes.size()); }
        return {copy, bytes.size()};
    }
    void clear() noexcept { memory_.release(); }

private:
    std::pmr::monotonic_buffer_resource memory_{4096};
};

namespace detail {

[[noreturn]] inline void refuse_text(std::string_view what) {
    throw Error{Errc::value_mismatch, "holds text that isn't " + std::string{what} +
                                          " as PostgreSQL writes one: map the column "
                                          "to a std::string, or correct the row"};
}

// The years of PostgreSQL have no sign: those before 1 end with BC, and there is no year 0.
[[nodiscard]] inline std::string iso_years(std::string_view text) {
    std::string out{text};
    const bool before_christ = out.ends_with(" BC");
    if (before_christ) { out.resize(out.size() - 3); }
    const std::size_t digits = out.find('-');
    if (digits == std::string::npos || (digits <= 4 && !before_christ)) { return out; }
    std::int64_t year = aftertouch::detail::integer_from(
        out.substr(std::min(out.find_first_not_of('0'), digits), digits))
                            .value_or(-1);
    if (before_christ) {
        year = 1 - aftertouch::detail::integer_from(
                       std::to_string(std::strtoll(out.substr(0, digits).c_str(), nullptr, 10)))
                       .value_or(0);
    }
    std::string padded;
    aftertouch::detail::append_padded(padded, year < 0 ? -year : year, 4);
    const char* sign = year < 0 ? "-" : year > 9999 ? "+" : "";
    return sign + padded + out.substr(digits);
}

[[nodiscard]] inline Cell timestamp_cell(std::string_view text) {
    std::optional<std::int64_t> us = timestamp_from(text);
    if (!us) { us = timestamp_from(iso_years(text)); }
    if (!us) { refuse_text("a finite timestamp"); }
    return Cell::timestamp(*us);
}

[[nodiscard]] inline Cell date_cell(std::string_view text) {
    std::optional<std::int32_t> days = date_from(text);
    if (!days) { days = date_from(iso_years(text)); }
    if (!days) { refuse_text("a finite date"); }
    return Cell::date(*days);
}

template <class Real>
[[nodiscard]] Cell real_cell(std::string_view text) {
    if (text == "Infinity" || text == "-Infinity") {
        const double infinity = std::numeric_limits<double>::infinity();
        return Cell::real(text.front() == '-' ? -infinity : infinity);
    }
    if (text == "NaN") { return Cell::real(std::numeric_limits<double>::quiet_NaN()); }
    Real real = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, real);
    if (problem == std::errc::result_out_of_range && stop == end) {
        // The smallest denormals, which from_chars may refuse.
        return Cell::real(std::strtod(std::string{text}.c_str(), nullptr));
    }
    if (problem != std::errc{} || stop != end) { refuse_text("a real"); }
    return Cell::real(static_cast<double>(real));
}

[[nodiscard]] inline Cell blob_cell(std::string_view text, Room& room) {
    if (!text.starts_with("\\x") || text.size() % 2 != 0) { refuse_text("hexadecimal bytes"); }
    text.remove_prefix(2);
    const std::size_t size = text.size() / 2;
    char* bytes = room.take(size);
    for (std::size_t i = 0; i < size; ++i) {
        const auto byte = aftertouch::detail::byte_from_hex(text[2 * i], text[2 * i + 1]);
        if (!byte) { refuse_text("hexadecimal bytes"); }
        bytes[i] = *byte;
    }
    return Cell::blob(aftertouch::detail::as_bytes({bytes, size}));
}

[[nodiscard]] inline Cell uuid_cell(std::string_view text, Room& room) {
    const auto bytes = uuid_from(text);
    if (!bytes) { refuse_text("a uuid"); }
    const std::string_view kept = room.keep({bytes->data(), bytes->size()});
    return Cell::uuid(aftertouch::detail::as_bytes(kept).first<16>());
}

[[nodiscard]] inline Cell integer_cell(std::string_view text) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc{} || stop != end) { refuse_text("an integer"); }
    return Cell::integer(number);
}

} // namespace detail

/// The value that the server wrote as `text`. The cell looks at `text`, or at bytes in `room`.
///
/// *Throws* `Error` (`value_mismatch`), its sentence beginning with "holds".
[[nodiscard]] inline Cell cell_from(std::string_view text, Form form, Room& room) {
    switch (form) {
        case Form::boolean: return Cell::boolean(text == "t");
        case Form::integer: return detail::integer_cell(text);
        case Form::real32: return detail::real_cell<float>(text);
        case Form::real64: return detail::real_cell<double>(text);
        case Form::blob: return detail::blob_cell(text, room);
        case Form::timestamp: return detail::timestamp_cell(text);
        case Form::date: return detail::date_cell(text);
        case Form::uuid: return detail::uuid_cell(text, room);
        case Form::text: break;
    }
    return Cell::text(text);
}

namespace detail {

inline void append_real(std::string& out, double real) {
    if (std::isnan(real)) {
        out += "NaN";
    } else if (std::isinf(real)) {
        out += real < 0 ? "-Infinity" : "Infinity";
    } else {
        char digits[32];
        char* const end = std::to_chars(digits, digits + sizeof digits, real).ptr;
        out.append(digits, end);
    }
}

// "+12345-01-01" and "-0044-03-15 ..." as PostgreSQL reads them.
[[nodiscard]] inline std::string server_years(std::string iso) {
    if (iso.front() == '+') { return iso.substr(1); }
    if (iso.front() != '-' && !iso.starts_with("0000-")) { return iso; }
    const std::size_t digits = iso.find('-', 1);
    const std::size_t first = iso.front() == '-' ? 1 : 0;
    const std::int64_t year = std::strtoll(iso.substr(first, digits - first).c_str(), nullptr, 10);
    std::string out;
    aftertouch::detail::append_padded(out, year + 1, 4);
    return out + iso.substr(digits) + " BC";
}

} // namespace detail

/// Appends the text that the server reads as this value. *Requires* that it isn't null.
///
/// *Throws* `Error` (`value_mismatch`) for text with a NUL byte, which PostgreSQL can't hold.
inline void append_text(std::string& out, Cell cell) {
    switch (cell.kind()) {
        case Kind::null: return;
        case Kind::boolean: out += cell.as_integer() != 0 ? 't' : 'f'; return;
        case Kind::integer: out += std::to_string(cell.as_integer()); return;
        case Kind::real: detail::append_real(out, cell.as_real()); return;
        case Kind::text:
            if (cell.bytes().find('\0') != std::string_view::npos) {
                throw Error{Errc::value_mismatch, "holds text with a NUL byte, which PostgreSQL "
                                                  "can't store: use bytes, or remove it"};
            }
            out += cell.bytes();
            return;
        case Kind::blob: out.append("\\x").append(aftertouch::detail::hex_of(cell.bytes())); return;
        case Kind::timestamp: {
            std::string text = detail::server_years(iso_timestamp(cell.as_integer()));
            const std::size_t end = text.ends_with(" BC") ? text.size() - 3 : text.size();
            out += text.insert(end, "+00");
            return;
        }
        case Kind::date:
            out += detail::server_years(iso_date(static_cast<std::int32_t>(cell.as_integer())));
            return;
        case Kind::uuid: out += uuid_text(cell.bytes()); return;
    }
}

} // namespace aftertouch::postgres
