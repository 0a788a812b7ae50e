// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <aftertouch/error.hpp>
#include <aftertouch/time_text.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Reading a Cell strictly: every conversion is without loss or it is refused with a sentence.
/// The sentences begin with "holds": whoever knows the column puts its name in front.

namespace aftertouch::detail {

[[noreturn]] inline void refuse_value(const std::string& sentence) {
    throw Error{Errc::value_mismatch, sentence};
}

[[noreturn]] inline void refuse_kind(Cell cell, const char* expected) {
    refuse_value("holds " + std::string{name(cell.kind())} + " where " + expected +
                 " is expected: " +
                 (cell.is_null() ? "declare the field as std::optional or forbid null in the column"
                                 : "change the row or the field's type"));
}

[[noreturn]] inline void refuse_range(Cell cell, const char* range) {
    refuse_value("holds " + std::string{name(cell.kind())} + " that isn't " + range +
                 ": change the row or the field's type");
}

/// The integer that a real stands for, if it stands for one of 64 bits.
[[nodiscard]] constexpr std::optional<std::int64_t> exact_integer(double real) noexcept {
    constexpr double limit = 9223372036854775808.0; // 2^63
    if (!(real >= -limit && real < limit)) {        // NaN, too
        return std::nullopt;
    }
    const auto integer = static_cast<std::int64_t>(real);
    return static_cast<double>(integer) == real ? std::optional{integer} : std::nullopt;
}

/// An integer, an integral real, or a boolean as 0 or 1.
[[nodiscard]] inline std::int64_t read_integer(Cell cell) {
    if (cell.kind() == Kind::integer || cell.kind() == Kind::boolean) { return cell.as_integer(); }
    if (cell.kind() != Kind::real) { refuse_kind(cell, "an integer"); }
    const std::optional<std::int64_t> integer = exact_integer(cell.as_real());
    if (!integer) { refuse_range(cell, "an integer of 64 bits"); }
    return *integer;
}

[[nodiscard]] inline bool read_boolean(Cell cell) {
    if (cell.kind() != Kind::integer && cell.kind() != Kind::boolean) {
        refuse_kind(cell, "a boolean");
    }
    if (cell.as_integer() != 0 && cell.as_integer() != 1) {
        refuse_range(cell, "a boolean (0 or 1)");
    }
    return cell.as_integer() == 1;
}

/// A real, or an integer that a double holds exactly.
[[nodiscard]] inline double read_real(Cell cell) {
    if (cell.kind() == Kind::real) { return cell.as_real(); }
    if (cell.kind() != Kind::integer) { refuse_kind(cell, "a real"); }
    constexpr std::int64_t exact = std::int64_t{1} << 53;
    if (cell.as_integer() < -exact || cell.as_integer() > exact) {
        refuse_range(cell, "exact as a real (2^53 at most)");
    }
    return static_cast<double>(cell.as_integer());
}

[[nodiscard]] inline float read_float(Cell cell) {
    constexpr double most = std::numeric_limits<float>::max();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double real = read_real(cell);
    const bool finite = real < infinity && real > -infinity;
    if (finite && (real > most || real < -most)) {
        refuse_range(cell, "within the range of a float");
    }
    return static_cast<float>(real);
}

[[nodiscard]] inline std::string_view read_bytes(Cell cell, Kind kind, const char* expected) {
    if (cell.kind() != kind) { refuse_kind(cell, expected); }
    return cell.bytes();
}

[[nodiscard]] inline std::int32_t read_date(Cell cell) {
    if (cell.kind() == Kind::date) { return static_cast<std::int32_t>(cell.as_integer()); }
    if (cell.kind() != Kind::text) { refuse_kind(cell, "a date"); }
    const std::optional<std::int32_t> days = date_from(cell.bytes());
    if (!days) { refuse_range(cell, "a date (YYYY-MM-DD)"); }
    return *days;
}

/// A Julian day in the range and to the millisecond of SQLite's date functions, in microseconds.
[[nodiscard]] constexpr std::optional<std::int64_t> from_julian_day(double day) noexcept {
    constexpr std::int64_t epoch_ms = 210'866'760'000'000; // 2440587.5 days
    if (!(day >= 0.0 && day < 5'373'484.5)) { return std::nullopt; }
    return (static_cast<std::int64_t>(day * 86'400'000.0 + 0.5) - epoch_ms) * 1000;
}

/// A timestamp, ISO 8601 text, an integer of Unix seconds, or a real of Julian days: the forms of
/// SQLite's manual, datatype3, section 2.2.
[[nodiscard]] inline std::int64_t read_timestamp(Cell cell) {
    std::optional<std::int64_t> us;
    switch (cell.kind()) {
        case Kind::timestamp: return cell.as_integer();
        case Kind::text: us = timestamp_from(cell.bytes()); break;
        case Kind::real: us = from_julian_day(cell.as_real()); break;
        case Kind::integer:
            us = microseconds(floor_div(cell.as_integer(), 86'400),
                floor_mod(cell.as_integer(), 86'400) * us_per_second);
            break;
        default: refuse_kind(cell, "a timestamp");
    }
    if (!us) {
        refuse_range(cell, "a timestamp (text YYYY-MM-DD HH:MM:SS.ffffff, an integer of Unix "
                           "seconds, or a real of Julian days)");
    }
    return *us;
}

struct Scaled {
    std::int64_t count = 0;
    bool exact = true; ///< false if a fraction was cut off, towards the past
};

/// `count * Numerator / Denominator`, nothing if that is beyond 64 bits.
template <std::int64_t Numerator, std::int64_t Denominator>
[[nodiscard]] constexpr std::optional<Scaled> scaled(std::int64_t count) noexcept {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    const std::int64_t whole = floor_div(count, Denominator);
    const std::int64_t part = floor_mod(count, Denominator) * Numerator;
    if (whole > most / Numerator || whole < least / Numerator ||
        most - part / Denominator < whole * Numerator) {
        return std::nullopt;
    }
    return Scaled{whole * Numerator + part / Denominator, part % Denominator == 0};
}

} // namespace aftertouch::detail
