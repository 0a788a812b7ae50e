// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/upkeep.hpp>
#include <aftertouch/status.hpp>
#include <aftertouch/value.hpp>

/// \file
/// How far a position is behind the log's end, and who holds a transaction open.

namespace aftertouch::postgres {

namespace detail {

// What every pipeline knows of the log's numbers is true for all.
[[nodiscard]] inline Marks all_marks(Connection& connection) {
    const Answer answer = connection.ask(dialect::all_marks);
    Marks all;
    for (std::size_t i = 0; i < answer.rows(); ++i) {
        const Marks some = Marks::from(answer.text(i, 0));
        for (const Mark& mark : some.all()) { all.add(mark); }
    }
    return all;
}

} // namespace detail

/// What of a capture's changes lies behind `from`.
[[nodiscard]] inline Lag read_lag(
    Connection& connection, std::int64_t capture, const Position& from) {
    const auto [xids, numbers] = detail::all_marks(connection).arrays();
    std::vector<Value> values;
    for (const std::string& text : {from.seen.text(), xids, numbers}) {
        values.emplace_back(Cell::text(text));
    }
    const Position::Window window = from.window.value_or(Position::Window{});
    values.emplace_back(from.window ? Value{Cell::text(window.until.text())} : Value{});
    values.emplace_back(Cell::integer(window.seq));
    values.emplace_back(Cell::integer(window.item));
    const Answer answer = connection.ask(dialect::lag(capture), values);
    Lag lag{answer.number(0, 0), std::chrono::microseconds{answer.number(0, 1)}, {}};
    const Answer open = connection.ask(dialect::oldest_open());
    if (open.rows() != 0) {
        lag.oldest_open = OpenTransaction{
            std::string{open.text(0, 0)}, Timestamp{std::chrono::microseconds{open.number(0, 1)}}};
    }
    return lag;
}

} // namespace aftertouch::postgres
