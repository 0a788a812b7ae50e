// A job that rewrites a whole table needn't hold up everybody else's changes: it marks what it
// changes as of low priority, and that is handed over when nothing else waits.
//
// Run with: examples/run 11_low_priority
// Expect: the customer's change, made last, comes first; then the job's, and nothing is missing.
//
// expect: waiting: 1001 changes, 1000 of them of low priority
// expect: first batch: 1 change, of product 77
// expect: then: 2 batches of 500 changes each
// expect: labels that differ from their product: 0
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>
namespace at = aftertouch;

struct Product {
    std::int64_t id;
    std::int64_t cents;
};
struct Label {
    std::int64_t id;
    std::string text;
};

int main() {
    at::sqlite::Database shop{":memory:"};
    shop.create_table<Product>();
    shop.create_table<Label>();
    shop.transaction([](auto& tx) {
        for (std::int64_t id = 1; id <= 1000; ++id) { tx.insert(Product{id, 100}); }
    });

    std::vector<std::size_t> batches; // how many changes each had
    std::int64_t first = 0;
    // The two kinds of changes of one product may come in any order: read what it is now.
    const auto write_labels = [&](const at::Batch<Product>& batch, auto& tx) {
        batches.push_back(batch.changes().size());
        if (batches.size() == 1) { first = batch.ids().front(); }
        for (const Product& now : batch.records()) {
            tx.upsert(Label{now.id, std::to_string(now.cents) + " cents"});
        }
        for (const std::int64_t id : batch.missing()) { tx.erase(at::type<Label>, id); }
    };
    at::Pipeline labels{
        at::source<Product>().low_priority(), write_labels, shop, {.name = "labels"}};
    labels.drain();
    batches.clear();

    // On PostgreSQL the job says SET LOCAL aftertouch.priority = 'low' instead of the two.
    shop.transaction([](auto& tx) {
        tx.execute("INSERT INTO aftertouch_low_priority SELECT coalesce(max(seq), 0) "
                   "FROM aftertouch_log");
        tx.execute("UPDATE product SET cents = cents * 2");
        tx.execute("DELETE FROM aftertouch_low_priority");
    });
    shop.execute("UPDATE product SET cents = 1 WHERE id = 77");

    const at::Lag lag = labels.status().lag.value();
    std::cout << "waiting: " << lag.records << " changes, " << lag.low_priority
              << " of them of low priority\n";
    labels.drain();
    std::cout << "first batch: " << batches.at(0) << " change, of product " << first << '\n';
    std::cout << "then: " << batches.size() - 1 << " batches of " << batches.at(1)
              << " changes each\n";
    const auto differ = shop.query(at::type<std::int64_t>,
        "SELECT count(*) FROM product AS p LEFT JOIN label AS l ON l.id = p.id "
        "WHERE l.text IS NOT p.cents || ' cents'");
    std::cout << "labels that differ from their product: " << differ.front() << '\n';
}
