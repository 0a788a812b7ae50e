// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/codec.hpp>
#include <aftertouch/detail/fields.hpp>
#include <aftertouch/detail/require_entity.hpp>
#include <aftertouch/detail/row_check.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/fixed_string.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Reading rows: of an entity's table by name, of any query by position.

namespace aftertouch {

namespace detail {

template <class R>
inline constexpr bool is_tuple_row = false;
template <class... Columns>
inline constexpr bool is_tuple_row<std::tuple<Columns...>> = sizeof...(Columns) > 0 &&
                                                             (Mapped<Columns> && ...);

template <class R>
consteval bool is_row() noexcept {
    if constexpr (Mapped<R> || is_tuple<R>) {
        return Mapped<R> || is_tuple_row<R>;
    } else {
        return row_problem<R>() == Problem::none;
    }
}

template <class R>
consteval std::size_t width_of() noexcept {
    if constexpr (Mapped<R>) {
        return 1;
    } else if constexpr (is_tuple<R>) {
        return std::tuple_size_v<R>;
    } else {
        return FieldsOf<R>::count;
    }
}

} // namespace detail

/// What a query's answer can be read into: a plain struct of columns (no key needed), a std::tuple
/// of columns, or one column's type for queries of one column.
template <class R>
concept Row = detail::is_row<R>() ||
              unmet<"a row is a plain struct or a std::tuple of columns, or one column's type">();

/// How many columns it takes.
template <Row R>
inline constexpr std::size_t row_width = detail::width_of<R>();

namespace detail {

/// True for a row, a refusal in words for anything else.
template <class R>
consteval bool require_row() noexcept {
    if constexpr (Mapped<R>) {
        return true;
    } else if constexpr (is_tuple<R>) {
        static_assert(is_tuple_row<R>,
            "a tuple has an element that can't be a column: give its type a Codec");
        return is_tuple_row<R>;
    } else {
        return require_row_problem_none<R, row_problem<R>()>();
    }
}

[[noreturn]] inline void rethrow_at(const Error& error, const std::string& where) {
    if (error.code() != Errc::value_mismatch) { throw error; }
    throw Error{Errc::value_mismatch, where + " " + error.what(),
        {.native_code = 0, .statement = {}, .where = where, .in_doubt = false}};
}

[[noreturn]] inline void refuse_width(const std::string& what, std::size_t has, std::size_t wants) {
    throw Error{Errc::value_mismatch, what + " has " + std::to_string(has) + " columns where " +
                                          std::to_string(wants) +
                                          " are expected: name the columns in the query"};
}

/// Cells by `cells[i]` or `cells(i)`.
template <class Cells>
[[nodiscard]] Cell cell_at(const Cells& cells, std::size_t i) {
    if constexpr (requires {
                      { cells[i] } -> std::convertible_to<Cell>;
                  }) {
        return cells[i];
    } else {
        return cells(i);
    }
}

template <class R, std::size_t... I, class Cells>
void decode_columns(R& out, const Cells& cells, std::size_t& at, std::index_sequence<I...>) {
    if constexpr (Mapped<R>) {
        decode(cell_at(cells, 0), out);
    } else if constexpr (is_tuple<R>) {
        ((at = I, decode(cell_at(cells, I), std::get<I>(out))), ...);
    } else {
        ((at = I, decode(cell_at(cells, I), FieldsOf<R>::template get<I>(out))), ...);
    }
}

/// "column 2", or "column 2 (amount)" where fields have names.
template <class R>
[[nodiscard]] std::string column_text(std::size_t at) {
    std::string text = "column " + std::to_string(at + 1);
    if constexpr (!Mapped<R> && !is_tuple<R>) {
        const auto names = names_before_renames<R>(FieldIndexes<R>{});
        text.append(" (").append(names[at]).append(")");
    }
    return text;
}

} // namespace detail

/// Reads the columns of one row by position, reusing the storage of `out`. `cells` has size() and
/// gives a Cell for `cells[i]` or `cells(i)`. *Throws* Error(value_mismatch) that names the column;
/// the columns before it are read then.
template <Row R, class Cells>
void decode_row(R& out, const Cells& cells) {
    if (cells.size() != row_width<R>) {
        detail::refuse_width("the query's answer", cells.size(), row_width<R>);
    }
    std::size_t at = 0;
    try {
        detail::decode_columns(out, cells, at, std::make_index_sequence<row_width<R>>{});
    } catch (const Error& error) { detail::rethrow_at(error, detail::column_text<R>(at)); }
}

namespace detail {

template <Entity T>
[[noreturn]] void rethrow_at_field(const Error& error, std::size_t field) {
    const std::string_view column = column_names<T>()[field];
    rethrow_at(error, table_name<T>().text().append(".").append(column));
}

template <class T, std::size_t I>
void decode_field(Cell cell, T& out) {
    decode(cell, FieldsOf<T>::template get<I>(out));
}

template <class T, std::size_t... I>
consteval auto make_field_decoders(std::index_sequence<I...>) noexcept {
    return std::array{&decode_field<T, I>...};
}

/// By index at run time.
template <class T>
inline constexpr auto field_decoders = make_field_decoders<T>(FieldIndexes<T>{});

template <class T, std::size_t I>
Value encode_field(const T& record) {
    return to_value(FieldsOf<T>::template get<I>(record));
}

template <class T, std::size_t... I>
consteval auto make_field_encoders(std::index_sequence<I...>) noexcept {
    return std::array{&encode_field<T, I>...};
}

template <class T>
inline constexpr auto field_encoders = make_field_encoders<T>(FieldIndexes<T>{});

} // namespace detail

/// Reads all columns of an entity in the order of its fields, reusing the storage of `out`.
/// *Throws* Error(value_mismatch) that names table and column; the fields before it are read then.
template <Entity T>
void decode_record(std::span<const Cell> cells, T& out) {
    if (cells.size() != field_count<T>) {
        detail::refuse_width("a row of " + table_name<T>().text(), cells.size(), field_count<T>);
    }
    std::size_t at = 0;
    try {
        detail::decode_columns(out, cells, at, std::make_index_sequence<field_count<T>>{});
    } catch (const Error& error) { detail::rethrow_at_field<T>(error, at); }
}

/// Reads some columns of an entity: cell i goes to field `fields[i]`, the others stay as they are.
/// *Requires* as many cells as fields, and indexes below field_count.
/// *Throws* Error(value_mismatch) that names table and column; the fields before it are read then.
template <Entity T>
void decode_fields(std::span<const Cell> cells, std::span<const std::size_t> fields, T& out) {
    std::size_t i = 0;
    try {
        for (; i < cells.size(); ++i) { detail::field_decoders<T>[fields[i]](cells[i], out); }
    } catch (const Error& error) { detail::rethrow_at_field<T>(error, fields[i]); }
}

/// The values of some fields of an entity; `decode_fields` reads them. *Requires* indexes below
/// field_count.
template <Entity T>
[[nodiscard]] std::vector<Value> encode_fields(
    const T& record, std::span<const std::size_t> fields) {
    std::vector<Value> values;
    values.reserve(fields.size());
    for (const std::size_t field : fields) {
        values.push_back(detail::field_encoders<T>[field](record));
    }
    return values;
}
/// The values of all of them; `decode_record` reads them.
template <Entity T>
[[nodiscard]] std::vector<Value> encode_record(const T& record) {
    std::vector<Value> values;
    for (const auto encode : detail::field_encoders<T>) { values.push_back(encode(record)); }
    return values;
}

/// Copies a record, through its values where its type has no copy.
template <Entity T>
void copy_record(const T& from, T& to) {
    if constexpr (std::is_copy_assignable_v<T>) {
        to = from;
    } else {
        const std::vector<Value> values = encode_record(from);
        decode_record(std::span<const Cell>{std::vector<Cell>(values.begin(), values.end())}, to);
    }
}

/// Reads the parts of an entity's key, in the key's order. *Requires* as many cells as parts.
/// *Throws* Error(value_mismatch) that names table and column.
template <Entity T>
void decode_key(std::span<const Cell> cells, Key<T>& out) {
    std::size_t part = 0;
    try {
        for_each_key_part(out, [&](auto& value) {
            decode(cells[part], value);
            ++part;
        });
    } catch (const Error& error) { detail::rethrow_at_field<T>(error, key_indices<T>[part]); }
}

} // namespace aftertouch
