// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/batch_writer.hpp>

/// \file
/// Batches without a database: a test says what the log and the table hold.

namespace test {

namespace at = aftertouch;

struct Item {
    std::int64_t id = 0;
    std::string name;
    double price = 0;
    friend bool operator==(const Item&, const Item&) = default;
};

/// Values with their bytes, to be passed as a row.
inline std::vector<at::Value> row_of(const Item& item) {
    return {at::to_value(item.id), at::to_value(item.name), at::to_value(item.price)};
}
inline std::vector<at::Cell> cells_of(const std::vector<at::Value>& values) {
    return {values.begin(), values.end()};
}

/// The rows that a table has now, and how often somebody looked.
struct Shelf {
    std::map<std::int64_t, Item> items;
    int looks = 0;
    bool broken = false;

    [[nodiscard]] at::detail::RecordLoader loader() {
        return [this](std::span<const at::Value> keys, const at::detail::RowSink& sink) {
            ++looks;
            for (std::size_t i = 0; i < keys.size(); ++i) {
                const auto found = items.find(keys[i].cell().as_integer());
                if (found == items.end()) { continue; }
                const std::vector<at::Value> row = row_of(found->second);
                sink(i, cells_of(row));
                if (broken) { throw std::runtime_error{"the shelf is broken"}; }
            }
        };
    }
};

/// A writer over items whose batches a test fills.
struct Filling {
    using Filter = at::detail::BatchWriter<Item>::Filter;

    explicit Filling(Filter filter = {}, std::vector<std::size_t> imaged = {0, 1, 2})
        : imaged_{imaged} {
        writer.prepare(std::move(imaged), {at::KeyFold::exact}, shelf.loader(), std::move(filter));
        begin();
    }

    void begin() { writer.clear("log"); }
    void change(at::Operation operation, std::int64_t id, const Item* before = nullptr,
        const Item* after = nullptr) {
        const at::Cell key = at::Cell::integer(id);
        const auto old_values = before == nullptr ? std::vector<at::Value>{} : row_of(*before);
        const auto new_values = after == nullptr ? std::vector<at::Value>{} : row_of(*after);
        const std::vector<at::Cell> old_cells = image(old_values);
        const std::vector<at::Cell> new_cells = image(new_values);
        const at::Timestamp when{std::chrono::microseconds{1000 * ++seq}};
        writer.add_change({{seq, 0}, operation, when, {&key, 1}, old_cells, new_cells});
    }
    void present(const Item& item, std::int64_t generation = 1) {
        const std::vector<at::Value> row = row_of(item);
        writer.add_present(cells_of(row), generation, at::Timestamp{});
    }
    const at::Batch<Item>& seal() { return writer.seal({.event_id = "log:9"}); }

    Shelf shelf;
    at::detail::BatchWriter<Item> writer;
    std::int64_t seq = 0;

private:
    [[nodiscard]] std::vector<at::Cell> image(const std::vector<at::Value>& values) const {
        std::vector<at::Cell> cells;
        for (const std::size_t column : imaged_) {
            if (!values.empty()) { cells.push_back(values[column]); }
        }
        return cells;
    }

    std::vector<std::size_t> imaged_;
};

template <class Span>
auto list(const Span& span) {
    return std::vector(span.begin(), span.end());
}

} // namespace test
