// The first example on PostgreSQL: another include and another Database, the rest is the same.
// Run with: examples/run 06_postgres (on a server of its own; or in the database that PGHOST,
// PGDATABASE and PGUSER name)
// Expect: the label of the product that is left, with the name that it has by then.
//
// expect: ^our chai
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/postgres.hpp>
#include <iostream>
namespace at = aftertouch;

struct Product {
    std::int64_t id;
    std::string name;
}; // table "product", key "id"
struct Label {
    std::int64_t id;
    std::string text;
};

int main() {
    at::postgres::Database shop{""}; // a connection string; what it doesn't say, PG... variables do
    shop.create_table<Product>();
    shop.create_table<Label>();
    shop.execute("DELETE FROM product; DELETE FROM label");

    const auto write_labels = [](const auto& batch, auto& tx) {
        for (const Product& now : batch.records()) { tx.upsert(Label{now.id, "our " + now.name}); }
        for (const auto gone : batch.missing()) { tx.erase(at::type<Label>, gone); }
    };
    at::Pipeline labels{at::source<Product>(), write_labels, shop, {.name = "labels"}};
    labels.start();
    shop.execute("INSERT INTO product VALUES (1, 'tea'), (2, 'pot')");
    shop.execute("UPDATE product SET name = 'chai' WHERE id = 1; DELETE FROM product WHERE id = 2");
    labels.await_idle();
    std::cout << shop.query(at::type<std::string>, "SELECT text FROM label").at(0) << '\n';
    labels.stop();
    at::remove(shop, at::source<Product>()); // nothing of the library stays behind
}
