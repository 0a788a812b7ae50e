// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <tuple>

#include <aftertouch/batch.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/detail/handler_members.hpp>
#include <aftertouch/detail/handler_set_call.hpp>
#include <aftertouch/detail/handler_shape.hpp>
#include <aftertouch/handler_parts.hpp>
#include <aftertouch/source.hpp>

/// \file
/// Hands batches to handlers, whatever their shape: `(batch, tx)`, `(change, tx)`, a set of parts,
/// an object, a sequence.

namespace aftertouch {
namespace detail {

/// Hands a batch to a handler of any shape.
template <CaptureMode Mode, class H, class T, class Tx>
void hand_over(H& handler, const Batch<T>& batch, Tx& tx) {
    if constexpr (is_sequence<H>) {
        std::apply(
            [&](auto&... each) { (hand_over<Mode>(each, batch, tx), ...); }, handler.handlers);
    } else if constexpr (Shape<H, T, Tx>::batch) {
        pass(handler, tx, batch);
    } else if constexpr (Shape<H, T, Tx>::change) {
        for (const Change<T>& change : batch.changes()) { pass(handler, tx, change); }
    } else if constexpr (Shape<H, T, Tx>::batch_part) {
        pass(call_on_batch, tx, handler, batch);
    } else if constexpr (Mode == CaptureMode::images) {
        SetCall<H, T, Tx>{handler, batch, tx}.images();
    } else {
        SetCall<H, T, Tx>{handler, batch, tx}.touches();
    }
}

/// Tells a handler that wants to know that a rebuild begins, or has handed over its last row.
template <class T, class H, class Tx>
void tell_rebuild_started(H& handler, std::int64_t generation, Tx& tx) {
    if constexpr (is_sequence<H>) {
        std::apply([&](auto&... each) { (tell_rebuild_started<T>(each, generation, tx), ...); },
            handler.handlers);
    } else if constexpr (Shape<H, T, Tx>::rebuild_started) {
        pass(call_rebuild_started, tx, handler, generation);
    }
}
template <class T, class H, class Tx>
void tell_rebuild_finished(H& handler, std::int64_t generation, Tx& tx) {
    if constexpr (is_sequence<H>) {
        std::apply([&](auto&... each) { (tell_rebuild_finished<T>(each, generation, tx), ...); },
            handler.handlers);
    } else if constexpr (Shape<H, T, Tx>::rebuild_finished) {
        pass(call_rebuild_finished, tx, handler, generation);
    }
}

} // namespace detail

/// A handler that fits a source over `T`, called with a transaction of type `Tx`.
template <class H, class T, class Tx>
concept ChangeHandler =
    detail::is_sequence<H> || detail::Shape<H, T, Tx>::batch || detail::Shape<H, T, Tx>::change ||
    detail::Shape<H, T, Tx>::batch_part || detail::Shape<H, T, Tx>::set;

} // namespace aftertouch
