// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <range/v3/view/chunk_by.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/indirect.hpp>
#include <range/v3/view/transform.hpp>

#include <aftertouch/batch.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/operation.hpp>

/// \file
/// A batch's changes as range-v3 views. The only include of range-v3, which takes a second to
/// compile: include it where it is used.

namespace aftertouch::views {

/// The changes of one operation, or of some: `batch.changes() |
/// at::views::of(at::Operation::deleted)`.
///
/// \code
/// const auto updates = aftertouch::views::of(aftertouch::Operation::updated);
/// for (const auto& change : batch.changes() | updates) { show(change); }
/// \endcode
template <class... Rest>
[[nodiscard]] auto of(Operation first, Rest... rest) {
    return ranges::views::filter([=](const auto& change) {
        const Operation operation = change.operation();
        return operation == first || ((operation == rest) || ...);
    });
}

/// The keys of changes, one a change: `batch.changes() | at::views::keys`.
inline constexpr auto keys =
    ranges::views::transform([](const auto& change) -> const auto& { return change.key(); });

/// The rows before the changes, where an image has one.
inline constexpr auto before =
    ranges::views::transform([](const auto& change) { return change.before(); }) |
    ranges::views::filter([](const auto* row) { return row != nullptr; }) | ranges::views::indirect;

/// The rows after the changes, where an image has one.
inline constexpr auto after =
    ranges::views::transform([](const auto& change) { return change.after(); }) |
    ranges::views::filter([](const auto* row) { return row != nullptr; }) | ranges::views::indirect;

/// A batch's changes sorted by key, each key's in the order of the log: what `by_key` is made of.
template <Entity T>
[[nodiscard]] std::vector<const Change<T>*> sorted_by_key(const Batch<T>& batch) {
    std::vector<const Change<T>*> sorted;
    for (const Change<T>& change : batch.changes()) { sorted.push_back(&change); }
    // A change's key is that of the batch's id, so its address tells which one it is.
    std::stable_sort(sorted.begin(), sorted.end(),
        [](const auto* a, const auto* b) { return &a->key() < &b->key(); });
    return sorted;
}

/// Groups of changes with one key: `sorted_by_key(batch) | at::views::by_key`, the vector in a
/// variable.
inline constexpr auto by_key =
    ranges::views::chunk_by([](const auto* a, const auto* b) { return &a->key() == &b->key(); });

} // namespace aftertouch::views
