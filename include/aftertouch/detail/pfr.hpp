// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

#include <boost/pfr/core.hpp>
#include <boost/pfr/tuple_size.hpp>
#if __has_include(<boost/pfr/core_name.hpp>)
#include <boost/pfr/core_name.hpp> // since Boost 1.84
#endif

/// \file
/// The only include of Boost.PFR. The concepts come first and are checked first: PFR answers a
/// struct it can't take with hundreds of lines, or (one member without a default constructor) after
/// minutes.

namespace aftertouch::detail {

/// As many fields as PFR's generated code can name.
#if __has_include(<boost/pfr/core_name.hpp>)
inline constexpr std::size_t pfr_limit = 200;
#else
inline constexpr std::size_t pfr_limit = 100;
#endif

template <class T>
concept PlainClass = std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_polymorphic_v<T> &&
                     !std::is_volatile_v<T>;

template <class T>
struct AnyBaseOf {
    template <class Base>
        requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
    operator Base() const noexcept {
        std::terminate(); // never called: only overload resolution looks at it
    }
};

/// The first thing in the braces of an aggregate is its base class, if it has one.
template <class T>
concept WithoutBases = !requires { T{AnyBaseOf<T>{}}; };

/// Becomes any member, as the type that PFR itself counts with.
template <class T>
struct AnyMember {
    std::size_t ignore;
    template <class Member>
        requires(!std::is_same_v<std::remove_cv_t<Member>, T> && std::is_copy_constructible_v<T>)
    operator Member&() const&& noexcept {
        std::terminate();
    }
    template <class Member>
        requires(!std::is_same_v<std::remove_cv_t<Member>, T> && std::is_copy_constructible_v<T>)
    operator Member&() const& noexcept {
        std::terminate();
    }
    template <class Member>
        requires(!std::is_same_v<std::remove_cv_t<Member>, T> && !std::is_copy_constructible_v<T>)
    operator Member() const&& noexcept {
        std::terminate();
    }
};

template <class T>
inline constexpr std::size_t pfr_count = boost::pfr::tuple_size_v<T>;

/// Braces let a C array take several initialisers, parentheses don't: then PFR has miscounted.
template <class T, std::size_t... I>
[[nodiscard]] consteval bool counts_elements(std::index_sequence<I...>) noexcept {
    return requires { T{AnyMember<T>{I}...}; } && !requires { T(AnyMember<T>{I}...); };
}

/// *Requires* at most pfr_limit fields.
template <class T>
concept WithArrays = counts_elements<T>(std::make_index_sequence<pfr_count<T>>{});

template <class T, std::size_t I>
using PfrField = boost::pfr::tuple_element_t<I, T>;

} // namespace aftertouch::detail
