// refused: on_touched takes \(key\)
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

namespace at = aftertouch;

struct Order {
    std::int64_t id = 0;
    std::string customer;
    double amount = 0;
};

void follow(at::sqlite::Database& shop) {
#ifdef AFTERTOUCH_ACCEPT
    auto handler =
        at::handle(at::on_touched([](std::int64_t) {}), at::on_updated([](const Order&) {}));
#else
    auto handler =
        at::handle(at::on_touched([](const Order&) {}), at::on_updated([](const Order&) {}));
#endif
    at::Pipeline pipeline{at::source<Order>(), handler, shop, {.name = "p"}};
    pipeline.drain();
}
