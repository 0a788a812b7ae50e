// A handler that throws stops its pipeline in front of the batch: nothing is lost, nothing is half
// done.
//
// Run with: examples/run 05_when_a_handler_fails
//
// Expect: one report of the failure, an untouched target, and after the repair the same changes
// again.
//
// expect: reported: pipeline\.failed pipeline=labels event=[0-9a-f]+:3 : product 2 has no price
// expect: await_idle says: stopped
// expect: kept: 1 error, at [0-9a-f]+:3: product 2 has no price
// expect: labels written: 0
// expect: handed over again at attempt 2: 4 changes
// expect: labels written: 3
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <cstdint>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
namespace at = aftertouch;

struct Product {
    std::int64_t id;
    std::string name;
    std::optional<std::int64_t> cents;
};
struct Label {
    std::int64_t id;
    std::string text;
};

void write_labels(const at::Batch<Product>& batch, auto& tx) {
    if (batch.attempts() > 0) {
        std::cout << "handed over again at attempt " << batch.attempts() + 1 << ": "
                  << batch.changes().size() << " changes\n";
    }
    for (const Product& product : batch.records()) {
        if (!product.cents) {
            throw std::runtime_error("product " + std::to_string(product.id) + " has no price");
        }
        tx.upsert(Label{product.id, product.name + " " + std::to_string(*product.cents)});
    }
}

void print_written(at::sqlite::Database& shop) {
    std::cout << "labels written: "
              << shop.query(at::type<std::int64_t>, "SELECT count(*) FROM label").front() << '\n';
}

int main() {
    at::sqlite::Database shop{":memory:"};
    shop.create_table<Product>();
    shop.create_table<Label>();

    const auto tell = [](const at::Report& report) { // by default warnings go to standard error
        if (at::is_warning(report.moment)) {
            std::cout << "reported: " << log_line(report) << '\n';
        }
    };
    at::Pipeline labels{at::source<Product>(),
        [](const at::Batch<Product>& batch, auto& tx) { write_labels(batch, tx); }, shop,
        {.name = "labels", .observer = tell}};
    labels.start();
    labels.await_idle();

    shop.execute("INSERT INTO product VALUES (1, 'tea', 450), (2, 'cup', NULL), (3, 'pot', 990)");
    const bool stopped = labels.await_idle() == at::Awaited::stopped;
    std::cout << "await_idle says: " << (stopped ? "stopped" : "idle") << '\n';
    const auto errors = labels.errors(); // the newest twenty, with the place in the log
    std::cout << "kept: " << errors.size() << " error, at " << errors.back().event_id << ": "
              << errors.back().message << '\n';
    print_written(shop);

    shop.execute("UPDATE product SET cents = 900 WHERE id = 2"); // the cause is mended: go on
    labels.start();
    labels.await_idle();
    print_written(shop);
}
