// SPDX-License-Identifier: MIT
// C4, C5: keys of every kind, and rows whose key changes.
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid.hpp>

#include <aftertouch/uuid.hpp>

#include "shop.hpp"

using namespace contract;

namespace contract {

struct Line {
    std::int64_t order = 0;
    std::string sku;
    std::int64_t count = 0;
    friend bool operator==(const Line&, const Line&) = default;
};
struct Customer {
    std::string name;
    std::int64_t rank = 0;
};
struct Device {
    boost::uuids::uuid id{};
    std::string label;
};

} // namespace contract

template <>
struct aftertouch::EntityTraits<Line> {
    static constexpr auto key = at::key<&Line::order, &Line::sku>;
};
template <>
struct aftertouch::EntityTraits<Customer> {
    static constexpr auto key = at::key<&Customer::name>;
};

namespace {

/// A handler that notes operation and key, as `text(key)` writes it.
template <class T, class Text>
auto note_keys(Texts& told, Text text) {
    return [&told, text](const at::Batch<T>& batch) {
        for (const at::Change<T>& change : batch.changes()) {
            told.push_back(static_cast<char>(change.operation()) + text(change.key()));
        }
        static_cast<void>(batch.records());
    };
}

} // namespace

TEST_CASE("C4: a key change is handed over as the old key deleted, then the new one inserted") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(OnBatch{copy_rows}), shop, quiet("copy")};
    Texts told;
    at::Pipeline set{at::source<Order>().images().named("imaged"),
        at::handle(at::on_inserted([&](const Order& now) {
            told.push_back("inserted " + std::to_string(now.id));
        }),
            at::on_updated(
                [&](const Order& now) { told.push_back("updated " + std::to_string(now.id)); }),
            at::on_deleted([&](std::int64_t id, const Order& before) {
                told.push_back("deleted " + std::to_string(id) + "=" + std::to_string(before.id));
            })),
        shop, quiet("set")};
    pipeline.drain();
    set.drain();
    diary.clear();
    told.clear();
    shop.execute("UPDATE \"order\" SET id = 5, amount = 9 WHERE id = 1");
    pipeline.drain();
    set.drain();
    CHECK(diary.changes() == Texts{"D1", "I5"});
    CHECK(diary.calls().front().ids == Ids{1, 5});
    CHECK(told == Texts{"deleted 1=1", "inserted 5"});
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("C4: keys that change places in one statement") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 3);
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    pipeline.drain();
    shop.execute("UPDATE \"order\" SET id = -id");
    shop.execute("UPDATE \"order\" SET id = id + 4");
    pipeline.drain();
    CHECK(orders(shop) == std::vector<Copy>{{1, "ada", 3}, {2, "ada", 2}, {3, "ada", 1}});
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("C5: keys of several parts") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    shop.create_table<Line>();
    shop.transaction([](Tx& tx) {
        for (const auto& [order, sku] : {std::pair<std::int64_t, const char*>{2, "a"}, {1, "b"},
                 {1, "a"}, {10, ""}, {1, "ab"}}) {
            tx.insert(Line{order, sku, 1});
        }
    });
    Texts told;
    at::Options options = quiet("lines");
    options.batch_size = 2; // the cursor stops between rows with one first part
    at::Pipeline pipeline{at::source<Line>(),
        note_keys<Line>(told,
            [](const at::Key<Line>& key) {
                return std::to_string(std::get<0>(key)) + '/' + std::get<1>(key);
            }),
        shop, options};
    pipeline.drain();
    CHECK(told == Texts{"P1/a", "P1/ab", "P1/b", "P2/a", "P10/"});
    told.clear();
    shop.execute("UPDATE line SET sku = 'c' WHERE \"order\" = 1 AND sku = 'b'");
    shop.execute("UPDATE line SET count = 7 WHERE \"order\" = 10");
    shop.execute("DELETE FROM line WHERE \"order\" = 2");
    pipeline.drain();
    CHECK(told == Texts{"D1/b", "I1/c", "U10/", "D2/a"});
    shop.transaction([](Tx& tx) {
        CHECK(tx.get(at::type<Line>, 1, "c") == Line{1, "c", 1});
        CHECK(tx.get(at::type<Line>, at::Key<Line>{10, ""}) == Line{10, "", 7});
        CHECK(!tx.get(at::type<Line>, 1, "b"));
        CHECK(tx.erase(at::type<Line>, 1, "c"));
        CHECK(!tx.erase(at::type<Line>, 1, "c"));
    });
}

TEST_CASE("C5: text keys, whatever is in them") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    shop.create_table<Customer>();
    Texts told;
    at::Pipeline pipeline{at::source<Customer>(),
        note_keys<Customer>(told, [](const std::string& name) { return name; }), shop,
        quiet("customers")};
    pipeline.drain();
    const Texts names{"", " ", "Ada", "ada", "it's \"quoted\"", "1", "1.0", "caf\u00e9",
        std::string(2000, 'x'), "tab\tand\nline"};
    shop.transaction([&](Tx& tx) {
        for (const std::string& name : names) { tx.insert(Customer{name, 1}); }
    });
    pipeline.drain();
    Texts expected;
    for (const std::string& name : names) { expected.push_back('I' + name); }
    CHECK(told == expected);
    told.clear();
    pipeline.rebuild();
    pipeline.drain();
    CHECK(told.size() == names.size());
}

TEST_CASE("C5: text keys that the database calls equal whatever their case are one key") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    fixture::create_case_blind_customers(shop);
    if (!fixture::captures_case_blind_keys) {
        CHECK_THROWS_SAYING(at::install(shop, at::source<Customer>()), at::Error,
            "whose equal values may have several texts");
        return;
    }
    shop.execute("INSERT INTO customer (name, rank) VALUES ('bob', 1), ('Ada', 1), ('CYD', 1)");
    std::vector<std::size_t> ids;
    Texts told;
    at::Options options = quiet("customers");
    options.batch_size = 2;
    at::Pipeline pipeline{at::source<Customer>(),
        [&](const at::Batch<Customer>& batch) {
            ids.push_back(batch.ids().size());
            for (const auto& change : batch.changes()) {
                told.push_back(static_cast<char>(change.operation()) + change.key());
            }
            REQUIRE(batch.records().size() + batch.missing().size() == batch.ids().size());
        },
        shop, options};
    pipeline.run_once();
    pipeline.run_once();
    CHECK(told == Texts{"PAda", "Pbob"});
    told.clear();
    // Reached under another case, and not reached.
    shop.execute("UPDATE customer SET name = 'ADA' WHERE name = 'ada'");
    shop.execute("UPDATE customer SET rank = 2 WHERE name = 'cyd'");
    pipeline.drain();
    CHECK(std::find(told.begin(), told.end(), "PCYD") != told.end());
    CHECK(std::find(told.begin(), told.end(), "UCYD") == told.end());
    ids.clear();
    shop.execute("UPDATE customer SET rank = 3 WHERE name = 'ada'");
    shop.execute("UPDATE customer SET name = 'aDa' WHERE name = 'ada'");
    for (int i = 0; i < 3; ++i) { pipeline.drain(); }
    REQUIRE(!ids.empty());
    CHECK(ids.front() == 1); // one id, however it was written
}

TEST_CASE("C5: uuid keys") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    shop.create_table<Device>();
    const boost::uuids::string_generator uuid;
    const std::vector<boost::uuids::uuid> all{uuid("00000000-0000-0000-0000-000000000001"),
        uuid("7fffffff-ffff-4fff-8fff-ffffffffffff"), uuid("ffffffff-ffff-4fff-bfff-fffffffffffe")};
    shop.transaction([&](Tx& tx) {
        for (const auto& id : all) { tx.insert(Device{id, "new"}); }
    });
    std::vector<boost::uuids::uuid> ids;
    std::vector<std::string> labels;
    at::Options options = quiet("devices");
    options.batch_size = 1;
    at::Pipeline pipeline{at::source<Device>(),
        [&](const at::Batch<Device>& batch) {
            ids.insert(ids.end(), batch.ids().begin(), batch.ids().end());
            for (const Device& device : batch.records()) { labels.push_back(device.label); }
        },
        shop, options};
    pipeline.drain();
    CHECK(ids == all);
    shop.transaction([&](Tx& tx) {
        tx.upsert(Device{all[2], "old"});
        CHECK(tx.get(at::type<Device>, all[2])->label == "old");
    });
    pipeline.drain();
    CHECK(ids.back() == all[2]);
    CHECK(labels.back() == "old");
}
