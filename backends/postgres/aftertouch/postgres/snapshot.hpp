// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/error.hpp>
#include <aftertouch/postgres/catalog.hpp>
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
        std::vector<std::size_t> sized;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            const Form form = facts.column(table.columns[i].name)->form;
            if (form == Form::text || form == Form::blob) { sized.push_back(i); }
        }
        std::vector<std::string> types;
        types.reserve(table.key.size());
        for (const std::size_t part : table.key) {
            types.push_back(facts.column(table.columns[part].name)->type);
        }
        first_page_ = dialect::read_page(table, order, sized, true);
        next_page_ = dialect::read_page(table, order, sized, false);
        fetch_ = dialect::fetch(table, types);
        count_ = dialect::count_rows(table);
    }

    /// Reads up to `limit` rows behind `last` (empty: from the beginning) into hand, with the state
    /// of the database that they show: one statement sees one (R2).
    [[nodiscard]] Position read_page(const std::vector<Value>& last, std::size_t limit) {
        limit_ = limit;
        values_.assign({Value{Cell::integer(static_cast<std::int64_t>(limit))}});
        values_.insert(values_.end(), last.begin(), last.end());
        page_.emplace(connection_->ask_own(last.empty() ? first_page_ : next_page_, values_));
        std::optional<Snapshot> shown = Snapshot::from(page_->text(0, 0));
        if (!shown || !page_->flag(0, 2)) {
            throw Error{Errc::transaction_lost,
                "a page of a rebuild was to be read in a transaction that has written already"};
        }
        return {*std::move(shown), page_->number(0, 1), {}};
    }

    /// Passes the rows in hand, `limit` at most, to `sink`, which answers false for a row that it
    /// didn't take; `last` moves to the last row taken.
    ///
    /// *Returns* whether these were the table's last rows.
    template <class Sink>
    bool hand_over(std::vector<Value>& last, std::size_t limit, Sink&& sink) {
        if (page_->null(0, there)) { return true; }
        const std::size_t rows = std::min(page_->rows(), limit);
        for (std::size_t row = 0; row < rows; ++row) {
            if (!sink(cells(*page_, row, first_column))) { return false; }
            last.resize(order_.size());
            for (std::size_t i = 0; i < order_.size(); ++i) { last[i] = cells_[order_[i]]; }
        }
        const auto found = static_cast<std::size_t>(page_->number(0, there - 1));
        return rows == found && found < limit_;
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
        const Answer answer = connection_->ask_own(fetch_, values_);
        for (std::size_t row = 0; row < answer.rows(); ++row) {
            sink(static_cast<std::size_t>(answer.number(row, 0)) - 1, cells(answer, row, 1));
        }
    }

private:
    static constexpr std::size_t there = 4;        // whether the page has a row
    static constexpr std::size_t first_column = 5; // of the table

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
    std::string first_page_;
    std::string next_page_;
    std::string fetch_;
    std::string count_;
    std::size_t limit_ = 0;
    std::optional<Answer> page_;
    std::vector<Value> values_;
    std::vector<Cell> cells_;
    Room room_;
};

} // namespace aftertouch::postgres
