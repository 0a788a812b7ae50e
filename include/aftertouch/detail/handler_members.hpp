// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>
#include <utility>

/// \file
/// Members of a handler, by name: how one is called, and whether a class declares it at all. For
/// handler.hpp.

namespace aftertouch::detail {

// A class that inherits a name from two bases can't say it: so `&Both::name` fails where `H`
// declares the name, whether as function, overloads, template or data.
template <class H, class Name>
struct Both : H, Name {};

template <class H>
concept Inheritable = std::is_class_v<H> && !std::is_final_v<H>;

inline constexpr auto call_on_inserted =
    [](auto& handler, auto&&... arguments) -> decltype(handler.on_inserted(
                                               std::forward<decltype(arguments)>(arguments)...)) {
    return handler.on_inserted(std::forward<decltype(arguments)>(arguments)...);
};
struct Named_on_inserted {
    int on_inserted;
};
template <class H>
concept declares_on_inserted =
    Inheritable<H> && !requires { &Both<H, Named_on_inserted>::on_inserted; };

inline constexpr auto call_on_updated =
    [](auto& handler, auto&&... arguments) -> decltype(handler.on_updated(
                                               std::forward<decltype(arguments)>(arguments)...)) {
    return handler.on_updated(std::forward<decltype(arguments)>(arguments)...);
};
struct Named_on_updated {
    int on_updated;
};
template <class H>
concept declares_on_updated =
    Inheritable<H> && !requires { &Both<H, Named_on_updated>::on_updated; };

inline constexpr auto call_on_deleted =
    [](auto& handler, auto&&... arguments) -> decltype(handler.on_deleted(
                                               std::forward<decltype(arguments)>(arguments)...)) {
    return handler.on_deleted(std::forward<decltype(arguments)>(arguments)...);
};
struct Named_on_deleted {
    int on_deleted;
};
template <class H>
concept declares_on_deleted =
    Inheritable<H> && !requires { &Both<H, Named_on_deleted>::on_deleted; };

inline constexpr auto call_on_present =
    [](auto& handler, auto&&... arguments) -> decltype(handler.on_present(
                                               std::forward<decltype(arguments)>(arguments)...)) {
    return handler.on_present(std::forward<decltype(arguments)>(arguments)...);
};
struct Named_on_present {
    int on_present;
};
template <class H>
concept declares_on_present =
    Inheritable<H> && !requires { &Both<H, Named_on_present>::on_present; };

inline constexpr auto call_on_touched =
    [](auto& handler, auto&&... arguments) -> decltype(handler.on_touched(
                                               std::forward<decltype(arguments)>(arguments)...)) {
    return handler.on_touched(std::forward<decltype(arguments)>(arguments)...);
};
struct Named_on_touched {
    int on_touched;
};
template <class H>
concept declares_on_touched =
    Inheritable<H> && !requires { &Both<H, Named_on_touched>::on_touched; };

inline constexpr auto call_on_batch =
    [](auto& handler, auto&&... arguments) -> decltype(handler.on_batch(
                                               std::forward<decltype(arguments)>(arguments)...)) {
    return handler.on_batch(std::forward<decltype(arguments)>(arguments)...);
};
struct Named_on_batch {
    int on_batch;
};
template <class H>
concept declares_on_batch = Inheritable<H> && !requires { &Both<H, Named_on_batch>::on_batch; };

inline constexpr auto call_rebuild_started =
    [](auto& handler, auto&&... arguments) -> decltype(handler.rebuild_started(
                                               std::forward<decltype(arguments)>(arguments)...)) {
    return handler.rebuild_started(std::forward<decltype(arguments)>(arguments)...);
};
struct Named_rebuild_started {
    int rebuild_started;
};
template <class H>
concept declares_rebuild_started =
    Inheritable<H> && !requires { &Both<H, Named_rebuild_started>::rebuild_started; };

inline constexpr auto call_rebuild_finished =
    [](auto& handler, auto&&... arguments) -> decltype(handler.rebuild_finished(
                                               std::forward<decltype(arguments)>(arguments)...)) {
    return handler.rebuild_finished(std::forward<decltype(arguments)>(arguments)...);
};
struct Named_rebuild_finished {
    int rebuild_finished;
};
template <class H>
concept declares_rebuild_finished =
    Inheritable<H> && !requires { &Both<H, Named_rebuild_finished>::rebuild_finished; };

} // namespace aftertouch::detail
