// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <aftertouch/batch.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/detail/handler_members.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/handler_parts.hpp>
#include <aftertouch/retry.hpp>
#include <aftertouch/source.hpp>

/// \file
/// Which shapes a handler may have, and what is said at compile time of those that fit none.

namespace aftertouch::detail {

template <class H>
inline constexpr bool is_sequence = false;
template <class... H>
inline constexpr bool is_sequence<Sequence<H...>> = true;

// Every callable may leave the transaction out.
template <class F, class Tx, class... Arguments>
concept Takes = std::invocable<F, Arguments..., Tx&> || std::invocable<F, Arguments...>;

// What a handler answers is heeded if it is an `Outcome`.
template <class Call>
void heed(Call call) {
    if constexpr (std::same_as<std::remove_cvref_t<std::invoke_result_t<Call>>, Outcome>) {
        if (const Outcome outcome = call(); outcome != Outcome::done) { throw Answered{outcome}; }
    } else {
        static_cast<void>(call());
    }
}

template <class F, class Tx, class... Arguments>
void pass(F&& callable, Tx& tx, Arguments&&... arguments) {
    if constexpr (std::invocable<F, Arguments..., Tx&>) {
        heed([&]() -> decltype(auto) {
            return std::forward<F>(callable)(std::forward<Arguments>(arguments)..., tx);
        });
    } else {
        heed([&]() -> decltype(auto) {
            return std::forward<F>(callable)(std::forward<Arguments>(arguments)...);
        });
    }
}

// A second parameter written `auto& tx` is the transaction: a part that wants `before` alone names
// its type.
template <class F, class Tx, class H, class First, class Before>
concept TakesBefore = std::invocable<F, H, First, Before, Tx&> ||
                      (!std::invocable<F, H, First, Tx&> && std::invocable<F, H, First, Before>);

template <class H, class T, class Tx>
struct Shape {
    using Inserted = decltype(call_on_inserted);
    using Updated = decltype(call_on_updated);
    using Deleted = decltype(call_on_deleted);

    static constexpr bool batch = Takes<H&, Tx, const Batch<T>&>;
    // Asked only of what takes no batch: a generic lambda's body must not be tried with a change.
    static constexpr bool change = [] {
        if constexpr (batch) {
            return false;
        } else {
            return Takes<H&, Tx, const Change<T>&>;
        }
    }();
    static constexpr bool batch_part = Takes<decltype(call_on_batch), Tx, H&, const Batch<T>&>;

    static constexpr bool inserted = Takes<Inserted, Tx, H&, const T&>;
    static constexpr bool updated_before = TakesBefore<Updated, Tx, H&, const T&, const T&>;
    static constexpr bool updated = Takes<Updated, Tx, H&, const T&>;
    static constexpr bool deleted_before = TakesBefore<Deleted, Tx, H&, const Key<T>&, const T&>;
    static constexpr bool deleted = Takes<Deleted, Tx, H&, const Key<T>&>;
    static constexpr bool deleted_row =
        !deleted && !deleted_before && Takes<Deleted, Tx, H&, const T&>;
    static constexpr bool present = Takes<decltype(call_on_present), Tx, H&, const T&>;
    static constexpr bool touched = Takes<decltype(call_on_touched), Tx, H&, const Key<T>&>;
    static constexpr bool set = inserted || updated || updated_before || deleted ||
                                deleted_before || deleted_row || present || touched;

    static constexpr bool rebuild_started =
        Takes<decltype(call_rebuild_started), Tx, H&, std::int64_t>;
    static constexpr bool rebuild_finished =
        Takes<decltype(call_rebuild_finished), Tx, H&, std::int64_t>;
};

/// Whether a handler makes its target anew when a rebuild begins, or sweeps it when one ends.
template <class H, class T, class Tx>
consteval bool minds_rebuilds() {
    if constexpr (is_sequence<H>) {
        return []<class... Hs>(std::type_identity<Sequence<Hs...>>) {
            return (minds_rebuilds<Hs, T, Tx>() || ...);
        }(std::type_identity<H>{});
    } else {
        return Shape<H, T, Tx>::rebuild_started || Shape<H, T, Tx>::rebuild_finished;
    }
}

/// Says in one sentence what is wrong with a handler, at compile time.
template <class H, class T, CaptureMode Mode, class Tx>
consteval void require_handler() {
    if constexpr (is_sequence<H>) {
        []<class... Hs>(std::type_identity<Sequence<Hs...>>) {
            (require_handler<Hs, T, Mode, Tx>(), ...);
        }(std::type_identity<H>{});
    } else {
        using S = Shape<H, T, Tx>;
        constexpr bool images = Mode == CaptureMode::images;
        static_assert(S::batch || S::change || S::batch_part || S::set,
            "aftertouch: this handler fits no shape: write (const Batch<T>&, auto& tx), (const "
            "Change<T>&, "
            "auto& tx), or handle(on_inserted(...), on_updated(...), on_deleted(...))");
        if constexpr (S::set && !S::batch && !S::change) {
            static_assert(images || !(S::updated_before && !S::updated),
                "aftertouch: on_updated(now, before) needs the row before the change: call "
                "images() on the source");
            static_assert(images || !((S::deleted_before || S::deleted_row) && !S::deleted),
                "aftertouch: on_deleted with the deleted row needs its image: call images() on the "
                "source, or "
                "take the key");
            static_assert(!images || !S::updated_before || S::updated || S::present,
                "aftertouch: a rebuild hands over rows that have no before: give the handler "
                "on_present(now) too");
            static_assert(S::inserted || !declares_on_inserted<H>,
                "aftertouch: on_inserted takes (now) or (now, auto& tx)");
            static_assert(S::updated || S::updated_before || !declares_on_updated<H>,
                "aftertouch: on_updated takes (now), with images (now, before), and then auto& tx "
                "if it wants it");
            static_assert(
                S::deleted || S::deleted_before || S::deleted_row || !declares_on_deleted<H>,
                "aftertouch: on_deleted takes (key), with images (key, before), and then auto& tx "
                "if it wants it");
            static_assert(S::present || !declares_on_present<H>,
                "aftertouch: on_present takes (now) or (now, auto& tx)");
            static_assert(S::touched || !declares_on_touched<H>,
                "aftertouch: on_touched takes (key) or (key, auto& tx)");
        }
        static_assert(S::rebuild_started || !declares_rebuild_started<H>,
            "aftertouch: rebuild_started takes (generation) or (generation, auto& tx)");
        static_assert(S::rebuild_finished || !declares_rebuild_finished<H>,
            "aftertouch: rebuild_finished takes (generation) or (generation, auto& tx)");
    }
}

} // namespace aftertouch::detail
