// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <aftertouch/change.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/row.hpp>
#include <aftertouch/value.hpp>

/// \file
/// What one handler call gets.

namespace aftertouch {

namespace detail {

/// A sequence whose elements are kept when it is cleared, so that their storage is used again.
template <class X, class Storage = std::vector<X>>
class Pool {
public:
    X& next() {
        if (used_ == items_.size()) { items_.emplace_back(); }
        return items_[used_++];
    }
    void drop_last() noexcept { --used_; }
    void clear() noexcept { used_ = 0; }
    [[nodiscard]] std::size_t size() const noexcept { return used_; }
    X& operator[](std::size_t i) noexcept { return items_[i]; }
    const X& operator[](std::size_t i) const noexcept { return items_[i]; }
    [[nodiscard]] std::span<const X> span() const noexcept { return {items_.data(), used_}; }

private:
    Storage items_;
    std::size_t used_ = 0;
};

/// Whether no two values in a database are the same key here: not so for texts of times and UUIDs.
template <class K>
inline constexpr bool has_one_spelling = std::integral<K> || std::same_as<K, std::string>;
template <class... Parts>
inline constexpr bool has_one_spelling<std::tuple<Parts...>> = (has_one_spelling<Parts> && ...);

/// Called with the index of a key and the row that it has now.
using RowSink = std::function<void(std::size_t, std::span<const Cell>)>;
/// Reads the rows of keys (their parts one behind the other) in the order of the keys, within the
/// batch's transaction.
using RecordLoader = std::function<void(std::span<const Value> keys, const RowSink&)>;

} // namespace detail

/// At most 500 changes, handed to a handler at once; what the handler writes through its
/// transaction is committed together with the checkpoint behind them.
///
/// All views are valid until the handler returns.
///
/// \code
/// [](const aftertouch::Batch<Order>& batch, auto& tx) {
///     for (const Order& order : batch.records()) { tx.upsert(Summary{order.id, order.amount}); }
///     for (const std::int64_t id : batch.missing()) { tx.erase(aftertouch::type<Summary>, id); }
/// }
/// \endcode
template <detail::NamedEntity T>
class Batch {
public:
    Batch() = default;
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /// The keys that changed: each once, first seen first. A key that the database writes in two
    /// ways ('2026-01-01 10:00' and '2026-01-01T10:00') comes once for each.
    [[nodiscard]] std::span<const Key<T>> ids() const noexcept { return ids_.span(); }

    /// Every change, in the order of the log; then, in a rebuild, the rows of its page as
    /// `Operation::present`.
    [[nodiscard]] std::span<const Change<T>> changes() const noexcept { return changes_.span(); }

    /// The rows that `ids()` have now, in the order of `ids()`, read when first asked for, in this
    /// transaction.
    ///
    /// *Throws* what the database says. The batch fails then, even if the handler catches it.
    [[nodiscard]] std::span<const T> records() const {
        load();
        return all_present() ? present_.span() : records_.span();
    }

    /// Those of `ids()` that have no row now, however it is written. Reads as `records()` does.
    [[nodiscard]] std::span<const Key<T>> missing() const {
        load();
        return missing_.span();
    }

    /// The row that `ids()[i]` has now, or null. Reads as `records()` does.
    [[nodiscard]] const T* record(std::size_t i) const {
        load();
        if (all_present()) { return &present_[i]; }
        return rows_[i] == 0 ? nullptr : &records_[rows_[i] - 1];
    }

    /// Whether these changes were in the log before the pipeline was started, or rewound.
    [[nodiscard]] bool replay() const noexcept { return replay_; }
    /// Whether the batch has rows that a rebuild hands over.
    [[nodiscard]] bool rebuilt() const noexcept { return present_.size() != 0; }
    /// The number of the rebuild that runs, or ran last (64 bits; it rises): rows written under
    /// another one are what a sweep removes.
    [[nodiscard]] std::int64_t generation() const noexcept { return generation_; }
    /// Where the batch ends in the log: the same text that errors and status name it by. No name
    /// of the batch alone: one of low priority, or of dead letters, may end where another one does.
    [[nodiscard]] const std::string& event_id() const noexcept { return event_id_; }
    /// How often a batch that began here has failed before.
    [[nodiscard]] std::int64_t attempts() const noexcept { return attempts_; }

private:
    friend class detail::BatchWriter<T>;

    // A page and no changes: its rows are the records already.
    [[nodiscard]] bool all_present() const noexcept { return present_.size() == changes_.size(); }

    void load() const {
        if (loaded_) { return; }
        try {
            if (!all_present()) { load_records(); }
        } catch (...) {
            failed_read_ = std::current_exception();
            throw;
        }
        loaded_ = true;
    }

    void load_records() const {
        records_.clear();
        missing_.clear();
        rows_.assign(ids_.size(), 0);
        std::size_t next = 0;
        const auto miss_until = [&](std::size_t number) {
            for (; next < number; ++next) { missing_.next() = ids_[next]; }
        };
        loader_({keys_.span()}, [&](std::size_t number, std::span<const Cell> row) {
            miss_until(number);
            decode_record(row, records_.next());
            rows_[number] = records_.size();
            next = number + 1;
        });
        miss_until(ids_.size());
        if (missing_.size() != 0 && records_.size() != 0) { find_other_spellings(); }
    }

    // Where a key has a row under another of its texts, it isn't missing.
    void find_other_spellings() const {
        if constexpr (!detail::has_one_spelling<Key<T>> && std::equality_comparable<Key<T>>) {
            missing_.clear();
            for (std::size_t i = 0; i < ids_.size(); ++i) {
                for (std::size_t j = 0; rows_[i] == 0 && j < ids_.size(); ++j) {
                    if (rows_[j] != 0 && ids_[j] == ids_[i]) { rows_[i] = rows_[j]; }
                }
                if (rows_[i] == 0) { missing_.next() = ids_[i]; }
            }
        }
    }

    detail::Pool<Key<T>> ids_;
    detail::Pool<Value> keys_; // the parts of each id as the database stores them
    detail::Pool<Change<T>> changes_;
    detail::Pool<T> present_;
    mutable detail::Pool<T> records_;
    mutable detail::Pool<Key<T>> missing_;
    mutable std::vector<std::size_t>
        rows_; // of each id: its place in records_, counted from 1, or 0
    mutable bool loaded_ = false;
    mutable std::exception_ptr failed_read_;
    detail::RecordLoader loader_;
    std::string event_id_;
    std::int64_t generation_ = 0;
    std::int64_t attempts_ = 0;
    bool replay_ = false;
};

} // namespace aftertouch
