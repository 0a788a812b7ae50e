// A table that was there first: its own names, a key of two columns, types of one's own.
// Run with: examples/run 02_names_and_keys
// Expect: every change with its key, and for updates the columns that changed.
//
// expect: inserted 7/1, 3 of tea
// expect: updated 7/1, 5 of tea: changed qty waiter
// expect: deleted 7/1
// expect: inserted 7/2, 5 of tea
// expect: deleted 7/2
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
namespace at = aftertouch;

enum class Article { tea = 1, pot = 2 }; // stored as its number
struct Waiter {
    std::string name;
};

template <>
struct aftertouch::Codec<Waiter> { // a type of one's own: what it is stored as
    static std::string encode(const Waiter& waiter) { return waiter.name; }
    static Waiter decode(const std::string& name) { return {name}; }
};

struct OrderLine { // of the table's columns those that the program needs
    std::int64_t order;
    std::int32_t line;
    Article article;
    std::int32_t quantity;
    std::optional<Waiter> waiter; // may be null
};

template <>
struct aftertouch::EntityTraits<OrderLine> { // what differs from table "order_line" with key "id"
    static constexpr auto table = "Order Lines";
    static constexpr auto key = at::key<&OrderLine::order, &OrderLine::line>;
    static constexpr auto columns =
        at::columns(at::name<&OrderLine::order>("order no"), at::name<&OrderLine::quantity>("qty"));
};

void print(const at::Change<OrderLine>& change) {
    const auto [order, line] = change.key();
    std::cout << name(change.operation()) << ' ' << order << '/' << line;
    if (const OrderLine* now = change.after()) {
        std::cout << ", " << now->quantity << " of "
                  << (now->article == Article::tea ? "tea" : "pots");
    }
    if (change.operation() == at::Operation::updated) {
        std::cout << ": changed";
        for (const auto column : change.changed_fields()) { std::cout << ' ' << column; }
    }
    std::cout << '\n';
}

int main() {
    at::sqlite::Database shop{":memory:"};
    shop.execute(R"(CREATE TABLE "Order Lines" (
        "order no" INTEGER, line INTEGER, article INTEGER NOT NULL, qty INTEGER NOT NULL,
        waiter TEXT, note TEXT, PRIMARY KEY ("order no", line)) WITHOUT ROWID)");

    at::Pipeline printer{at::source<OrderLine>().images(), &print, shop,
        {.name = "printer", .begin = at::Begin::now}};
    printer.start(); // begins here: what is written from now on comes as a change

    shop.execute(R"(INSERT INTO "Order Lines" VALUES (7, 1, 1, 3, NULL, NULL))");
    shop.execute(R"(UPDATE "Order Lines" SET qty = 5, waiter = 'ada' WHERE line = 1)");
    shop.execute(R"(UPDATE "Order Lines" SET line = 2)"); // another key: deleted, then inserted
    shop.execute(R"(DELETE FROM "Order Lines")");
    printer.await_idle();
}
