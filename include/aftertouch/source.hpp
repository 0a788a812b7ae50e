// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/hash.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/table.hpp>

/// \file
/// What a pipeline follows: which table, what its triggers record, and what of it the handler
/// wants.

namespace aftertouch {

/// Whether a capture records keys only, or the row before and after too.
enum class CaptureMode { touch, images };

/// The changes of `T`'s table. Every call gives a new source; nothing is looked at until a pipeline
/// starts.
///
/// \code
/// auto source =
/// aftertouch::source<Order>().images().exclude<&Order::note>().operations(aftertouch::inserts);
/// \endcode
template <Entity T, CaptureMode Mode = CaptureMode::touch>
class Source {
public:
    using Record = T;
    static constexpr CaptureMode mode = Mode;

    Source() = default;

    /// Records the row before and after each change, not its key alone.
    ///
    /// A row that SQLite's REPLACE removes comes as deleted, with its image. Only where more than
    /// 20,000 changes follow it in the log it may come as `Operation::touched` with a `before`:
    /// perhaps removed, perhaps not.
    ///
    /// *Costs* about twice the write cost of a touch, and the rows' space in the log.
    [[nodiscard]] Source<T, CaptureMode::images> images() const {
        if (low_priority_) {
            throw Error{Errc::invalid_argument,
                "the source of " + table_name<T>().text() +
                    " has images() and low_priority(), which is for touches, since the images of a "
                    "record come in their order: leave one of the two out"};
        }
        Source<T, CaptureMode::images> with = copy_as<CaptureMode::images>();
        return with;
    }

    /// Leaves columns out of the images, so that they never enter the log. In `before()` and
    /// `after()` their fields are as in `T{}`, also where a rebuild hands the row over; `records()`
    /// and `tx.get` still read them.
    template <auto... Members>
    [[nodiscard]] Source exclude() const {
        static_assert(Mode == CaptureMode::images,
            "aftertouch: exclude<>() leaves columns out of images: call images() first");
        static_assert(!(is_key_part(field_index<Members>) || ...),
            "aftertouch: the key can't be left out of an image");
        Source with = *this;
        (with.excluded_.push_back(field_index<Members>), ...);
        return with;
    }

    /// Records only some operations. A key change counts as an update.
    [[nodiscard]] Source operations(Operations which) const {
        Source with = *this;
        with.operations_ = which;
        return with;
    }

    /// Records also what sessions write whose `session_replication_role` is `replica`: logical
    /// replication fills a table so on PostgreSQL. Installing wants the table's owner there. On
    /// SQLite every write is recorded anyway.
    ///
    /// *Costs* one trigger call a row: the replication's workers fire no others.
    [[nodiscard]] Source always() const {
        Source with = *this;
        with.always_ = true;
        return with;
    }

    /// Records each row by a trigger call of its own, not each statement by one. On PostgreSQL, for
    /// a plain table; partitioned tables are recorded so anyway, and SQLite knows nothing else.
    ///
    /// *Costs* about three times as much for a statement of many rows, a little less for one row.
    [[nodiscard]] Source per_row() const {
        Source with = *this;
        with.per_row_ = true;
        return with;
    }

    /// Lets transactions mark what they change as of low priority, as a maintenance job over many
    /// rows does: it is handed over when nothing else waits, or after twenty other batches, one
    /// batch at a time and in no lane. So the two kinds of changes of one record may come in any
    /// order: the handler must read the row (`records()`, `missing()`, `tx.get`). While a rebuild
    /// runs, they wait, and come behind it. What waits keeps `prune()` from what is newer.
    ///
    /// On PostgreSQL a transaction marks what it does behind `SET LOCAL aftertouch.priority =
    /// 'low'`; on SQLite what it does between `INSERT INTO aftertouch_low_priority SELECT
    /// coalesce(max(seq), 0) FROM aftertouch_log` and `DELETE FROM aftertouch_low_priority`, once
    /// in a transaction: without the DELETE it marks nothing.
    ///
    /// It is another capture than without: a pipeline that changes to it rebuilds once, and what it
    /// followed before writes its changes too until it is removed (`remove(database,
    /// source<T>())`).
    ///
    /// *Costs* nothing for others on SQLite, where what is marked is written twice; on PostgreSQL a
    /// look at the setting for each row of the log.
    [[nodiscard]] Source low_priority() const {
        static_assert(Mode == CaptureMode::touch,
            "aftertouch: low_priority() is for touches, since the images of a record come in their "
            "order: leave it or images() out");
        Source with = *this;
        with.low_priority_ = true;
        return with;
    }

    /// Names the capture; by default it has the name of its table, and a suffix for what differs
    /// from the default. Pipelines that name the same capture share its triggers and its rows in
    /// the log.
    [[nodiscard]] Source named(std::string name) const {
        Source with = *this;
        with.name_ = std::move(name);
        return with;
    }

    /// Hands over only changes for which `wanted` is true; it runs in this process, on the
    /// pipeline's thread.
    [[nodiscard]] Source filter(std::function<bool(const Change<T>&)> wanted) const {
        Source with = *this;
        with.filter_ = std::move(wanted);
        return with;
    }

    /// Rebuilds in the order of these columns (and the key behind them), not of the key.
    ///
    /// The handler must read the row then (`records()`, `tx.get`): changes and pages are not in one
    /// order (R2).
    template <auto... Members>
    [[nodiscard]] Source rebuild_by() const {
        static_assert(
            (!nullable<std::remove_cvref_t<decltype(std::declval<T&>().*Members)>> && ...),
            "aftertouch: a rebuild's order needs columns that are never null");
        Source with = *this;
        with.order_ = {field_index<Members>...};
        return with;
    }

    /// Deals changes to lanes (`Options::lanes`) by these members of the key, not by all of it:
    /// what has the same values there, as a tenant's records, is in one lane, one batch after the
    /// other, in the order of the log. One whole number is taken for a shard's: lane = shard %
    /// lanes.
    template <auto... Members>
    [[nodiscard]] Source shard() const {
        static_assert(sizeof...(Members) != 0 && (is_key_part(field_index<Members>) && ...),
            "aftertouch: shard<>() takes members of the key: a touch has no others");
        Source with = *this;
        with.shard_ = {key_place(field_index<Members>)...};
        return with;
    }

    /// The definition that install, verify and remove work with.
    [[nodiscard]] Capture capture() const {
        Capture capture{.name = name_, .table = table_of<T>(), .operations = operations_};
        capture.always = always_;
        capture.per_row = per_row_;
        capture.low_priority = low_priority_;
        if constexpr (Mode == CaptureMode::images) {
            capture.images = true;
            for (std::size_t i = 0; i < field_count<T>; ++i) {
                if (std::find(excluded_.begin(), excluded_.end(), i) == excluded_.end()) {
                    capture.imaged.push_back(i);
                }
            }
        }
        if (capture.name.empty()) { capture.name = default_name(capture); }
        return capture;
    }

    [[nodiscard]] const std::function<bool(const Change<T>&)>& filter() const noexcept {
        return filter_;
    }
    /// The columns of the rebuild's order, by their place in the table; empty for key order.
    [[nodiscard]] const std::vector<std::size_t>& order() const noexcept { return order_; }
    /// What decides the lane of a change.
    [[nodiscard]] LaneRule lane_rule() const { return LaneRule{shard_}; }

private:
    template <Entity, CaptureMode>
    friend class Source;

    [[nodiscard]] static constexpr bool is_key_part(std::size_t field) noexcept {
        return std::find(key_indices<T>.begin(), key_indices<T>.end(), field) !=
               key_indices<T>.end();
    }

    [[nodiscard]] static std::size_t key_place(std::size_t field) noexcept {
        const auto found = std::find(key_indices<T>.begin(), key_indices<T>.end(), field);
        return static_cast<std::size_t>(found - key_indices<T>.begin());
    }

    template <CaptureMode Other>
    [[nodiscard]] Source<T, Other> copy_as() const {
        Source<T, Other> with;
        with.name_ = name_;
        with.operations_ = operations_;
        with.always_ = always_;
        with.per_row_ = per_row_;
        with.excluded_ = excluded_;
        with.filter_ = filter_;
        with.order_ = order_;
        with.shard_ = shard_;
        return with;
    }

    // The same declaration has the same name in every program; another one never shares its
    // triggers by accident.
    [[nodiscard]] static std::string default_name(const Capture& capture) {
        std::string name = capture.table.name.name;
        if (capture.images) { name += "_images"; }
        Capture usual{.name = {}, .table = capture.table};
        usual.images = capture.images;
        for (std::size_t i = 0; capture.images && i < field_count<T>; ++i) {
            usual.imaged.push_back(i);
        }
        const std::string definition = capture.definition();
        return definition == usual.definition() ? name
                                                : name + '_' + hex(fnv1a(definition)).substr(0, 8);
    }

    std::string name_;
    Operations operations_ = Operations::all();
    bool always_ = false;
    bool per_row_ = false;
    bool low_priority_ = false;
    std::vector<std::size_t> excluded_;
    std::function<bool(const Change<T>&)> filter_;
    std::vector<std::size_t> order_;
    std::vector<std::size_t> shard_; // places in the key
};

/// The changes of `T`'s table, as touches.
template <class T>
[[nodiscard]] auto source() {
    if constexpr (detail::require_entity<T>()) { return Source<T>{}; }
}

/// What a `Pipeline` accepts as its source.
template <class S>
concept ChangeSource = requires(const S& source) {
    typename S::Record;
    { S::mode } -> std::convertible_to<CaptureMode>;
    { source.capture() } -> std::same_as<Capture>;
    source.filter();
    source.order();
    { source.lane_rule() } -> std::same_as<LaneRule>;
};

} // namespace aftertouch
