// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/literals.hpp>
#include <aftertouch/postgres/log_row.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Which changes are of keys that a rebuild has reached (R2).

namespace aftertouch::postgres {

/// Asks the database, which compares keys by their own order.
class ReachedKeys {
public:
    ReachedKeys(Connection& connection, const Capture& capture, const TableFacts& facts)
        : connection_{&connection}, parts_{capture.table.key.size()} {
        std::vector<std::string> types;
        std::vector<std::string> collations;
        for (const std::size_t part : capture.table.key) {
            const ColumnFacts& column = *facts.column(capture.table.columns[part].name);
            types.push_back(column.type);
            collations.push_back(column.collation);
        }
        sql_ = dialect::reached(types, collations);
    }

    /// Says of each change whether it is wanted: those of keys up to `cursor`, and truncations,
    /// which are for every key.
    void mark(std::vector<LogItem>& items, const std::vector<Value>& cursor) {
        if (items.empty()) { return; }
        std::vector<ArrayWriter> arrays(parts_);
        for (const LogItem& item : items) {
            for (std::size_t part = 0; part < parts_; ++part) {
                arrays[part].add(item.key.empty() ? Cell::null() : item.key[part]);
            }
        }
        values_.clear();
        for (ArrayWriter& array : arrays) { values_.emplace_back(Cell::text(array.take())); }
        values_.insert(values_.end(), cursor.begin(), cursor.end());
        const Answer answer = connection_->ask(sql_, values_);
        for (LogItem& item : items) { item.wanted = item.key.empty(); }
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            items[static_cast<std::size_t>(answer.number(i, 0)) - 1].wanted = true;
        }
    }

private:
    Connection* connection_;
    std::size_t parts_;
    std::string sql_;
    std::vector<Value> values_;
};

} // namespace aftertouch::postgres
