// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ratio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/detail/decode.hpp>
#include <aftertouch/value.hpp>

/// \file
/// The types that can be a column without a Codec: one specialisation of Builtin each.

namespace aftertouch {

/// What a column is declared as, or checked to be; each engine has its own names for them.
enum class ColumnType {
    boolean,
    int16,
    int32,
    int64,
    real32,
    real64,
    text,
    blob,
    timestamp,
    date,
    uuid,
    any, ///< whatever the column says
};

} // namespace aftertouch

namespace aftertouch::detail {

/// column, key: may be part of a key; cell(value): a look at it; decode(cell, out).
template <class T>
struct Builtin;

template <class T>
concept Character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

template <class T>
concept Integer = std::integral<T> && !Character<T> && !std::same_as<T, bool> && sizeof(T) <= 8 &&
                  std::same_as<T, std::remove_cv_t<T>>;

template <>
struct Builtin<bool> {
    static constexpr ColumnType column = ColumnType::boolean;
    static constexpr bool key = false;
    static Cell cell(bool value) noexcept { return Cell::boolean(value); }
    static void decode(Cell cell, bool& out) { out = read_boolean(cell); }
};

template <Integer T>
struct Builtin<T> {
    static constexpr std::size_t width = sizeof(T) * (std::signed_integral<T> ? 1 : 2);
    static constexpr ColumnType column = width <= 2   ? ColumnType::int16
                                         : width <= 4 ? ColumnType::int32
                                                      : ColumnType::int64;
    static constexpr bool key = true;

    static Cell cell(T value) {
        if (!std::in_range<std::int64_t>(value)) {
            refuse_value("holds an unsigned integer above 2^63-1, which no column can: "
                         "use a signed integer or text");
        }
        return Cell::integer(static_cast<std::int64_t>(value));
    }

    static void decode(Cell cell, T& out) {
        const std::int64_t integer = read_integer(cell);
        if (!std::in_range<T>(integer)) {
            refuse_range(cell, "within the range of the field's type");
        }
        out = static_cast<T>(integer);
    }
};

template <class T>
    requires std::is_enum_v<T> && (!std::same_as<std::underlying_type_t<T>, bool>)
struct Builtin<T> {
    using Number = std::underlying_type_t<T>;
    // An enum of characters is still a number: `enum class Operation : char`.
    using Stored = typename std::conditional_t<Character<Number>, std::make_signed<Number>,
        std::type_identity<Number>>::type;
    static constexpr ColumnType column = Builtin<Stored>::column;
    static constexpr bool key = true;
    static Cell cell(T value) { return Builtin<Stored>::cell(static_cast<Stored>(value)); }
    static void decode(Cell cell, T& out) {
        Stored number{};
        Builtin<Stored>::decode(cell, number);
        out = static_cast<T>(number);
    }
};

template <>
struct Builtin<double> {
    static constexpr ColumnType column = ColumnType::real64;
    static constexpr bool key = false;
    static Cell cell(double value) noexcept { return Cell::real(value); }
    static void decode(Cell cell, double& out) { out = read_real(cell); }
};

template <>
struct Builtin<float> {
    static constexpr ColumnType column = ColumnType::real32;
    static constexpr bool key = false;
    static Cell cell(float value) noexcept { return Cell::real(static_cast<double>(value)); }
    static void decode(Cell cell, float& out) { out = read_float(cell); }
};

template <>
struct Builtin<std::string> {
    static constexpr ColumnType column = ColumnType::text;
    static constexpr bool key = true;
    static Cell cell(const std::string& value) noexcept { return Cell::text(value); }
    static void decode(Cell cell, std::string& out) {
        out.assign(read_bytes(cell, Kind::text, "text"));
    }
};

template <class Byte>
    requires std::same_as<Byte, std::byte> || std::same_as<Byte, std::uint8_t>
struct Builtin<std::vector<Byte>> {
    static constexpr ColumnType column = ColumnType::blob;
    static constexpr bool key = true;
    static Cell cell(const std::vector<Byte>& value) noexcept {
        return Cell::blob(std::as_bytes(std::span{value}));
    }
    static void decode(Cell cell, std::vector<Byte>& out) {
        const std::string_view bytes = read_bytes(cell, Kind::blob, "a blob");
        const auto* first = reinterpret_cast<const Byte*>(bytes.data());
        out.assign(first, first + bytes.size());
    }
};

/// Microseconds. What is finer is cut off (towards the past) when written; when read, a field
/// that is coarser takes only what it can hold.
template <class Duration>
    requires Integer<typename Duration::rep>
struct Builtin<std::chrono::time_point<std::chrono::system_clock, Duration>> {
    using Time = std::chrono::time_point<std::chrono::system_clock, Duration>;
    using Factor = std::ratio_divide<typename Duration::period, std::micro>;
    static constexpr ColumnType column = ColumnType::timestamp;
    static constexpr bool key = true;

    static Cell cell(Time value) {
        const auto us = std::in_range<std::int64_t>(value.time_since_epoch().count())
                            ? scaled<Factor::num, Factor::den>(
                                  static_cast<std::int64_t>(value.time_since_epoch().count()))
                            : std::nullopt;
        if (!us) {
            refuse_value("holds a time beyond what microseconds in 64 bits can count: correct it");
        }
        return Cell::timestamp(us->count);
    }

    static void decode(Cell cell, Time& out) {
        using Rep = typename Duration::rep;
        const auto count = scaled<Factor::den, Factor::num>(read_timestamp(cell));
        if (!count || !count->exact || !std::in_range<Rep>(count->count)) {
            refuse_value("holds a time that the field's duration can't hold without loss: "
                         "use a time point of std::chrono::microseconds");
        }
        out = Time{Duration{static_cast<Rep>(count->count)}};
    }
};

template <>
struct Builtin<std::chrono::sys_days> {
    static constexpr ColumnType column = ColumnType::date;
    static constexpr bool key = true;
    static Cell cell(std::chrono::sys_days value) {
        const auto days = value.time_since_epoch().count();
        if (!std::in_range<std::int32_t>(days)) {
            refuse_value("holds a date beyond what days in 32 bits can count: correct it");
        }
        return Cell::date(static_cast<std::int32_t>(days));
    }
    static void decode(Cell cell, std::chrono::sys_days& out) {
        out = std::chrono::sys_days{std::chrono::days{read_date(cell)}};
    }
};

template <>
struct Builtin<std::chrono::year_month_day> {
    static constexpr ColumnType column = ColumnType::date;
    static constexpr bool key = true;
    static Cell cell(std::chrono::year_month_day value) {
        if (!value.ok()) { refuse_value("holds a date that no calendar has: correct it"); }
        return Builtin<std::chrono::sys_days>::cell(std::chrono::sys_days{value});
    }
    static void decode(Cell cell, std::chrono::year_month_day& out) {
        const std::int32_t days = read_date(cell);
        const std::int64_t year = civil_from(days).year;
        if (year < static_cast<int>(std::chrono::year::min()) ||
            year > static_cast<int>(std::chrono::year::max())) {
            refuse_range(cell, "within the years of std::chrono::year");
        }
        out = std::chrono::sys_days{std::chrono::days{days}};
    }
};

template <>
struct Builtin<Value> {
    static constexpr ColumnType column = ColumnType::any;
    static constexpr bool key = false;
    static Cell cell(const Value& value) noexcept { return value.cell(); }
    static void decode(Cell cell, Value& out) { out = cell; }
};

} // namespace aftertouch::detail
