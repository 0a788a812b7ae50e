// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <aftertouch/error.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Values as the server sends them in binary, which costs both sides less than text. No client
/// library.

namespace aftertouch::postgres {

/// Whether values of a built-in type, by its number in pg_type, are read in binary: the rest, exact
/// numerics for one, are read as text.
[[nodiscard]] constexpr bool has_binary_form(std::uint32_t type) noexcept {
    switch (type) {
        case 19: // name, text, json, char(n), varchar: the same bytes as in text
        case 25:
        case 114:
        case 1042:
        case 1043: return true;
        case 26: return false; // oid: has no sign, as nothing else
        default: return form_of(type) != Form::text;
    }
}

/// The integer whose highest byte comes first, with its sign.
[[nodiscard]] inline std::int64_t binary_integer(std::string_view bytes) noexcept {
    if (bytes.empty()) { return 0; }
    std::uint64_t value = (bytes.front() & 0x80) != 0 ? ~0ULL : 0;
    for (const char byte : bytes) { value = value << 8 | static_cast<unsigned char>(byte); }
    return static_cast<std::int64_t>(value);
}

namespace detail {

// 2000-01-01, where PostgreSQL counts from.
inline constexpr std::int64_t first_microsecond = 946'684'800'000'000;
inline constexpr std::int32_t first_day = 10'957;

// As the text NaN is read: without the sign and payload that an operation left.
[[nodiscard]] inline Cell binary_real(double real) noexcept {
    return Cell::real(std::isnan(real) ? std::numeric_limits<double>::quiet_NaN() : real);
}

[[nodiscard]] inline Cell binary_timestamp(std::int64_t us) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const bool infinite = us == most || us == std::numeric_limits<std::int64_t>::min();
    if (infinite || us > most - first_microsecond) { refuse_text("a finite timestamp"); }
    return Cell::timestamp(us + first_microsecond);
}

[[nodiscard]] inline Cell binary_date(std::int32_t days) {
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    const bool infinite = days == most || days == std::numeric_limits<std::int32_t>::min();
    if (infinite || days > most - first_day) { refuse_text("a finite date"); }
    return Cell::date(days + first_day);
}

} // namespace detail

/// The value that the server sent as `bytes`, which the cell looks at: the same that `cell_from`
/// reads of its text. *Requires* a type that `has_binary_form`.
///
/// *Throws* `Error` (`value_mismatch`), its sentence beginning with "holds".
[[nodiscard]] inline Cell cell_from_binary(std::string_view bytes, Form form) {
    const std::int64_t number = bytes.size() <= 8 ? binary_integer(bytes) : 0;
    switch (form) {
        case Form::boolean: return Cell::boolean(number != 0);
        case Form::integer: return Cell::integer(number);
        case Form::real32:
            return detail::binary_real(
                static_cast<double>(std::bit_cast<float>(static_cast<std::int32_t>(number))));
        case Form::real64: return detail::binary_real(std::bit_cast<double>(number));
        case Form::blob: return Cell::blob(aftertouch::detail::as_bytes(bytes));
        case Form::timestamp: return detail::binary_timestamp(number);
        case Form::date: return detail::binary_date(static_cast<std::int32_t>(number));
        case Form::uuid: return Cell::uuid(aftertouch::detail::as_bytes(bytes).first<16>());
        case Form::text: break;
    }
    return Cell::text(bytes);
}

} // namespace aftertouch::postgres
