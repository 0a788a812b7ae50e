// A handler that can't handle one record needn't hold up the others: after its attempts the record
// is set aside as a dead letter, and handed over again when the cause is mended.
//
// Run with: examples/run 08_dead_letters
// Expect: two attempts, one record aside, the others handled; then nothing is missing.
//
// expect: reported: pipeline\.batch\.retried pipeline=labels event=[0-9a-f]+:3 : attempts 1, again in [0-9]+ ms: product 2 has no price
// expect: reported: pipeline\.record\.parked pipeline=labels event=[0-9a-f]+:3 changes=1 : product 2 has no price
// expect: await_idle says: idle, labels written: 2
// expect: dead letter: record 2, inserted, 2 attempts: product 2 has no price
// expect: released: 1
// expect: await_idle says: idle, labels written: 3
// expect: dead letters: 0
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <chrono>
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

int main() {
    at::sqlite::Database shop{":memory:"};
    shop.create_table<Product>();
    shop.create_table<Label>();

    std::int64_t default_cents = 0; // none: a product without a price can't be handled
    const auto write_labels = [&](const at::Batch<Product>& batch, auto& tx) {
        for (const Product& product : batch.records()) {
            if (!product.cents && default_cents == 0) {
                throw std::runtime_error("product " + std::to_string(product.id) + " has no price");
            }
            const std::int64_t cents = product.cents.value_or(default_cents);
            tx.upsert(Label{product.id, product.name + " " + std::to_string(cents)});
        }
        // What passes by itself uses no attempt up: throw at::Transient{"the printer is busy"}.
    };
    at::Options options{.name = "labels"};
    options.retry = {.attempts = 2, .pause = std::chrono::milliseconds{20}, .then = at::Then::park};
    options.observer = [](const at::Report& report) {
        const bool about_it = report.moment == at::Moment::batch_retried ||
                              report.moment == at::Moment::record_parked;
        if (about_it) { std::cout << "reported: " << log_line(report) << '\n'; }
    };
    at::Pipeline labels{at::source<Product>(), write_labels, shop, options};
    const auto follow = [&] {
        const auto awaited = labels.await_idle();
        std::cout << "await_idle says: " << at::name(awaited) << ", labels written: "
                  << shop.query(at::type<std::int64_t>, "SELECT count(*) FROM label").front()
                  << '\n';
    };
    labels.start();
    labels.await_idle();
    shop.execute("INSERT INTO product VALUES (1, 'tea', 450), (2, 'cup', NULL), (3, 'pot', 990)");
    follow();
    for (const at::DeadLetter& letter : labels.dead_letters()) {
        std::cout << "dead letter: record " << letter.record << ", " << letter.operation << ", "
                  << letter.attempts << " attempts: " << letter.error << '\n';
    }

    default_cents = 900; // the cause is mended
    std::cout << "released: " << labels.release() << '\n';
    follow();
    std::cout << "dead letters: " << labels.dead_letters().size() << '\n';
}
