// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

/// \file
/// What you say about a struct when the defaults don't fit: EntityTraits and the tags used in it.

namespace aftertouch {

/// The seam of an entity. Everything has a default; a specialisation says what differs from it:
///
///     template <> struct aftertouch::EntityTraits<Line> {
///         static constexpr auto table = "order_lines";                  // default: "line"
///         static constexpr auto schema = "shop";                        // default: none
///         static constexpr auto key = at::key<&Line::order, &Line::no>; // default: the field id
///         static constexpr auto columns = at::columns(at::name<&Line::sku>("article"));
///         static constexpr auto fields = at::fields<&Line::order, &Line::no, &Line::sku>;
///     };
///
/// `fields` is for what can't be reflected (a base class, a constructor, more than 100 fields) and
/// for members that aren't columns. Say it before the struct is first used as an entity.
template <class T>
struct EntityTraits {};

template <auto... Members>
struct key_t {};

/// The members that make the key, in their order.
template <auto... Members>
inline constexpr key_t<Members...> key{};

template <auto... Members>
struct fields_t {};

/// The members that are columns, in their order.
template <auto... Members>
inline constexpr fields_t<Members...> fields{};

template <auto Member>
struct column_t {};

/// A member as an argument: `column<&Order::status>`.
template <auto Member>
inline constexpr column_t<Member> column{};

template <auto Member>
struct renamed_t {
    const char* to;
};

/// The column name of one member. *Requires* a literal: the text is looked at while compiling.
template <auto Member>
[[nodiscard]] constexpr renamed_t<Member> name(const char* to) noexcept {
    return {to};
}

template <auto... Members>
struct columns_t {
    std::array<const char*, sizeof...(Members)> to;
};

/// The members whose columns have other names than they; the rest keep theirs.
template <auto... Members>
[[nodiscard]] constexpr columns_t<Members...> columns(renamed_t<Members>... renamed) noexcept {
    return {{renamed.to...}};
}

template <class T>
struct type_t {};

/// A type as an argument: `get(type<Order>, 7)`.
template <class T>
inline constexpr type_t<T> type{};

} // namespace aftertouch
