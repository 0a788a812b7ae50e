// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/postgres/binary.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/change_log.hpp>
#include <aftertouch/postgres/literals.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/source_dialect.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/table.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Reads a source's rows: page by page for a rebuild, and by their keys for `records()`.

namespace aftertouch::postgres {

/// The rows of one table as a transaction sees them.
class SourceRows {
public:
    /// `order` are the columns of the rebuild's order, the key's at its end.
    SourceRows(Connection& connection, const Table& table, const std::vector<std::size_t>& order,
        const TableFacts& facts)
        : connection_{&connection}, table_{&table}, order_{order} {
        bool binary = true;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            const ColumnFacts& column = *facts.column(table.columns[i].name);
            binary = binary && has_binary_form(column.type_number);
            const bool sized = column.form == Form::text || column.form == Form::blob;
            if (sized) { sized_.push_back(i); }
        }
        format_ = binary ? Format::binary : Format::text;
        may_be_large_ = facts.has_children || facts.partitioned(); // those have values elsewhere
        std::vector<std::string> types;
        types.reserve(table.key.size());
        for (const std::size_t part : table.key) {
            types.push_back(facts.column(table.columns[part].name)->type);
        }
        fetch_ = dialect::fetch(table, types);
        count_ = dialect::count_rows(table);
    }

    /// Reads up to `limit` rows behind `last` (empty: from the beginning) into hand, and opens the
    /// window from `at` to the state that they show: one statement sees one (R2).
    ///
    /// *Returns* whether there is anything in the window.
    [[nodiscard]] bool read_page(
        ChangeLog& log, Position& at, const std::vector<Value>& last, std::size_t limit) {
        if (limit != limit_) { write_pages(log, limit); }
        std::vector<Value> values = log.opening_values(at);
        values.insert(values.end(), last.begin(), last.end());
        ask_page(values, last.empty());
        if (!may_be_large_ && page_->flag(facts_row_, large)) {
            may_be_large_ = true;
            ask_page(values, last.empty());
        }
        log.open(at, *page_, facts_row_);
        return page_->flag(facts_row_, large - 1);
    }

    /// Passes the rows in hand, `limit` at most, to `sink`, which answers false for a row that it
    /// didn't take; `last` moves to the last row taken.
    ///
    /// *Returns* whether these were the table's last rows.
    template <class Sink>
    bool hand_over(std::vector<Value>& last, std::size_t limit, Sink&& sink) {
        const std::size_t found = page_->rows() - 1;
        const std::size_t rows = std::min(found, limit);
        const std::size_t first = facts_row_ == 0 ? 1 : 0;
        const std::size_t columns = large + (may_be_large_ ? 2 : 1);
        for (std::size_t row = first; row < first + rows; ++row) {
            if (!sink(cells(*page_, row, columns))) { return false; }
            last.resize(order_.size());
            for (std::size_t i = 0; i < order_.size(); ++i) { last[i] = cells_[order_[i]]; }
        }
        if (rows != found || found == limit_) { return false; }
        return !may_be_large_ || found == 0 ||
               page_->number(first + found - 1, large + 1) < dialect::chunk_bytes;
    }

    [[nodiscard]] std::int64_t count() {
        const std::vector<Value> name{Value{Cell::text(table_->name.quoted())}};
        return connection_->ask(count_, name).number(0, 0);
    }

    /// Passes the rows of `keys` (their parts one behind the other) with the number of the key, in
    /// order.
    template <class Sink>
    void fetch(std::span<const Value> keys, Sink&& sink) {
        const std::size_t parts = table_->key.size();
        std::vector<ArrayWriter> arrays(parts);
        for (std::size_t i = 0; i < keys.size(); ++i) { arrays[i % parts].add(keys[i]); }
        values_.clear();
        for (ArrayWriter& array : arrays) { values_.emplace_back(Cell::text(array.take())); }
        const Answer answer = connection_->ask_own(fetch_, values_, format_);
        for (std::size_t row = 0; row < answer.rows(); ++row) {
            sink(static_cast<std::size_t>(answer.number(row, 0)) - 1, cells(answer, row, 1));
        }
    }

private:
    // Behind what opens a window: whether the table has large rows.
    static constexpr std::size_t large = ChangeLog::opening_columns;

    void ask_page(const std::vector<Value>& values, bool from_start) {
        const std::string& sql = pages_[from_start ? 0 : 1][may_be_large_ ? 1 : 0];
        page_.emplace(connection_->ask_own(sql, values, format_));
        facts_row_ = page_->null(0, 0) ? page_->rows() - 1 : 0;
    }

    void write_pages(const ChangeLog& log, std::size_t limit) {
        limit_ = limit;
        for (const bool from_start : {true, false}) {
            const dialect::Page page{*table_, order_, limit, from_start, sized_};
            pages_[from_start ? 0 : 1] = {dialect::read_page(page, log.opening()),
                dialect::read_page_by_size(page, log.opening())};
        }
    }

    [[nodiscard]] std::span<const Cell> cells(
        const Answer& answer, std::size_t row, std::size_t first) {
        room_.clear();
        cells_.resize(table_->columns.size());
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            cells_[i] = answer.cell(row, first + i, room_);
        }
        return cells_;
    }

    Connection* connection_;
    const Table* table_;
    std::vector<std::size_t> order_;
    std::vector<std::size_t> sized_; // columns whose values may be large
    Format format_ = Format::text;
    bool may_be_large_ = false;                       // some of its rows
    std::size_t limit_ = 0;                           // of rows in a page
    std::array<std::array<std::string, 2>, 2> pages_; // the first and others; and those by bytes
    std::string fetch_;
    std::string count_;
    std::optional<Answer> page_;
    std::size_t facts_row_ = 0; // in it
    std::vector<Value> values_;
    std::vector<Cell> cells_;
    Room room_;
};

} // namespace aftertouch::postgres
