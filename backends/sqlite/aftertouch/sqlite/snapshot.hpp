// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/dml.hpp>
#include <aftertouch/sqlite/change_log.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/table.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Reads a source's rows: page by page for a rebuild, and by their keys for `records()`.

namespace aftertouch::sqlite {

/// What one batch of a rebuild reads.
struct RebuildPart {
    Position from;
    Position head; ///< the log's end, before the first page
    std::size_t limit = 0;
    bool left_to_pages = false;
};

/// The rows of one table as a transaction sees them.
class Snapshot {
public:
    /// `order` are the columns of the rebuild's order, the key's at its end.
    Snapshot(Connection& connection, const Table& table, const std::vector<std::size_t>& order)
        : connection_{&connection},
          width_{table.columns.size()},
          key_parts_{table.key.size()},
          order_{order},
          first_page_{dialect::read_page(table, order, true)},
          next_page_{dialect::read_page(table, order, false)},
          count_{dialect::count_rows(table)},
          look_up_{dml::select_by_key(table)},
          cells_(width_) {}

    /// Passes up to `limit` rows behind `last` (empty: from the beginning) to `sink`, which answers
    /// false for a row that it didn't take; `last` moves to the last row taken.
    ///
    /// *Returns* whether these were the last rows.
    template <class Sink>
    bool read_page(std::vector<Value>& last, std::size_t limit, Sink&& sink) {
        values_.assign({Value{Cell::integer(static_cast<std::int64_t>(limit))}});
        values_.insert(values_.end(), last.begin(), last.end());
        std::size_t taken = 0;
        bool full = false;
        const std::string& sql = last.empty() ? first_page_ : next_page_;
        connection_->each(sql, values_, [&](const Statement& row) {
            const std::span<const Cell> columns = cells(row);
            if (!sink(columns)) {
                full = true;
                return false;
            }
            last.resize(order_.size());
            for (std::size_t i = 0; i < order_.size(); ++i) { last[i] = columns[order_[i]]; }
            ++taken;
            return true;
        });
        return !full && taken < limit;
    }

    /// Changes, and rows behind them (see BackendSession): a transaction sees one state of both.
    template <class OnChange, class OnRow>
    RebuildRead<Position> read_rebuild(ChangeLog& log, const RebuildPart& part,
        std::vector<Value>& last, OnChange&& on_change, OnRow&& on_row) {
        RebuildRead<Position> read{part.head};
        std::size_t passed = 0;
        // Before the first page every change is in its page.
        if (!part.left_to_pages || !last.empty()) {
            bool more = false;
            std::tie(read.end, more) = log.read(part.from, part.limit,
                part.left_to_pages ? &last : nullptr, [&](const LogRow& change) {
                    const bool taken = on_change(change);
                    passed += taken ? 1 : 0;
                    return taken;
                });
            if (more || passed >= part.limit) { return read; }
        }
        read.last = read_page(last, part.limit - passed, std::forward<OnRow>(on_row));
        return read;
    }

    [[nodiscard]] std::int64_t count() {
        std::int64_t rows = 0;
        connection_->each(count_, std::span<const Value>{}, [&](const Statement& row) {
            rows = row[0].as_integer();
            return false;
        });
        return rows;
    }

    /// Passes the rows of `keys` (their parts one behind the other) with the number of the key, in
    /// order.
    template <class Sink>
    void fetch(std::span<const Value> keys, Sink&& sink) {
        if (!prepared_) { prepared_.emplace(connection_->prepare(look_up_)); }
        for (std::size_t number = 0; number * key_parts_ < keys.size(); ++number) {
            const Rewind at_end{*prepared_};
            prepared_->bind(keys.subspan(number * key_parts_, key_parts_));
            if (prepared_->step()) { sink(number, cells(*prepared_)); }
        }
    }

private:
    struct Rewind {
        Statement& statement;
        ~Rewind() { statement.reset(); }
    };

    [[nodiscard]] std::span<const Cell> cells(const Statement& row) {
        for (std::size_t i = 0; i < width_; ++i) { cells_[i] = row[i]; }
        return cells_;
    }

    Connection* connection_;
    std::size_t width_;
    std::size_t key_parts_;
    std::vector<std::size_t> order_;
    std::string first_page_;
    std::string next_page_;
    std::string count_;
    std::string look_up_;
    std::optional<Statement> prepared_;
    std::vector<Value> values_;
    std::vector<Cell> cells_; // of the row in hand
};

} // namespace aftertouch::sqlite
