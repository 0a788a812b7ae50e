// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <aftertouch/codec.hpp>
#include <aftertouch/detail/fields.hpp>
#include <aftertouch/detail/names.hpp>
#include <aftertouch/detail/row_check.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/traits.hpp>

/// \file
/// What keeps a struct from being an entity: as a row it must do, then come its key and its names.

namespace aftertouch::detail {

template <class T, auto Member>
consteval bool is_field_of() noexcept {
    if constexpr (is_member_of<T, Member>) {
        return index_in<T, Member> != not_found;
    } else {
        return false;
    }
}

template <class T, auto... Members>
consteval bool all_fields_of(key_t<Members...>) noexcept {
    return (is_field_of<T, Members>() && ...);
}
template <class T, auto... Members>
consteval bool all_fields_of(columns_t<Members...>) noexcept {
    return (is_field_of<T, Members>() && ...);
}

template <class T>
concept HasKey = requires { EntityTraits<T>::key; };

/// Columns are told apart as engines do it: without regard to the case of A to Z.
[[nodiscard]] constexpr bool same_column(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) { return false; }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (to_lower(a[i]) != to_lower(b[i])) { return false; }
    }
    return true;
}

template <class T>
consteval bool column_names_are_good() noexcept {
    const auto& names = column_names_of<T>;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].empty() || !valid_utf8(names[i])) { return false; }
        for (std::size_t j = 0; j < i; ++j) {
            if (same_column(names[i], names[j])) { return false; }
        }
    }
    return true;
}

/// The field called id, not_found if there is none.
template <class T>
consteval std::size_t index_of_id() noexcept {
    const auto names = names_before_renames<T>(FieldIndexes<T>{});
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == "id") { return i; }
    }
    return not_found;
}

template <class T, auto... Members>
consteval auto indexes_of(key_t<Members...>) noexcept {
    return std::array<std::size_t, sizeof...(Members)>{index_in<T, Members>...};
}

template <class T>
consteval auto make_key_indices() noexcept {
    if constexpr (HasKey<T>) {
        return indexes_of<T>(EntityTraits<T>::key);
    } else {
        return std::array<std::size_t, 1>{index_of_id<T>()};
    }
}

template <class T>
inline constexpr auto key_indices_of = make_key_indices<T>();

template <class T>
consteval bool key_repeats() noexcept {
    for (std::size_t i = 0; i < key_indices_of<T>.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (key_indices_of<T>[i] == key_indices_of<T>[j]) { return true; }
        }
    }
    return false;
}

template <class T, std::size_t... I>
consteval bool key_parts_are_good(std::index_sequence<I...>) noexcept {
    return (KeyPart<FieldType<T, key_indices_of<T>[I]>> && ...);
}

template <class T>
consteval Problem key_problem() noexcept {
    if constexpr (HasKey<T>) {
        using Tag = std::remove_const_t<decltype(EntityTraits<T>::key)>;
        if constexpr (!is_tag<Tag, key_t> || std::is_same_v<Tag, key_t<>>) {
            return Problem::not_a_key;
        } else if constexpr (!all_fields_of<T>(Tag{})) {
            return Problem::key_of_another;
        } else if constexpr (key_repeats<T>()) {
            return Problem::key_twice;
        } else if constexpr (!key_parts_are_good<T>(
                                 std::make_index_sequence<key_indices_of<T>.size()>{})) {
            return Problem::key_part;
        } else {
            return Problem::none;
        }
    } else if constexpr (index_of_id<T>() == not_found) {
        return Problem::no_key;
    } else {
        return KeyPart<FieldType<T, index_of_id<T>()>> ? Problem::none : Problem::key_part;
    }
}

template <class T>
consteval Problem rename_problem() noexcept {
    if constexpr (requires { EntityTraits<T>::columns; }) {
        using Tag = std::remove_const_t<decltype(EntityTraits<T>::columns)>;
        if constexpr (!is_tag<Tag, columns_t>) {
            return Problem::not_a_rename;
        } else if constexpr (!all_fields_of<T>(Tag{})) {
            return Problem::foreign_rename;
        }
    }
    return Problem::none;
}

template <class T>
concept TraitsAreTypes =
    requires { typename EntityTraits<T>::key; } || requires { typename EntityTraits<T>::fields; } ||
    requires { typename EntityTraits<T>::columns; } ||
    requires { typename EntityTraits<T>::table; };

template <class T>
consteval bool has_table_name() noexcept {
    if constexpr (requires { EntityTraits<T>::table; }) {
        return !std::string_view{EntityTraits<T>::table}.empty();
    } else {
        return !class_name<T>().empty();
    }
}

/// The first thing that keeps T from being an entity.
template <class T>
consteval Problem entity_problem() noexcept {
    if constexpr (TraitsAreTypes<T>) {
        return Problem::traits_are_types;
    } else if constexpr (row_problem<T>() != Problem::none) {
        return row_problem<T>();
    } else if constexpr (key_problem<T>() != Problem::none) {
        return key_problem<T>();
    } else if constexpr (rename_problem<T>() != Problem::none) {
        return rename_problem<T>();
    } else if constexpr (!column_names_are_good<T>()) {
        return Problem::column_names;
    } else if constexpr (!has_table_name<T>()) {
        return Problem::no_table_name;
    } else {
        return Problem::none;
    }
}

} // namespace aftertouch::detail
