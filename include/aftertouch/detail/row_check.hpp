// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <aftertouch/codec.hpp>
#include <aftertouch/detail/fields.hpp>
#include <aftertouch/detail/pfr.hpp>
#include <aftertouch/traits.hpp>

/// \file
/// What keeps rows from being read into a struct, found in an order that never lets Boost.PFR see
/// what it can't take.

namespace aftertouch::detail {

enum class Problem {
    none,
    not_plain,
    has_base,
    not_default_constructible,
    too_many_fields,
    c_array,
    no_fields,
    not_a_field_list,
    foreign_field,
    const_field,
    unmapped,
    traits_are_types,
    no_key,
    not_a_key,
    key_of_another,
    key_twice,
    key_part,
    not_a_rename,
    foreign_rename,
    column_names,
    no_table_name,
};

template <class T>
inline constexpr bool is_tag_of_members = false;
template <auto... Members>
inline constexpr bool is_tag_of_members<key_t<Members...>> =
    (std::is_member_object_pointer_v<decltype(Members)> && ...);
template <auto... Members>
inline constexpr bool is_tag_of_members<fields_t<Members...>> =
    (std::is_member_object_pointer_v<decltype(Members)> && ...);
template <auto... Members>
inline constexpr bool is_tag_of_members<columns_t<Members...>> =
    (std::is_member_object_pointer_v<decltype(Members)> && ...);

template <class Tag, template <auto...> class Template>
inline constexpr bool is_tag = false;
template <auto... Members, template <auto...> class Template>
inline constexpr bool is_tag<Template<Members...>, Template> =
    is_tag_of_members<Template<Members...>>;

/// A member of T itself or of a base class of it.
template <class T, auto Member>
inline constexpr bool is_member_of = std::is_base_of_v<OwnerOf<Member>, T>;

template <class T, auto... Members>
consteval bool all_members_of(fields_t<Members...>) noexcept {
    return (is_member_of<T, Members> && ...);
}
template <class T, std::size_t... I>
consteval std::size_t first_unmapped(std::index_sequence<I...>) noexcept {
    std::size_t found = not_found;
    static_cast<void>(((Mapped<FieldType<T, I>> ? false : (found = I, true)) || ...));
    return found;
}

template <class T, std::size_t... I>
consteval bool has_const_field(std::index_sequence<I...>) noexcept {
    return (std::is_const_v<FieldType<T, I>> || ...);
}

template <class T>
using FieldIndexes = std::make_index_sequence<FieldsOf<T>::count>;

/// What keeps T from being reflected.
template <class T>
consteval Problem reflection_problem() noexcept {
    if constexpr (!PlainClass<T>) {
        return Problem::not_plain;
    } else if constexpr (!WithoutBases<T>) {
        return Problem::has_base;
    } else if constexpr (!std::default_initializable<T>) {
        return Problem::not_default_constructible;
    } else if constexpr (pfr_count<T> > pfr_limit) {
        return Problem::too_many_fields;
    } else if constexpr (WithArrays<T>) {
        return Problem::c_array;
    } else {
        return Problem::none;
    }
}

/// What keeps the list in EntityTraits<T> from being taken.
template <class T>
consteval Problem list_problem() noexcept {
    using List = std::remove_const_t<decltype(EntityTraits<T>::fields)>;
    if constexpr (!is_tag<List, fields_t>) {
        return Problem::not_a_field_list;
    } else if constexpr (!all_members_of<T>(List{})) {
        return Problem::foreign_field;
    } else if constexpr (!std::default_initializable<T>) {
        return Problem::not_default_constructible;
    } else {
        return Problem::none;
    }
}

template <class T>
consteval Problem fields_problem() noexcept {
    if constexpr (HasFieldList<T>) {
        return list_problem<T>();
    } else {
        return reflection_problem<T>();
    }
}

/// What keeps rows from being read into T.
template <class T>
consteval Problem row_problem() noexcept {
    if constexpr (!std::is_class_v<T> || std::is_const_v<T>) {
        return Problem::not_plain;
    } else if constexpr (fields_problem<T>() != Problem::none) {
        return fields_problem<T>();
    } else if constexpr (FieldsOf<T>::count == 0) {
        return Problem::no_fields;
    } else if constexpr (has_const_field<T>(FieldIndexes<T>{})) {
        return Problem::const_field;
    } else if constexpr (first_unmapped<T>(FieldIndexes<T>{}) != not_found) {
        return Problem::unmapped;
    } else {
        return Problem::none;
    }
}

} // namespace aftertouch::detail
