// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <range/v3/range/conversion.hpp>

#include <aftertouch/batch_writer.hpp>
#include <aftertouch/ranges.hpp>

namespace at = aftertouch;

namespace {

struct Item {
    std::int64_t id = 0;
    std::string name;
};

class Filled {
public:
    Filled() {
        writer_.prepare({0, 1}, {at::KeyFold::exact}, {}, {});
        writer_.clear("log");
        add(at::Operation::inserted, 1, "", "a");
        add(at::Operation::updated, 2, "b", "c");
        add(at::Operation::deleted, 1, "a", "");
        batch_ = &writer_.seal({.event_id = "log:3"});
    }
    [[nodiscard]] const at::Batch<Item>& batch() const { return *batch_; }

private:
    void add(at::Operation operation, std::int64_t id, const char* before, const char* after) {
        const at::Cell key = at::Cell::integer(id);
        const std::vector<at::Cell> old_row{key, at::Cell::text(before)};
        const std::vector<at::Cell> new_row{key, at::Cell::text(after)};
        at::LogRow row{{id, 0}, operation, {}, {&key, 1}, {}, {}};
        if (*before != '\0') { row.before = old_row; }
        if (*after != '\0') { row.after = new_row; }
        writer_.add_change(row);
    }

    at::detail::BatchWriter<Item> writer_;
    const at::Batch<Item>* batch_ = nullptr;
};

} // namespace

TEST_CASE("views pick changes, keys and rows of a batch") {
    const Filled filled;
    const auto& changes = filled.batch().changes();
    const std::vector<std::int64_t> ids =
        changes | at::views::of(at::Operation::inserted, at::Operation::deleted) | at::views::keys |
        ranges::to<std::vector<std::int64_t>>();
    CHECK(ids == std::vector<std::int64_t>{1, 1});

    std::string before;
    for (const Item& item : changes | at::views::before) { before += item.name; }
    CHECK(before == "ba");
    std::string after;
    for (const Item& item : changes | at::views::after) { after += item.name; }
    CHECK(after == "ac");
}

TEST_CASE("by_key groups the changes of a key in the order of the log") {
    const Filled filled;
    const auto sorted = at::views::sorted_by_key(filled.batch());
    std::vector<std::vector<at::Operation>> groups;
    for (const auto& group : sorted | at::views::by_key) {
        groups.emplace_back();
        for (const auto* change : group) { groups.back().push_back(change->operation()); }
    }
    REQUIRE(groups.size() == 2);
    CHECK(groups[0] == std::vector{at::Operation::inserted, at::Operation::deleted});
    CHECK(groups[1] == std::vector{at::Operation::updated});
}
