// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>
#include <utility>

/// \file
/// The parts that a handler can be put together from: one for each moment, sets of them, sequences
/// of handlers.

namespace aftertouch {

/// \name Parts of a handler
/// Each takes a callable and names the moment it is for; `handle(...)` puts them together. Every
/// callable may take the transaction as its last parameter.
/// @{

template <class F>
struct OnInserted {
    F on_inserted;
};
template <class F>
struct OnUpdated {
    F on_updated;
};
template <class F>
struct OnDeleted {
    F on_deleted;
};
template <class F>
struct OnPresent {
    F on_present;
};
template <class F>
struct OnTouched {
    F on_touched;
};
template <class F>
struct OnBatch {
    F on_batch;
};
template <class F>
struct OnRebuildStarted {
    F rebuild_started;
};
template <class F>
struct OnRebuildFinished {
    F rebuild_finished;
};

/// `(now)`: a row was inserted; in touch mode, one that is still there.
template <class F>
[[nodiscard]] OnInserted<F> on_inserted(F f) {
    return {std::move(f)};
}
/// `(now)`, or with images `(now, before)`.
template <class F>
[[nodiscard]] OnUpdated<F> on_updated(F f) {
    return {std::move(f)};
}
/// `(key)`, or with images `(key, before)` or `(before)`.
template <class F>
[[nodiscard]] OnDeleted<F> on_deleted(F f) {
    return {std::move(f)};
}
/// `(now)`: a row that a rebuild hands over; without this part it goes to `on_updated(now)`.
template <class F>
[[nodiscard]] OnPresent<F> on_present(F f) {
    return {std::move(f)};
}
/// `(key)`: something may have happened to this key, and nothing more is known; without this part
/// the row is read and goes to `on_updated(now)` or `on_deleted(key)`.
template <class F>
[[nodiscard]] OnTouched<F> on_touched(F f) {
    return {std::move(f)};
}
/// `(batch)`: the whole batch, for a handler that wants rebuild parts beside it.
template <class F>
[[nodiscard]] OnBatch<F> on_batch(F f) {
    return {std::move(f)};
}
/// `(generation)`: before the first row of a rebuild, in the transaction that begins it: the place
/// to clear a target.
template <class F>
[[nodiscard]] OnRebuildStarted<F> on_rebuild_started(F f) {
    return {std::move(f)};
}
/// `(generation)`: behind the last row of a rebuild, in its transaction: the place to drop what
/// wasn't written anew.
template <class F>
[[nodiscard]] OnRebuildFinished<F> on_rebuild_finished(F f) {
    return {std::move(f)};
}
/// @}

/// A handler put together from parts.
///
/// \code
/// const auto keep = [](const Order& now, auto& tx) { tx.upsert(Summary{now.id, now.amount}); };
/// const auto drop = [](std::int64_t id, auto& tx) { tx.erase(aftertouch::type<Summary>, id); };
/// auto handler = aftertouch::handle(aftertouch::on_updated(keep), aftertouch::on_deleted(drop));
/// \endcode
template <class... Parts>
struct HandlerSet : Parts... {};

template <class... Parts>
[[nodiscard]] HandlerSet<Parts...> handle(Parts... parts) {
    return {std::move(parts)...};
}

/// Several handlers over one source, called in this order for each batch, in one transaction.
template <class... Handlers>
struct Sequence {
    std::tuple<Handlers...> handlers;
};

template <class... Handlers>
[[nodiscard]] Sequence<Handlers...> sequence(Handlers... handlers) {
    return {{std::move(handlers)...}};
}

} // namespace aftertouch
