// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/detail/decode.hpp>
#include <aftertouch/detail/digits.hpp>
#include <aftertouch/dml.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Reads the change log of one capture in the order of its numbers.

namespace aftertouch::sqlite {

/// A place in the log. One writer commits at a time, so a number is all it takes (design:
/// positions).
struct Position {
    std::int64_t seq = 0;
    friend auto operator<=>(const Position&, const Position&) = default;

    /// The last place that has nothing in front of it but what both have.
    [[nodiscard]] Position in_common(const Position& other) const { return std::min(*this, other); }
    [[nodiscard]] std::string text() const { return std::to_string(seq); }
    [[nodiscard]] static std::optional<Position> from(std::string_view text) {
        const std::optional<std::int64_t> seq = aftertouch::detail::integer_from(text);
        return seq && *seq >= 0 ? std::optional{Position{*seq}} : std::nullopt;
    }
};

/// `julianday` to microseconds since 1970, and back.
[[nodiscard]] inline Timestamp timestamp_of(double julian_day) noexcept {
    return Timestamp{
        std::chrono::microseconds{aftertouch::detail::from_julian_day(julian_day).value_or(0)}};
}
[[nodiscard]] inline double julian_day(Timestamp time) {
    return 2440587.5 + static_cast<double>(time.time_since_epoch().count()) / 86'400'000'000.0;
}

/// What a pipeline wants of the log.
struct LogFilter {
    std::int64_t capture = 0; ///< as the log has it
    std::size_t key_parts = 1;
    std::size_t imaged = 0;
    std::string own_name{}; ///< leave out changes that this pipeline made; empty: hand them over
    std::vector<std::string>
        collations{};      ///< of the key parts, for comparing with a rebuild's cursor
    std::string look_up{}; ///< reads a row of the source by its key; empty where not every
                           ///< operation is captured
};

/// What a pipeline called `own_name` wants, if it leaves out what it makes itself.
[[nodiscard]] inline LogFilter log_filter(
    const Capture& capture, std::int64_t id, const TableFacts& facts, std::string own_name) {
    LogFilter filter{
        id, capture.table.key.size(), capture.imaged.size(), std::move(own_name), {}, {}};
    for (const std::size_t part : capture.table.key) {
        filter.collations.push_back(facts.column(capture.table.columns[part].name)->collation);
    }
    if (capture.operations == Operations::all()) {
        filter.look_up = dml::select_by_key(capture.table);
    }
    return filter;
}

/// The log of one capture.
class ChangeLog {
public:
    ChangeLog(Connection& connection, std::string schema, LogFilter filter)
        : connection_{&connection},
          schema_{std::move(schema)},
          filter_{std::move(filter)},
          bounds_{dialect::bounds(schema_, std::abs(filter_.capture))},
          has_changes_{dialect::has_changes(schema_, filter_.capture, skips_own())},
          head_{dialect::head(schema_)},
          read_all_{dialect::read_log(schema_, read({}))},
          read_reached_{dialect::read_log(schema_, read(filter_.collations))},
          follow_up_{dialect::follow_up(schema_, filter_.capture, filter_.collations)},
          cells_(filter_.key_parts + 2 * filter_.imaged) {
        for (std::size_t part = 0; wide() && part < dialect::image_parts(filter_.imaged); ++part) {
            read_parts_.push_back(
                dialect::read_image_part(schema_, filter_.capture, part, width(part)));
        }
    }

    /// The end of the log now.
    [[nodiscard]] Position head() {
        Position end;
        connection_->each(head_, std::span<const Value>{}, [&](const Statement& row) {
            end.seq = row[0].as_integer();
            return false;
        });
        return end;
    }

    /// Whether a pipeline that knows it as `log` can go on behind `position` (P5).
    [[nodiscard]] Usable usable(Position position, std::string_view log) {
        Usable usable = Usable::other_log;
        connection_->each(bounds_, std::span<const Cell>{}, [&](const Statement& bounds) {
            if (bounds[0].bytes() != log) { return false; }
            usable = position.seq < bounds.integer(1)   ? Usable::pruned
                     : position.seq > bounds.integer(2) ? Usable::rewound
                                                        : Usable::yes;
            return false;
        });
        return usable;
    }

    /// Whether there is a change of this capture behind `from` and up to `end`.
    [[nodiscard]] bool has_changes(Position from, Position end) {
        values_.assign({Cell::integer(from.seq), Cell::integer(end.seq)});
        if (skips_own()) { values_.push_back(Cell::text(filter_.own_name)); }
        return any(has_changes_, values_);
    }

    /// Passes changes behind `from` to `sink` until it answers false for one that it didn't take,
    /// or `limit` are passed. With `reached`, only changes of keys up to it.
    ///
    /// *Returns* where to go on, and whether there may be more: the end of the log if there isn't.
    template <class Sink>
    std::pair<Position, bool> read(
        Position from, std::size_t limit, const std::vector<Value>* reached, Sink&& sink) {
        const Position end = std::max(head(), from);
        values_.assign({Cell::integer(from.seq), Cell::integer(static_cast<std::int64_t>(limit))});
        if (skips_own() || reached != nullptr) { values_.push_back(Cell::text(filter_.own_name)); }
        if (reached != nullptr) { values_.insert(values_.end(), reached->begin(), reached->end()); }
        Position last = from;
        std::size_t passed = 0;
        bool full = false;
        connection_->each(
            reached != nullptr ? read_reached_ : read_all_, values_, [&](const Statement& row) {
                LogRow change = log_row(row);
                if (is_settled(change, end) && !sink(change)) {
                    full = true;
                    return false;
                }
                last.seq = change.id.seq;
                return ++passed < limit;
            });
        const bool more = (full || passed == limit) && last < end;
        return {more ? last : end, more};
    }

private:
    [[nodiscard]] bool skips_own() const noexcept { return !filter_.own_name.empty(); }
    [[nodiscard]] bool wide() const noexcept { return filter_.imaged > dialect::image_columns; }
    [[nodiscard]] std::size_t width(std::size_t part) const noexcept {
        return std::min(filter_.imaged - part * dialect::image_columns, dialect::image_columns);
    }
    [[nodiscard]] dialect::LogRead read(std::vector<std::string> reached) const {
        return {
            filter_.capture, filter_.key_parts, filter_.imaged, skips_own(), std::move(reached)};
    }

    [[nodiscard]] LogRow log_row(const Statement& row) {
        LogRow change;
        change.id.seq = row.integer(0);
        change.operation = operation_from(row.letter(1)).value_or(Operation::touched);
        change.at = timestamp_of(row.real(2));
        for (std::size_t i = 0; i < filter_.key_parts; ++i) { cells_[i] = row[3 + i]; }
        change.key = std::span<const Cell>{cells_}.first(filter_.key_parts);
        if (filter_.imaged != 0) { read_images(row, change); }
        return change;
    }

    void read_images(const Statement& row, LogRow& change) {
        const bool before =
            change.operation !=
            Operation::inserted; // of a touch, where REPLACE may have removed the row
        const bool after =
            change.operation == Operation::updated || change.operation == Operation::inserted;
        const std::size_t first = 3 + filter_.key_parts;
        bool there = before || after;
        if (wide()) {
            there = there && read_wide(change.id.seq);
        } else if (there = there && !row[first].is_null(); there) {
            for (std::size_t i = 0; i < 2 * filter_.imaged; ++i) {
                cells_[filter_.key_parts + i] = row[first + 1 + i];
            }
        }
        const std::span<const Cell> images =
            std::span<const Cell>{cells_}.subspan(filter_.key_parts);
        if (there && before) { change.before = images.first(filter_.imaged); }
        if (there && after) { change.after = images.last(filter_.imaged); }
    }

    // A touch with an image is a row that stood in the way of another. What came next for its key
    // tells whether REPLACE removed it: an insertion shows that it did, an update or deletion that
    // it didn't. False: nothing has happened to it.
    [[nodiscard]] bool is_settled(LogRow& change, Position end) {
        if (change.operation != Operation::touched || change.before.empty() ||
            filter_.look_up.empty()) {
            return true;
        }
        if (const std::optional<Operation> next = next_operation(change.id.seq, change.key)) {
            change.operation = *next == Operation::inserted ? Operation::deleted : change.operation;
            return *next == Operation::inserted;
        }
        if (end.seq - change.id.seq > dialect::follow_up_rows) { return true; }
        change.operation = Operation::deleted;
        return !any(filter_.look_up, change.key);
    }

    [[nodiscard]] std::optional<Operation> next_operation(
        std::int64_t seq, std::span<const Cell> key) {
        std::vector<Cell> values{Cell::integer(seq)};
        values.insert(values.end(), key.begin(), key.end());
        std::optional<Operation> next;
        connection_->each(follow_up_, values, [&](const Statement& row) {
            next = operation_from(row[0].bytes().front()).value_or(Operation::touched);
            return false;
        });
        return next;
    }

    [[nodiscard]] bool any(const std::string& sql, std::span<const Cell> values) {
        bool found = false;
        connection_->each(sql, values, [&](const Statement&) {
            found = true;
            return false;
        });
        return found;
    }

    // An image of more than 900 columns lies in several tables; its values are copied, since each
    // is read on its own.
    [[nodiscard]] bool read_wide(std::int64_t seq) {
        wide_.resize(2 * filter_.imaged);
        const std::array key{Cell::integer(seq)};
        for (std::size_t part = 0; part < read_parts_.size(); ++part) {
            bool found = false;
            const std::size_t begin = part * dialect::image_columns;
            connection_->each(read_parts_[part], key, [&](const Statement& image) {
                for (std::size_t i = 0; i < width(part); ++i) {
                    wide_[begin + i] = image[i];
                    wide_[filter_.imaged + begin + i] = image[width(part) + i];
                }
                found = true;
                return false;
            });
            if (!found) { return false; }
        }
        for (std::size_t i = 0; i < wide_.size(); ++i) {
            cells_[filter_.key_parts + i] = Cell{wide_[i]};
        }
        return true;
    }

    Connection* connection_;
    std::string schema_;
    LogFilter filter_;
    std::string bounds_;
    std::string has_changes_;
    std::string head_;
    std::string read_all_;
    std::string read_reached_;
    std::string follow_up_;
    std::vector<std::string> read_parts_; // of a wide image
    std::vector<Cell> values_;
    std::vector<Cell> cells_; // of the row in hand
    std::vector<Value> wide_;
};

} // namespace aftertouch::sqlite
