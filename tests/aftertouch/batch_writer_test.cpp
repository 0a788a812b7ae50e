// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include <support/batches.hpp>
#include <support/catch.hpp>

#include <aftertouch/batch_writer.hpp>

using namespace test;
using at::Cell;
using at::Operation;

namespace {

struct Line {
    std::int64_t order = 0;
    std::string sku;
    std::int64_t count = 0;
};

} // namespace

template <>
struct aftertouch::EntityTraits<Line> {
    static constexpr auto key = at::key<&Line::order, &Line::sku>;
};

TEST_CASE("batch writer: images become structs, with what isn't in them left empty") {
    const Item before{1, "old", 1.5};
    const Item after{1, "new", 2.5};
    Filling whole;
    whole.change(Operation::updated, 1, &before, &after);
    CHECK(*whole.seal().changes()[0].before() == before);
    CHECK(*whole.seal().changes()[0].after() == after);

    Filling part{{}, {0, 2}}; // without the name
    part.change(Operation::updated, 1, &before, &after);
    part.change(Operation::deleted, 1, &after);
    CHECK(*part.seal().changes()[0].before() == Item{1, "", 1.5});
    CHECK(*part.seal().changes()[1].before() == Item{1, "", 2.5});
    CHECK(part.seal().changes()[1].after() == nullptr);

    // Storage is used again; nothing of the former batch shines through.
    whole.begin();
    whole.change(Operation::touched, 1);
    CHECK(whole.seal().changes()[0].before() == nullptr);
    CHECK(whole.seal().changes()[0].after() == nullptr);
    part.begin();
    part.change(Operation::inserted, 2, nullptr, &before);
    CHECK(*part.seal().changes()[0].after() == Item{1, "", 1.5});
}

TEST_CASE("TE7: batch writer: a filter sees the whole change, and what it drops is nowhere") {
    std::vector<std::string> asked;
    Filling filling{[&](const at::Change<Item>& change) {
        asked.push_back(change.idempotency_key());
        if (change.operation() == Operation::present) { return change.after()->price > 1; }
        return change.key() % 2 == 0 && (change.after() == nullptr || change.after()->price > 1);
    }};
    const Item cheap{2, "b", 1};
    const Item dear{2, "b", 9};
    filling.change(Operation::inserted, 1, nullptr, &dear);
    filling.change(Operation::inserted, 2, nullptr, &cheap);
    filling.change(Operation::updated, 2, &cheap, &dear);
    filling.change(Operation::deleted, 4);
    filling.present({5, "e", 1});
    filling.present({6, "f", 2});
    const at::Batch<Item>& batch = filling.seal();
    CHECK(list(batch.ids()) == std::vector<std::int64_t>{2, 4, 6});
    REQUIRE(batch.changes().size() == 3);
    CHECK(batch.changes()[0].operation() == Operation::updated);
    CHECK(batch.changes()[2].after()->name == "f");
    CHECK(batch.rebuilt());
    CHECK(filling.writer.size() == 3);
    CHECK(filling.writer.present() == 1);
    REQUIRE(asked.size() == 6);
    CHECK(asked[2] == batch.changes()[0].idempotency_key()); // the same inside the filter
    CHECK(asked[5] == batch.changes()[2].idempotency_key());
}

TEST_CASE("batch writer: a filter that drops everything leaves an empty batch") {
    Filling filling{[](const at::Change<Item>&) { return false; }};
    filling.change(Operation::inserted, 1);
    filling.present({5, "e", 1});
    CHECK(filling.writer.size() == 0);
    CHECK(filling.seal().ids().empty());
    CHECK(!filling.seal().rebuilt());
}

TEST_CASE("K3: batch writer: counts the bytes of keys, images and rows") {
    Filling filling;
    CHECK(filling.writer.bytes() == 0);
    filling.change(Operation::touched, 1);
    CHECK(filling.writer.bytes() == 8);
    const Item item{1, std::string(100, 'x'), 1};
    filling.change(Operation::updated, 1, &item, &item);
    CHECK(filling.writer.bytes() == 8 + 8 + 2 * (8 + 100 + 8));
    filling.present(item);
    CHECK(filling.writer.bytes() == 8 + 8 + 3 * (8 + 100 + 8));
    filling.begin();
    CHECK(filling.writer.bytes() == 0);
}

TEST_CASE(
    "C5: batch writer: keys that the database calls equal are one id, as it was first written") {
    at::detail::BatchWriter<Line> writer;
    std::vector<std::string> looked_up;
    writer.prepare({}, {at::KeyFold::exact, at::KeyFold::ascii_case},
        [&](std::span<const at::Value> keys, const at::detail::RowSink& sink) {
            for (const at::Value& part : keys) { looked_up.push_back(to_text(part)); }
            sink(0, std::vector<Cell>{Cell::integer(1), Cell::text("PEN"), Cell::integer(5)});
        },
        {});
    writer.clear("log");
    const auto touch = [&](Cell order, const char* sku) {
        const std::vector<Cell> key{order, Cell::text(sku)};
        writer.add_change({{1, 0}, Operation::touched, {}, key, {}, {}});
    };
    touch(Cell::integer(1), "Pen");
    touch(Cell::real(1.0), "pEN");
    touch(Cell::integer(2), "pen");
    const at::Batch<Line>& batch = writer.seal({});
    REQUIRE(batch.ids().size() == 2);
    CHECK(batch.ids()[0] == std::tuple<std::int64_t, std::string>{1, "Pen"});
    CHECK(batch.ids()[1] == std::tuple<std::int64_t, std::string>{2, "pen"});
    CHECK(batch.changes()[1].key() == batch.ids()[0]);
    CHECK(batch.records().size() == 1);
    CHECK(looked_up == std::vector<std::string>{"i1", "t50656e", "i2", "t70656e"});
    CHECK(batch.missing().size() == 1);
}

TEST_CASE("batch writer: a value that the struct can't hold is named by table and column") {
    Filling filling;
    const std::vector<Cell> key{Cell::text("one")};
    CHECK_THROWS_SAYING(filling.writer.add_change({{1, 0}, Operation::touched, {}, key, {}, {}}),
        at::Error, "item.id");
    filling.begin();
    const std::vector<Cell> one{Cell::integer(1)};
    const std::vector<Cell> row{Cell::integer(1), Cell::null(), Cell::real(1)};
    CHECK_THROWS_SAYING(filling.writer.add_change({{1, 0}, Operation::inserted, {}, one, {}, row}),
        at::Error, "item.name");
    filling.begin();
    CHECK_THROWS_SAYING(filling.writer.add_present(row, 1, {}), at::Error, "item.name");
}

TEST_CASE("batch writer: views stay where they are however many changes there are") {
    Filling filling;
    std::vector<Item> items;
    for (std::int64_t id = 0; id < 500; ++id) {
        items.push_back({id, "name " + std::to_string(id), static_cast<double>(id)});
    }
    for (int round = 0; round < 2; ++round) {
        filling.begin();
        for (const Item& item : items) {
            filling.change(Operation::updated, item.id, &item, &items[499]);
        }
        const at::Batch<Item>& batch = filling.seal();
        for (std::size_t i = 0; i < items.size(); ++i) {
            REQUIRE(*batch.changes()[i].before() == items[i]);
            REQUIRE(*batch.changes()[i].after() == items[499]);
            REQUIRE(batch.changes()[i].key() == items[i].id);
        }
    }
}
