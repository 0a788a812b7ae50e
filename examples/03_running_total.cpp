// A running total kept by differences: every sale counts once, also over a stop and a start.
// Run with: examples/run 03_running_total
// Expect: the totals after each step; in the end they equal a sum over all sales.
//
// expect: rebuilt: ada 1000 bob 500
// expect: followed: ada 750 bob 750
// expect: replayed: bob 250 eve 4200
// expect: computed: bob 250 eve 4200
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <cstdint>
#include <iostream>
#include <string>
namespace at = aftertouch;

struct Sale {
    std::int64_t id;
    std::string customer;
    std::int64_t cents;
};
struct Total {
    std::string customer;
    std::int64_t cents;
};
template <>
struct aftertouch::EntityTraits<Total> {
    static constexpr auto key = at::key<&Total::customer>;
};

// Right in one lane. Where Options::lanes has several, they would overwrite each other's sums:
// there it is one statement, as in pgbench.cpp.
void add(auto& tx, const std::string& customer, std::int64_t cents) {
    const auto total = tx.get(at::type<Total>, customer);
    tx.upsert(Total{customer, (total ? total->cents : 0) + cents});
}

// What it writes is committed together with how far it has come, or not at all: that makes adding
// differences safe. A row that REPLACE removes comes as deleted, with the image of what it was.
const auto keep_totals = at::handle(
    at::on_rebuild_started([](std::int64_t, auto& tx) { tx.execute("DELETE FROM total"); }),
    at::on_present([](const Sale& now, auto& tx) { add(tx, now.customer, now.cents); }),
    at::on_inserted([](const Sale& now, auto& tx) { add(tx, now.customer, now.cents); }),
    at::on_updated([](const Sale& now, const Sale& before, auto& tx) {
        add(tx, before.customer, -before.cents); // it may have been another customer's
        add(tx, now.customer, now.cents);
    }),
    at::on_deleted([](const Sale& before, auto& tx) { add(tx, before.customer, -before.cents); }));

void print(at::sqlite::Database& shop, const char* when, const char* sql) {
    std::cout << when;
    for (const Total& total : shop.query(at::type<Total>, sql)) {
        std::cout << ' ' << total.customer << ' ' << total.cents;
    }
    std::cout << '\n';
}

int main() {
    at::sqlite::Database shop{":memory:"};
    shop.create_table<Sale>();
    shop.create_table<Total>();
    shop.execute("INSERT INTO sale VALUES (1, 'ada', 750), (2, 'ada', 250), (3, 'bob', 500)");
    const char* const kept = "SELECT customer, cents FROM total WHERE cents <> 0 ORDER BY 1";

    at::Pipeline totals{at::source<Sale>().images(), keep_totals, shop, {.name = "totals"}};
    totals.start(); // it has no checkpoint yet, so it begins with every sale
    totals.await_idle();
    print(shop, "rebuilt:", kept);
    shop.execute("UPDATE sale SET customer = 'bob' WHERE id = 2");
    totals.await_idle();
    print(shop, "followed:", kept);
    totals.stop(); // the triggers go on
    shop.execute("DELETE FROM sale WHERE id = 3; REPLACE INTO sale VALUES (1, 'eve', 4200)");
    totals.start();
    totals.await_idle();
    print(shop, "replayed:", kept);
    print(shop, "computed:", "SELECT customer, sum(cents) FROM sale GROUP BY customer ORDER BY 1");
}
