// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include <aftertouch/detail/builtin.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Between C++ types and columns: which types can be a column, and how a value is read and written.

namespace aftertouch {

/// The seam for types of your own. Specialise it with
///
///     template <> struct aftertouch::Codec<Money> {
///         static std::int64_t encode(const Money& money) { return money.cents; }
///         static Money decode(const std::int64_t& cents) { return {cents}; }
///     };
///
/// where the type in the middle is one that can be a column. It also replaces what is built in: an
/// enum is stored as its number, unless its Codec says std::string.
template <class T>
struct Codec;

namespace detail {

template <class T>
concept HasCodec = requires(const T& value) { Codec<T>::encode(value); };

template <class T>
using Encoded = std::remove_cvref_t<decltype(Codec<T>::encode(std::declval<const T&>()))>;

template <class T>
concept HasBuiltin = requires { Builtin<T>::column; };

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

struct Traits {
    bool mapped = false;
    ColumnType column = ColumnType::any;
    bool nullable = false;
    bool key = false;
};

template <class T>
[[nodiscard]] consteval Traits traits() noexcept {
    if constexpr (HasCodec<T>) {
        using S = Encoded<T>;
        Traits result{};
        if constexpr (!std::same_as<S, T> && std::default_initializable<S> &&
                      requires(const S& stored) {
                          { Codec<T>::decode(stored) } -> std::convertible_to<T>;
                      }) {
            result = traits<S>();
        }
        return result;
    } else if constexpr (is_optional<T>) {
        constexpr Traits inner = traits<typename T::value_type>();
        return {inner.mapped && !inner.nullable, inner.column, true, false};
    } else if constexpr (HasBuiltin<T>) {
        return {true, Builtin<T>::column, Builtin<T>::column == ColumnType::any, Builtin<T>::key};
    } else {
        return {};
    }
}

template <class T>
inline constexpr Traits traits_of = traits<T>();

} // namespace detail

/// Can be a column: bool, integers (characters aren't), enums, float, double, std::string, a vector
/// of std::byte or std::uint8_t, a time_point of the system clock, sys_days, year_month_day, Value,
/// boost::uuids::uuid with <aftertouch/uuid.hpp>, what has a Codec, and std::optional of these.
template <class T>
concept Mapped = detail::traits_of<T>.mapped;

template <Mapped T>
inline constexpr ColumnType column_type = detail::traits_of<T>.column;

/// Whether null can be read into it.
template <Mapped T>
inline constexpr bool nullable = detail::traits_of<T>.nullable;

/// Can be part of a key: everything whose equality is beyond doubt. Not floats, bool, or what can
/// be null.
template <class T>
concept KeyPart = Mapped<T> && detail::traits_of<T>.key;

/// Reads into an object that is there, keeping the storage it has.
/// *Throws* Error(value_mismatch), its sentence beginning with "holds", when that isn't possible
/// without loss; `out` is unchanged then.
template <Mapped T>
void decode(Cell cell, T& out) {
    if constexpr (detail::HasCodec<T>) {
        detail::Encoded<T> stored{};
        decode(cell, stored);
        out = Codec<T>::decode(stored);
    } else if constexpr (detail::is_optional<T>) {
        if (cell.is_null()) {
            out.reset();
        } else if (out.has_value()) {
            decode(cell, *out);
        } else {
            typename T::value_type value{};
            decode(cell, value);
            out = std::move(value);
        }
    } else {
        detail::Builtin<T>::decode(cell, out);
    }
}

/// Calls `f` with the value as a Cell that looks at the value itself, or at its encoding, which
/// lives until `f` returns. *Throws* Error(value_mismatch) for what no column can hold.
template <Mapped T, class F>
decltype(auto) with_cell(const T& value, F&& f) {
    if constexpr (detail::HasCodec<T>) {
        const auto& stored = Codec<T>::encode(value);
        return with_cell(stored, std::forward<F>(f));
    } else if constexpr (detail::is_optional<T>) {
        return value ? with_cell(*value, std::forward<F>(f)) : std::forward<F>(f)(Cell::null());
    } else {
        return std::forward<F>(f)(detail::Builtin<T>::cell(value));
    }
}

/// A copy that owns its bytes.
template <Mapped T>
[[nodiscard]] Value to_value(const T& value) {
    return with_cell(value, [](Cell cell) { return Value{cell}; });
}

} // namespace aftertouch
