// refused: a pipeline's third argument is a database
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
    const auto handler = [](const at::Batch<Order>&) {};
#ifdef AFTERTOUCH_ACCEPT
    at::Pipeline pipeline{at::source<Order>(), handler, shop, {.name = "p"}};
#else
    const std::string path = shop.name();
    at::Pipeline pipeline{at::source<Order>(), handler, path, {.name = "p"}};
#endif
    pipeline.drain();
}
