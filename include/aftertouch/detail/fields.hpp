// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <aftertouch/detail/names.hpp>
#include <aftertouch/detail/pfr.hpp>
#include <aftertouch/traits.hpp>

/// \file
/// The fields of a struct, one interface over both ways to know them: reflected or listed by hand.
/// Nothing here checks the struct; detail/entity_check.hpp does, and comes first.

namespace aftertouch::detail {

template <class T>
concept HasFieldList = requires { EntityTraits<T>::fields; };

/// No such index, for a member that isn't a field.
inline constexpr std::size_t not_found = static_cast<std::size_t>(-1);

template <auto A, auto B>
consteval bool is_same_member() noexcept {
    if constexpr (std::is_same_v<decltype(A), decltype(B)>) {
        return A == B;
    } else {
        return false;
    }
}

template <class T>
struct ReflectedFields {
    static constexpr std::size_t count = pfr_count<T>;

    template <std::size_t I>
    using Type = PfrField<T, I>;

    template <std::size_t I>
    static constexpr std::string_view name = pfr_name<T, I>();

    template <std::size_t I, class U>
    static constexpr auto& get(U& object) noexcept {
        return boost::pfr::get<I>(object);
    }

    template <auto Member, std::size_t I>
    static consteval bool is() noexcept {
        if constexpr (std::is_same_v<Type<I>, MemberType<Member>>) {
            return is_same_subobject<T, I, Member>();
        } else {
            return false;
        }
    }
};

template <class T, class List>
struct ListedFields;

template <class T, auto... Members>
struct ListedFields<T, fields_t<Members...>> {
    static constexpr std::size_t count = sizeof...(Members);
    static constexpr std::tuple<decltype(Members)...> members{Members...};

    template <std::size_t I>
    using Type =
        typename MemberTraits<std::tuple_element_t<I, std::tuple<decltype(Members)...>>>::Field;

    static constexpr std::array<std::string_view, count> names{member_name<Members>()...};
    template <std::size_t I>
    static constexpr std::string_view name = names[I];

    template <std::size_t I, class U>
    static constexpr auto& get(U& object) noexcept {
        return object.*std::get<I>(members);
    }

    template <auto Member, std::size_t I>
    static consteval bool is() noexcept {
        return is_same_member<std::get<I>(members), Member>();
    }
};

template <class T>
consteval auto fields_of() noexcept {
    if constexpr (HasFieldList<T>) {
        return ListedFields<T, std::remove_const_t<decltype(EntityTraits<T>::fields)>>{};
    } else {
        return ReflectedFields<T>{};
    }
}

template <class T>
using FieldsOf = decltype(fields_of<T>());

template <class T, std::size_t I>
using FieldType = typename FieldsOf<T>::template Type<I>;

template <class T, auto Member, std::size_t... I>
consteval std::size_t find_field(std::index_sequence<I...>) noexcept {
    std::size_t found = not_found;
    static_cast<void>(((FieldsOf<T>::template is<Member, I>() ? (found = I, true) : false) || ...));
    return found;
}

/// The index of a member among the fields of T, not_found if it isn't one.
template <class T, auto Member>
inline constexpr std::size_t index_in =
    find_field<T, Member>(std::make_index_sequence<FieldsOf<T>::count>{});

template <class T, std::size_t... I>
consteval auto names_before_renames(std::index_sequence<I...>) noexcept {
    return std::array<std::string_view, sizeof...(I)>{FieldsOf<T>::template name<I>...};
}

template <class T, auto... Members>
constexpr void rename(std::array<std::string_view, FieldsOf<T>::count>& names,
    const columns_t<Members...>& renamed) noexcept {
    std::size_t i = 0;
    ((names[index_in<T, Members>] = renamed.to[i++]), ...);
}

template <class T>
consteval auto make_column_names() noexcept {
    auto names = names_before_renames<T>(std::make_index_sequence<FieldsOf<T>::count>{});
    if constexpr (requires { EntityTraits<T>::columns; }) {
        rename<T>(names, EntityTraits<T>::columns);
    }
    return names;
}

/// The column of each field, in the order of the fields.
template <class T>
inline constexpr auto column_names_of = make_column_names<T>();

} // namespace aftertouch::detail
