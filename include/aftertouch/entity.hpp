// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <aftertouch/codec.hpp>
#include <aftertouch/detail/entity_check.hpp>
#include <aftertouch/detail/fields.hpp>
#include <aftertouch/detail/require_entity.hpp>
#include <aftertouch/fixed_string.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/traits.hpp>

/// \file
/// Entities: structs that stand for the rows of a table, and what is known of them while compiling.
///
/// The seams of the library, the places made for code of yours:
///   EntityTraits<T>   table, key, column names and fields of a struct       traits.hpp
///   Codec<T>          a type of your own as a column                        codec.hpp
///   ChangeSource      what a pipeline reads                                 source.hpp
///   ChangeHandler     what a pipeline runs                                  handler.hpp
///   StorageBackend    an engine                                             backend.hpp
///   Dialect           an engine's SQL                                       backends/<engine>/
///   Observer          who is told what a pipeline does                      observer.hpp

namespace aftertouch {

/// A struct with a key that can stand for the rows of a table. Asking is always allowed and never
/// an error; what wants to refuse in words says static_assert(detail::require_entity<T>()).
template <class T>
concept Entity =
    (detail::row_problem<T>() == detail::Problem::none ||
        unmet<"an entity is a plain struct whose members are all columns, or it lists its "
              "fields">()) &&
    (detail::key_problem<T>() == detail::Problem::none ||
        unmet<"an entity needs a key: a field called id, or a key in EntityTraits">()) &&
    (detail::rename_problem<T>() == detail::Problem::none ||
        unmet<"columns in EntityTraits rename fields of the same struct">()) &&
    (detail::entity_problem<T>() == detail::Problem::none ||
        unmet<"an entity needs a table name and column names that differ">());

namespace detail {

/// The same, but what isn't one is refused in words: for what a program names before it asks for a
/// source.
template <class T>
concept NamedEntity = Entity<T> || require_entity<T>();

} // namespace detail

template <Entity T>
inline constexpr std::size_t field_count = detail::FieldsOf<T>::count;

template <Entity T, std::size_t I>
using field_type = detail::FieldType<T, I>;

/// The I-th field of an entity, whether reflected or listed.
template <std::size_t I, Entity T>
[[nodiscard]] constexpr auto& field(T& entity) noexcept {
    return detail::FieldsOf<T>::template get<I>(entity);
}
template <std::size_t I, Entity T>
[[nodiscard]] constexpr const auto& field(const T& entity) noexcept {
    return detail::FieldsOf<T>::template get<I>(entity);
}

/// The columns in the order of the fields, after renames: a std::array of std::string_view.
template <Entity T>
[[nodiscard]] constexpr const auto& column_names() noexcept {
    return detail::column_names_of<T>;
}

/// `field_index<&Order::amount>`. An inherited member needs the struct as well, for &Order::amount
/// says only where it was declared: `field_index<&Order::amount, Order>`.
template <auto Member, class T = detail::OwnerOf<Member>>
    requires Entity<T>
inline constexpr std::size_t field_index = detail::index_in<T, Member>;

/// The fields that make the key, in the key's order.
template <Entity T>
inline constexpr const auto& key_indices = detail::key_indices_of<T>;

namespace detail {

template <class T, std::size_t... I>
consteval auto key_type(std::index_sequence<I...>) noexcept {
    if constexpr (sizeof...(I) == 1) {
        return std::type_identity<FieldType<T, key_indices_of<T>[0]>>{};
    } else {
        return std::type_identity<std::tuple<FieldType<T, key_indices_of<T>[I]>...>>{};
    }
}

template <class T>
using KeyIndexes = std::make_index_sequence<key_indices_of<T>.size()>;

template <class K>
inline constexpr bool is_tuple = false;
template <class... Parts>
inline constexpr bool is_tuple<std::tuple<Parts...>> = true;

} // namespace detail

/// The field's type if the key is one field, else a std::tuple in the key's order.
template <Entity T>
using Key = typename decltype(detail::key_type<T>(detail::KeyIndexes<T>{}))::type;

template <Entity T>
[[nodiscard]] Key<T> key_of(const T& entity) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return Key<T>{field<detail::key_indices_of<T>[I]>(entity)...};
    }(detail::KeyIndexes<T>{});
}

/// Calls `f(part)` for every part of a key in order, whether it is one or a tuple.
template <class K, class F>
constexpr void for_each_key_part(K&& key, F&& f) {
    if constexpr (detail::is_tuple<std::remove_cvref_t<K>>) {
        std::apply([&](auto&... part) { (f(part), ...); }, key);
    } else {
        f(key);
    }
}

/// The name in EntityTraits, or the class's own name in snake case.
template <Entity T>
[[nodiscard]] TableName table_name() {
    TableName result;
    if constexpr (requires { EntityTraits<T>::schema; }) {
        result.schema = EntityTraits<T>::schema;
    }
    if constexpr (requires { EntityTraits<T>::table; }) {
        result.name = EntityTraits<T>::table;
    } else {
        result.name = snake_case(detail::class_name<T>());
    }
    return result;
}

} // namespace aftertouch
