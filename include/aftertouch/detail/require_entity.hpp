// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <aftertouch/detail/entity_check.hpp>
#include <aftertouch/detail/fields.hpp>
#include <aftertouch/detail/row_check.hpp>
#include <aftertouch/fixed_string.hpp>

/// \file
/// The refusals in words. A static_assert in front of everything else makes its sentence the first
/// line of the compiler's answer; a concept alone would bury it.

namespace aftertouch::detail {

/// The compiler's answer names the arguments of this template: the struct, the member and its type.
template <class Struct, fixed_string Member, class Type>
consteval bool refuse_member() noexcept {
    constexpr bool mapped = Mapped<Type>; // the concept itself would explain at length
    static_assert(mapped,
        "a member can't be a column: give its type a Codec, or list the other members: "
        "static constexpr auto fields = at::fields<&T::a, ...>; in EntityTraits<T>");
    return mapped;
}

template <class T, std::size_t I>
consteval auto field_name_as_argument() noexcept {
    constexpr std::string_view text = FieldsOf<T>::template name<I>;
    char literal[text.size() + 1]{};
    for (std::size_t i = 0; i < text.size(); ++i) { literal[i] = text[i]; }
    return fixed_string<text.size() + 1>{literal};
}

template <class T>
consteval bool refuse_first_unmapped() noexcept {
    constexpr std::size_t i = first_unmapped<T>(FieldIndexes<T>{});
    return refuse_member<T, field_name_as_argument<T, i>(), FieldType<T, i>>();
}

/// True, or one error with one sentence. *Requires* what row_problem() or entity_problem() found.
template <class T, Problem Found>
consteval bool require_row_problem_none() noexcept {
    static_assert(Found != Problem::not_plain,
        "T isn't a plain struct (no constructor, private member or virtual function): make "
        "it one, or list its fields in EntityTraits<T>");
    static_assert(Found != Problem::has_base,
        "T has a base class, which can't be reflected: list its fields: "
        "static constexpr auto fields = at::fields<&T::a, ...>; in EntityTraits<T>");
    static_assert(Found != Problem::not_default_constructible,
        "T can't be default-constructed: every member needs a default constructor or an "
        "initialiser, and none may be a reference");
    static_assert(Found != Problem::too_many_fields,
        "T has more fields than Boost.PFR can reflect (100, or 200 since Boost 1.84): split "
        "it, or list its fields in EntityTraits<T>");
    static_assert(Found != Problem::c_array,
        "T has a C array, which can't be a column: use std::string or std::vector");
    static_assert(Found != Problem::no_fields, "T has no fields: a row needs at least one");
    static_assert(Found != Problem::not_a_field_list,
        "fields in EntityTraits<T> isn't a list of fields: write "
        "static constexpr auto fields = at::fields<&T::a, &T::b>;");
    static_assert(Found != Problem::foreign_field,
        "fields in EntityTraits<T> names a member of another struct: name members of T");
    static_assert(Found != Problem::const_field,
        "T has a const member, into which no row can be read: remove the const");
    if constexpr (Found == Problem::unmapped) {
        return refuse_first_unmapped<T>();
    } else {
        return Found == Problem::none;
    }
}

template <class T, Problem Found>
consteval bool require_key_and_names() noexcept {
    static_assert(Found != Problem::traits_are_types,
        "EntityTraits<T> has a type where a variable is expected: write "
        "static constexpr auto key = at::key<&T::a>; and not using key = ...");
    static_assert(Found != Problem::no_key,
        "T has no key: call a field id, or write "
        "static constexpr auto key = at::key<&T::a>; in EntityTraits<T>");
    static_assert(Found != Problem::not_a_key,
        "key in EntityTraits<T> isn't a list of members: write "
        "static constexpr auto key = at::key<&T::a, &T::b>;");
    static_assert(Found != Problem::key_of_another,
        "key in EntityTraits<T> names what isn't a field of T: name members of T, and if "
        "T lists its fields, list them there as well");
    static_assert(Found != Problem::key_twice,
        "key in EntityTraits<T> names one field twice: name each once");
    static_assert(Found != Problem::key_part,
        "a field of that type can't be part of a key: use an integer, an enum, text, bytes, "
        "a uuid, a date or a time (not a float, a bool or an optional)");
    static_assert(Found != Problem::not_a_rename,
        "columns in EntityTraits<T> isn't a list of names: write "
        "static constexpr auto columns = at::columns(at::name<&T::a>(\"a_column\"));");
    static_assert(Found != Problem::foreign_rename,
        "columns in EntityTraits<T> renames what isn't a field of T: name members of T");
    static_assert(Found != Problem::column_names,
        "two fields of T have the same column name (A to Z and a to z are the same), or one "
        "has none: give each its own with columns in EntityTraits<T>");
    static_assert(Found != Problem::no_table_name,
        "T has no name to call a table by: write "
        "static constexpr auto table = \"...\"; in EntityTraits<T>");
    return Found == Problem::none;
}

/// True for an entity, a refusal in words for anything else.
template <class T>
consteval bool require_entity() noexcept {
    constexpr Problem found = entity_problem<T>();
    if constexpr (found == row_problem<T>()) {
        return require_row_problem_none<T, found>();
    } else {
        return require_key_and_names<T, found>();
    }
}

} // namespace aftertouch::detail
