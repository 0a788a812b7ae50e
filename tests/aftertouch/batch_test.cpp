// SPDX-License-Identifier: MIT
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <support/batches.hpp>
#include <support/catch.hpp>

#include <aftertouch/batch.hpp>

namespace test {
struct Visit {
    aftertouch::Timestamp at;
    std::string who;
};
} // namespace test
template <>
struct aftertouch::EntityTraits<test::Visit> {
    static constexpr auto key = aftertouch::key<&test::Visit::at>;
};

using namespace test;
using at::Operation;
using Ids = std::vector<std::int64_t>;

static_assert(!std::is_copy_constructible_v<at::Batch<Item>>); // its views would dangle
static_assert(!std::is_copy_assignable_v<at::Batch<Item>>);

TEST_CASE("SY3: a batch has each id once, first seen first, and every change in order") {
    Filling filling;
    filling.change(Operation::updated, 7);
    filling.change(Operation::inserted, 3);
    filling.change(Operation::deleted, 7);
    filling.change(Operation::touched, 5);
    filling.change(Operation::updated, 3);
    const at::Batch<Item>& batch = filling.seal();
    CHECK(list(batch.ids()) == Ids{7, 3, 5});
    Ids keys;
    for (const auto& change : batch.changes()) { keys.push_back(change.key()); }
    CHECK(keys == Ids{7, 3, 7, 5, 3});
    CHECK(!batch.rebuilt());
    CHECK(batch.event_id() == "log:9");
}

TEST_CASE(
    "batch: records are read once, when asked for, in the order of the ids; the rest is missing") {
    Filling filling;
    filling.shelf.items = {{3, {3, "c", 1}}, {7, {7, "g", 2}}};
    for (const std::int64_t id : {9, 7, 1, 3, 7, 2}) { filling.change(Operation::touched, id); }
    const at::Batch<Item>& batch = filling.seal();
    CHECK(filling.shelf.looks == 0);
    CHECK(list(batch.records()) == std::vector<Item>{{7, "g", 2}, {3, "c", 1}});
    CHECK(list(batch.missing()) == Ids{9, 1, 2});
    CHECK(batch.record(0) == nullptr);
    REQUIRE(batch.record(1) != nullptr);
    CHECK(batch.record(1)->name == "g");
    CHECK(batch.record(2) == nullptr);
    CHECK(batch.record(3)->id == 3);
    CHECK(batch.record(4) == nullptr);
    CHECK(filling.shelf.looks == 1);
}

TEST_CASE("batch: a page needs no second look, and nothing of it is missing") {
    Filling filling;
    filling.present({1, "a", 1});
    filling.present({2, "b", 2});
    const at::Batch<Item>& batch = filling.seal();
    CHECK(batch.rebuilt());
    CHECK(list(batch.records()) == std::vector<Item>{{1, "a", 1}, {2, "b", 2}});
    CHECK(batch.missing().empty());
    CHECK(batch.record(1)->name == "b");
    CHECK(filling.shelf.looks == 0);
}

TEST_CASE("batch: what was missing in one batch isn't missing in the next") {
    Filling filling;
    filling.change(Operation::deleted, 1);
    CHECK(list(filling.seal().missing()) == Ids{1});
    filling.begin();
    filling.present({1, "again", 1});
    CHECK(filling.seal().missing().empty());
    CHECK(list(filling.seal().records()) == std::vector<Item>{{1, "again", 1}});

    filling.begin();
    filling.shelf.items = {{2, {2, "b", 2}}};
    filling.change(Operation::updated, 2);
    CHECK(filling.seal().missing().empty());
    CHECK(filling.seal().record(0)->name == "b");

    filling.begin();
    const at::Batch<Item>& empty = filling.seal();
    CHECK(empty.ids().empty());
    CHECK(empty.changes().empty());
    CHECK(empty.records().empty());
    CHECK(empty.missing().empty());
}

TEST_CASE("batch: changes and a page in one batch: records are what the table has now") {
    Filling filling;
    filling.shelf.items = {{1, {1, "now", 5}}, {2, {2, "b", 2}}};
    filling.change(Operation::updated, 1);
    filling.change(Operation::deleted, 9);
    filling.present({2, "b", 2});
    const at::Batch<Item>& batch = filling.seal();
    CHECK(batch.rebuilt());
    CHECK(list(batch.ids()) == Ids{1, 9, 2});
    CHECK(list(batch.records()) == std::vector<Item>{{1, "now", 5}, {2, "b", 2}});
    CHECK(list(batch.missing()) == Ids{9});
    CHECK(batch.changes().back().after()->name == "b");
}

TEST_CASE(
    "K2: batch: a failed read is remembered, whoever catches it, and read anew in the next batch") {
    Filling filling;
    filling.shelf.items = {{1, {1, "a", 1}}};
    filling.shelf.broken = true;
    filling.change(Operation::updated, 1);
    const at::Batch<Item>& batch = filling.seal();
    CHECK(!filling.writer.failed_read());
    CHECK_THROWS_AS(batch.records(), std::runtime_error);
    CHECK_THROWS_AS(std::rethrow_exception(filling.writer.failed_read()), std::runtime_error);
    CHECK_THROWS_AS(batch.missing(), std::runtime_error);

    filling.shelf.broken = false;
    filling.begin();
    filling.change(Operation::updated, 1);
    CHECK(list(filling.seal().records()) == std::vector<Item>{{1, "a", 1}});
    CHECK(!filling.writer.failed_read());
}

TEST_CASE("batch: a key isn't missing where it has a row under another of its texts") {
    at::detail::BatchWriter<Visit> writer;
    const std::vector<at::Cell> row{at::Cell::text("2026-01-01T10:00:00"), at::Cell::text("ada")};
    const auto loader = [&](std::span<const at::Value> keys, const at::detail::RowSink& sink) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i].cell().bytes() == row[0].bytes()) { sink(i, row); }
        }
    };
    writer.prepare({}, {at::KeyFold::exact}, loader, {});
    writer.clear("log");
    std::int64_t seq = 0;
    for (const char* text : {"2026-01-01 10:00:00", "2026-01-01T10:00:00", "2026-01-02 10:00:00"}) {
        const at::Cell key = at::Cell::text(text);
        writer.add_change({{++seq, 0}, Operation::touched, {}, {&key, 1}, {}, {}});
    }
    const at::Batch<Visit>& batch = writer.seal({});
    REQUIRE(batch.ids().size() == 3);
    REQUIRE(batch.records().size() == 1);
    CHECK(list(batch.missing()) == std::vector{batch.ids()[2]});
    CHECK(batch.record(0) == batch.record(1));
    CHECK(batch.record(1) != nullptr);
    CHECK(batch.record(2) == nullptr);
}

TEST_CASE("batch: says what it was told of itself") {
    Filling filling;
    filling.change(Operation::touched, 1);
    const at::Batch<Item>& batch =
        filling.writer.seal({.event_id = "log:3", .generation = 4, .attempts = 2, .replay = true});
    CHECK(batch.event_id() == "log:3");
    CHECK(batch.generation() == 4);
    CHECK(batch.attempts() == 2);
    CHECK(batch.replay());
}
