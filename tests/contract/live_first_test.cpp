// SPDX-License-Identifier: MIT
// R2: between two pages of a rebuild, what is new in the log is handled, and no page overwrites
// something newer.
#include <map>
#include <random>

#include "shop.hpp"

using namespace contract;

namespace {

at::Options small_batches(std::string name) {
    at::Options options = quiet(std::move(name));
    options.batch_size = 10;
    return options;
}

/// A handler that adds differences: right only if each row is handed over exactly once, and each
/// change exactly once.
struct Sums {
    void rebuild_started(std::int64_t, Tx& tx) { tx.execute("DELETE FROM copy"); }
    void on_inserted(const Order& now, Tx& tx) { add(now.customer, now.amount, tx); }
    void on_present(const Order& now, Tx& tx) { add(now.customer, now.amount, tx); }
    void on_updated(const Order& now, const Order& before, Tx& tx) {
        add(before.customer, -before.amount, tx);
        add(now.customer, now.amount, tx);
    }
    void on_deleted(std::int64_t, const Order& before, Tx& tx) {
        add(before.customer, -before.amount, tx);
    }
    void on_touched(std::int64_t) {
    } // an upsert announces the row that it then updates; nobody uses REPLACE here

    // One row a customer: its number is the customer's letter.
    static void add(const std::string& customer, double amount, Tx& tx) {
        const std::int64_t id = customer.front();
        const auto there = tx.get(at::type<Copy>, id);
        tx.upsert(Copy{id, customer, (there ? there->amount : 0) + amount});
    }
};

std::vector<Copy> sums(Database& shop) {
    std::map<std::string, double> by_customer;
    for (const Copy& order : orders(shop)) { by_customer[order.customer] += order.amount; }
    std::vector<Copy> all;
    for (const auto& [customer, amount] : by_customer) {
        all.push_back({customer.front(), customer, amount});
    }
    return all;
}

/// Without customers that have no orders any more.
std::vector<Copy> derived(Database& shop) {
    std::vector<Copy> all = copies(shop);
    const std::vector<Copy> wanted = sums(shop);
    std::erase_if(all, [&](const Copy& sum) {
        return sum.amount == 0 && std::none_of(wanted.begin(), wanted.end(),
                                      [&](const Copy& w) { return w.id == sum.id; });
    });
    return all;
}

} // namespace

TEST_CASE("R2: live changes of keys that were reached go first, those beyond the cursor are left "
          "to their page") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 30);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, small_batches("copy")};
    pipeline.run_once();
    change_order(shop, 2, 5); // before the first page: left to it
    pipeline.run_once();
    CHECK(diary.changes() == Texts{"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10"});

    change_order(shop, 10, 5); // reached: the last row of the page
    change_order(shop, 11, 5); // not reached
    remove_order(shop, 3);
    remove_order(shop, 13);
    add_order(shop, 31);
    diary.clear();
    pipeline.run_once();
    CHECK(diary.changes() ==
          Texts{"U10", "D3", "P11", "P12", "P14", "P15", "P16", "P17", "P18", "P19"});
    diary.clear();
    pipeline.drain();
    CHECK(diary.changes() == Texts{"P20", "P21", "P22", "P23", "P24", "P25", "P26", "P27", "P28",
                                 "P29", "P30", "P31"});
}

TEST_CASE("R2: a key change across the cursor is seen from both sides") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 20);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, small_batches("copy")};
    pipeline.run_once();
    pipeline.run_once();
    diary.clear();
    shop.execute("UPDATE \"order\" SET id = 100 WHERE id = 5"); // out of what was reached: only its
                                                                // end is told
    shop.execute("UPDATE \"order\" SET id = 0 WHERE id = 15");  // into it: only its beginning
    pipeline.drain();
    CHECK(diary.changes() ==
          Texts{"D5", "I0", "P11", "P12", "P13", "P14", "P16", "P17", "P18", "P19", "P20", "P100"});
}

TEST_CASE("R2: while there is more live work than a batch takes, no page is read") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 20);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, small_batches("copy")};
    pipeline.run_once();
    pipeline.run_once();
    diary.clear();
    for (int i = 0; i < 3; ++i) {
        shop.execute("UPDATE \"order\" SET amount = amount + 1 WHERE id <= 8");
    } // 24 changes
    pipeline.run_once();
    pipeline.run_once();
    for (const Call& call : diary.calls()) { CHECK((!call.rebuilt && call.changes.size() == 10)); }
    pipeline.run_once();
    REQUIRE(diary.calls().size() == 3);
    CHECK(diary.calls()[2].changes ==
          Texts{"U5", "U6", "U7", "U8", "P11", "P12", "P13", "P14", "P15", "P16"});
}

TEST_CASE("R2: a handler that adds differences is right, whatever is written between the pages") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const unsigned seed = GENERATE(range(1U, 9U));
    INFO(fixture::name(kind) << ", seed " << seed);
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::mt19937 random{seed};
    const auto any = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
    const auto write = [&] {
        const std::int64_t id = any(80);
        const std::string customer(1, static_cast<char>('a' + any(3)));
        const auto amount = static_cast<double>(any(100));
        switch (any(5)) {
            case 0:
            case 1: shop.execute("DELETE FROM \"order\" WHERE id = $1", id); [[fallthrough]];
            case 2:
                shop.execute("INSERT INTO \"order\" (id, customer, amount) VALUES ($1, $2, $3) ON "
                             "CONFLICT (id) DO UPDATE "
                             "SET customer = $2, amount = $3",
                    id, customer, amount);
                break;
            case 3: shop.execute("DELETE FROM \"order\" WHERE id = $1", id); break;
            default: // a key change, often across the cursor
                shop.execute("UPDATE \"order\" SET id = $1 WHERE id = $2 AND NOT EXISTS (SELECT 1 "
                             "FROM \"order\" WHERE id = $1)",
                    any(80), id);
        }
    };
    for (int i = 0; i < 100; ++i) { write(); }
    at::Pipeline pipeline{at::source<Order>().images(), Sums{}, shop, small_batches("sums")};
    for (int turn = 0; turn < 30; ++turn) {
        if (turn == 15) { pipeline.rebuild(); }
        pipeline.run_once();
        for (int i = 0; i < 3; ++i) { write(); }
    }
    pipeline.drain();
    CHECK(derived(shop) == sums(shop));
}

TEST_CASE(
    "R2: a rebuild in a stated order hands over every record, in that order and then by key") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    for (std::int64_t id = 1; id <= 24; ++id) {
        shop.transaction([&](Tx& tx) { tx.insert(Order{id, id % 3 == 0 ? "bob" : "ada", 0}); });
    }
    Diary diary;
    Pipeline pipeline{at::source<Order>().rebuild_by<&Order::customer>(), diary.handler(), shop,
        small_batches("copy")};
    pipeline.drain();
    CHECK(diary.changes() == Texts{"P1", "P2", "P4", "P5", "P7", "P8", "P10", "P11", "P13", "P14",
                                 "P16", "P17", "P19", "P20", "P22", "P23", "P3", "P6", "P9", "P12",
                                 "P15", "P18", "P21", "P24"});
}

TEST_CASE("R2: in a stated order a handler that reads the row is right, whatever is written "
          "between the pages") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const unsigned seed = GENERATE(1U, 2U, 3U);
    INFO(fixture::name(kind) << ", seed " << seed);
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 50);
    std::mt19937 random{seed};
    Pipeline pipeline{at::source<Order>().rebuild_by<&Order::customer, &Order::amount>(),
        OnBatch{copy_rows}, shop, small_batches("copy")};
    for (int turn = 0; turn < 12; ++turn) {
        pipeline.run_once();
        for (int i = 0; i < 4; ++i) {
            const auto id = static_cast<std::int64_t>(random() % 60);
            const std::string customer(1, static_cast<char>('a' + random() % 26));
            if (random() % 4 == 0) {
                remove_order(shop, id);
            } else {
                shop.transaction([&](Tx& tx) {
                    tx.upsert(Order{id, customer, static_cast<double>(random() % 9)});
                });
            }
        }
    }
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}
