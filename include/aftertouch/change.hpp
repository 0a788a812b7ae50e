// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/entity.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/value.hpp>

/// \file
/// One captured row change, as a handler sees it, and as a backend reads it from the log.

namespace aftertouch {

/// A moment on the database's clock, in UTC.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

/// The place of a change in its log: the log row, and the item inside a row that holds many keys.
struct ChangeId {
    static constexpr std::int32_t of_page = -1; ///< as `item`: a rebuild's row, handed over later

    std::int64_t seq = 0;
    std::int32_t item = 0;
    friend bool operator==(const ChangeId&, const ChangeId&) = default;
};

/// One change as a backend reads it; all views are valid during the call that passes it.
struct LogRow {
    ChangeId id;
    Operation operation = Operation::touched;
    Timestamp at;
    std::span<const Cell> key;
    std::span<const Cell> before; ///< empty without an image
    std::span<const Cell> after;
};

template <detail::NamedEntity T>
class Batch;
namespace detail {
template <Entity T>
class BatchWriter;
}

/// One captured change of a row of `T`'s table.
///
/// Valid until the handler returns. In touch mode a change says only that something happened to its
/// key: the row may have changed again since, so read it (`Batch::records`, `tx.get`).
///
/// \code
/// [](const aftertouch::Change<Order>& change, auto& tx) {
///     const bool is_gone = change.operation() == aftertouch::Operation::deleted;
///     if (is_gone) { tx.erase(aftertouch::type<Total>, change.key()); }
/// }
/// \endcode
template <detail::NamedEntity T>
class Change {
public:
    [[nodiscard]] Operation operation() const noexcept { return operation_; }
    [[nodiscard]] const Key<T>& key() const noexcept { return *key_; }
    /// The row before the change; null without `images()` and for an insertion. Of a touch it is
    /// the row that may have been removed, or null.
    [[nodiscard]] const T* before() const noexcept { return before_; }
    /// The row after the change; null without `images()`, for a deletion, and for a touch. A row
    /// that a rebuild hands over (`Operation::present`) has it always. Columns that the source
    /// excludes are as in `T{}`.
    [[nodiscard]] const T* after() const noexcept { return after_; }
    /// When the writer's statement ran; for a rebuild's row, when its page was read.
    [[nodiscard]] Timestamp at() const noexcept { return at_; }

    /// The same text at every delivery of this change, and of no other: for effects outside the
    /// database.
    [[nodiscard]] std::string idempotency_key() const {
        std::string key{*log_};
        if (operation_ == Operation::present || id_.item == ChangeId::of_page) {
            return key + ":r" + std::to_string(id_.seq) + ":" + key_hex();
        }
        return key + ":" + std::to_string(id_.seq) + "." + std::to_string(id_.item);
    }

    /// Whether the column differs between `before` and `after`; true where one of them is missing.
    template <auto Member>
    [[nodiscard]] bool has_changed(column_t<Member>) const {
        if (before_ == nullptr || after_ == nullptr) { return true; }
        constexpr std::size_t index = field_index<Member>;
        return to_value(field<index>(*before_)) != to_value(field<index>(*after_));
    }

    /// The names of the columns that differ between `before` and `after`; all where one of them is
    /// missing.
    [[nodiscard]] std::vector<std::string_view> changed_fields() const {
        std::vector<std::string_view> changed;
        [&]<std::size_t... I>(std::index_sequence<I...>) { (add_if_changed<I>(changed), ...); }(
            std::make_index_sequence<field_count<T>>{});
        return changed;
    }

private:
    friend class detail::BatchWriter<T>;

    template <std::size_t I>
    void add_if_changed(std::vector<std::string_view>& changed) const {
        const bool both = before_ != nullptr && after_ != nullptr;
        if (!both || to_value(field<I>(*before_)) != to_value(field<I>(*after_))) {
            changed.push_back(column_names<T>()[I]);
        }
    }

    [[nodiscard]] std::string key_hex() const {
        constexpr char digits[] = "0123456789abcdef";
        std::string text;
        for (const char byte : form_) {
            text += digits[static_cast<unsigned char>(byte) >> 4U];
            text += digits[static_cast<unsigned char>(byte) & 15U];
        }
        return text;
    }

    ChangeId id_; // of a rebuild's row: its generation
    Timestamp at_;
    const Key<T>* key_ = nullptr;
    const T* before_ = nullptr;
    const T* after_ = nullptr;
    const std::string* log_ = nullptr;
    std::string_view form_;
    Operation operation_ = Operation::touched;
};

} // namespace aftertouch
