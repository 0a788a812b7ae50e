// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>

#include <aftertouch/detail/pfr.hpp>

/// \file
/// Names of fields, members and classes as text: from PFR where it has them (Boost 1.84), else read
/// out of the compiler's own spelling of a template argument.

namespace aftertouch::detail {

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template" // that it is never defined is the point
#pragma clang diagnostic ignored "-Wundefined-internal"     // the same, for a T without linkage
#endif
template <class T>
struct Boxed {
    T value;
};

/// An object whose subobjects have addresses at compile time, and that never has to be made.
template <class T>
struct NeverDefined {
    static const Boxed<T> object;
};

/// Makes the address of a subobject a template argument for clang before 18.
template <class P>
struct Subobject {
    P address;
};
template <class P>
Subobject(P) -> Subobject<P>;

// These two return auto: g++ spells out a named return type in the text, and its length varies.
template <auto Argument>
consteval auto signature() noexcept {
    return std::string_view{__PRETTY_FUNCTION__};
}
template <class T>
consteval auto type_signature() noexcept {
    return std::string_view{__PRETTY_FUNCTION__};
}

/// "...shop::Order::customer)}]" or "...object.value.customer}]": the name is what stands before
/// the closing brackets and after the last separator, neither of which an identifier can hold.
[[nodiscard]] consteval std::string_view last_identifier(std::string_view text) noexcept {
    while (text.ends_with(']') || text.ends_with('}') || text.ends_with(')')) {
        text.remove_suffix(1);
    }
    return text.substr(text.find_last_of(".:&") + 1);
}

template <class T, std::size_t I>
consteval auto address() noexcept {
    return Subobject{std::addressof(boost::pfr::get<I>(NeverDefined<T>::object.value))};
}

template <class T, std::size_t I>
consteval std::string_view parsed_name() noexcept {
    return last_identifier(signature<address<T, I>()>());
}

template <class T, std::size_t I, auto Member>
consteval bool is_same_subobject() noexcept {
    return std::addressof(boost::pfr::get<I>(NeverDefined<T>::object.value)) ==
           std::addressof(NeverDefined<T>::object.value.*Member);
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

struct Calibration {
    int zq;
};
static_assert(parsed_name<Calibration, 0>() == "zq",
    "this compiler spells the names of fields in a way not known here: use g++ 12 or clang "
    "16, or a later one");

/// A copy of the name alone: the long signature then never reaches the object file.
template <std::size_t Size>
consteval std::array<char, Size + 1> copied(std::string_view text) noexcept {
    std::array<char, Size + 1> out{};
    for (std::size_t i = 0; i < Size; ++i) { out[i] = text[i]; }
    return out;
}

template <class T, std::size_t I>
struct StoredName {
    static constexpr auto text = copied<parsed_name<T, I>().size()>(parsed_name<T, I>());
};

/// The name of the I-th field as PFR counts.
template <class T, std::size_t I>
[[nodiscard]] constexpr std::string_view pfr_name() noexcept {
#if defined(BOOST_PFR_CORE_NAME_ENABLED) && BOOST_PFR_CORE_NAME_ENABLED &&                         \
    !defined(AFTERTOUCH_NO_PFR_NAMES)
    return boost::pfr::get_name<I, T>();
#else
    return {StoredName<T, I>::text.data(), StoredName<T, I>::text.size() - 1};
#endif
}

template <class M>
struct MemberTraits;
template <class C, class F>
struct MemberTraits<F C::*> {
    using Owner = C;
    using Field = F;
};

/// The class in which the member is declared: for an inherited one that is the base class.
template <auto Member>
using OwnerOf = typename MemberTraits<std::remove_const_t<decltype(Member)>>::Owner;
template <auto Member>
using MemberType = typename MemberTraits<std::remove_const_t<decltype(Member)>>::Field;

template <auto Member>
struct StoredMemberName {
    static constexpr auto text =
        copied<last_identifier(signature<Member>()).size()>(last_identifier(signature<Member>()));
};

/// The name of a pointer to member; needs no PFR.
template <auto Member>
    requires std::is_member_object_pointer_v<decltype(Member)>
[[nodiscard]] constexpr std::string_view member_name() noexcept {
    return {StoredMemberName<Member>::text.data(), StoredMemberName<Member>::text.size() - 1};
}
static_assert(member_name<&Calibration::zq>() == "zq");

/// Where the bracket that `text` begins with is closed; its size if it isn't. Character literals
/// among template arguments may be brackets and don't count.
[[nodiscard]] consteval std::size_t closing_bracket(std::string_view text) noexcept {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\'') {
            i = text.find('\'', i + (i + 1 < text.size() && text[i + 1] == '\\' ? 3 : 2));
            if (i == std::string_view::npos) { return text.size(); }
        } else if (text[i] == '<' || text[i] == '(' || text[i] == '{') {
            ++depth;
        } else if ((text[i] == '>' || text[i] == ')' || text[i] == '}') && --depth == 0) {
            return i;
        }
    }
    return text.size();
}

/// "shop::Odd<'>'>::Order<int>" is Order: what begins behind the last "::" outside of brackets.
[[nodiscard]] consteval std::string_view class_identifier(std::string_view type) noexcept {
    std::size_t begin = 0;
    std::size_t end = 0;
    for (std::size_t i = 0; i < type.size(); ++i) {
        if (type[i] == '<' || type[i] == '(' || type[i] == '{') {
            i += closing_bracket(type.substr(i));
        } else if (type[i] == ':' || type[i] == ' ') {
            begin = i + 1;
        } else {
            end = i + 1;
        }
    }
    return begin < end ? type.substr(begin, end - begin) : std::string_view{};
}

template <class T>
consteval std::string_view parsed_class_name() noexcept {
    std::string_view text = type_signature<T>();
    text.remove_prefix(text.find("T = ") + 4);
    text.remove_suffix(1);
    text = class_identifier(text);
    return text.substr(0, text.find('<'));
}

template <class T>
struct StoredClassName {
    static constexpr auto text = copied<parsed_class_name<T>().size()>(parsed_class_name<T>());
};

/// The class's own name without namespaces and template arguments; empty if it has none.
template <class T>
[[nodiscard]] constexpr std::string_view class_name() noexcept {
    return {StoredClassName<T>::text.data(), StoredClassName<T>::text.size() - 1};
}
static_assert(class_name<Calibration>() == "Calibration");

} // namespace aftertouch::detail
