// A shop that another process fills, the sqlite3 shell; a program keeps totals and a full text
// index of it.
//
// Run with: examples/run (or, with fewer orders: examples/run shop 20000)
//
// Expect: the program is killed twice and goes on; what it derived equals a computation from
// scratch.
//
// expect: 1\. The sqlite3 shell makes a shop
// expect: Killed while it rebuilds
// expect: Killed while it follows
// expect: Everything is handled
// expect: totals by customer +1,000 rows: equal
// expect: indexed orders +[0-9,]+ rows: equal
// expect: All is equal
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <string>

#include <sqlite3.h>

#include "shop/story.hpp"
#include "support/process.hpp"
#include "support/screen.hpp"

namespace at = aftertouch;

struct Order { // the columns that count here; the table has one more
    std::int64_t id;
    std::string customer;
    std::int64_t cents;
    std::string note;
};
template <>
struct aftertouch::EntityTraits<Order> {
    static constexpr auto table = "orders";
};

struct Total {
    std::string customer;
    std::int64_t orders;
    std::int64_t cents;
};
template <>
struct aftertouch::EntityTraits<Total> {
    static constexpr auto key = at::key<&Total::customer>;
};

struct Counted { // what an order has put into its customer's total
    std::int64_t id;
    std::string customer;
    std::int64_t cents;
};

// Takes off what it had added for an order, and adds what the order says now: right for every kind
// of change, and for rows that REPLACE removed. Each difference is counted once, since all that is
// written through tx is committed together with how far the pipeline has come.
struct KeepTotals {
    void rebuild_started(std::int64_t, auto& tx) const {
        tx.execute("DELETE FROM counted; DELETE FROM total");
    }

    void operator()(const at::Batch<Order>& batch, auto& tx) const {
        std::map<std::string, Total> differences;
        const auto add = [&](const std::string& customer, std::int64_t orders, std::int64_t cents) {
            Total& difference = differences[customer];
            difference.orders += orders;
            difference.cents += cents;
        };
        for (std::size_t i = 0; i < batch.ids().size(); ++i) {
            const std::int64_t id = batch.ids()[i];
            const auto before = tx.get(at::type<Counted>, id);
            if (before) { add(before->customer, -1, -before->cents); }
            if (const Order* now = batch.record(i)) {
                add(now->customer, 1, now->cents);
                tx.upsert(Counted{id, now->customer, now->cents});
            } else if (before) {
                tx.erase(at::type<Counted>, id);
            }
        }
        for (const auto& [customer, difference] : differences) {
            tx.execute("INSERT INTO total (customer, orders, cents) VALUES ($1, $2, $3) "
                       "ON CONFLICT (customer) DO UPDATE "
                       "SET orders = orders + excluded.orders, cents = cents + excluded.cents",
                customer, difference.orders, difference.cents);
        }
    }
};

// An FTS5 index is a table like any other to write to.
struct KeepIndex {
    void rebuild_started(std::int64_t, auto& tx) const { tx.execute("DELETE FROM order_text"); }

    void operator()(const at::Batch<Order>& batch, auto& tx) const {
        for (const Order& now : batch.records()) {
            tx.execute("INSERT OR REPLACE INTO order_text (rowid, note) VALUES ($1, $2)", now.id,
                now.note);
        }
        for (const std::int64_t gone : batch.missing()) {
            tx.execute("DELETE FROM order_text WHERE rowid = $1", gone);
        }
    }
};

// The program that follows the shop, a process of its own: until its input ends, or it is killed.
int follow(const std::string& path) {
    // Commits don't wait for the disk: a power cut takes back the last batches, each with its
    // checkpoint.
    const auto relax = [](sqlite3* connection) {
        sqlite3_exec(connection, "PRAGMA synchronous = normal", nullptr, nullptr, nullptr);
    };
    at::sqlite::Database database{path, {.on_open = relax}};
    database.create_table<Total>();
    database.create_table<Counted>();
    database.execute("CREATE VIRTUAL TABLE IF NOT EXISTS order_text USING fts5 (note)");

    at::Pipeline totals{at::source<Order>(), KeepTotals{}, database, {.name = "totals"}};
    at::Pipeline index{at::source<Order>(), KeepIndex{}, database, {.name = "index"}};
    totals.start();
    index.start();

    support::Progress progress;
    while (!support::input_has_ended()) {
        progress.show(
            support::progress_of(totals.status()) + "   " + support::progress_of(index.status()));
    }
    const bool idle =
        totals.await_idle() == at::Awaited::idle && index.await_idle() == at::Awaited::idle;
    progress.end("Everything is handled: " + support::grouped(totals.status().changes) + " and " +
                 support::grouped(index.status().changes) + " changes since this start.");
    return idle ? 0 : 1;
}

int main(int count, char** arguments) {
    try {
        if (count == 3 && std::string{arguments[1]} == "follow") { return follow(arguments[2]); }
        return shop::tell(arguments[0], count == 2 ? std::stoll(arguments[1]) : 200'000) ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << "shop: " << error.what() << '\n';
        return 1;
    }
}
