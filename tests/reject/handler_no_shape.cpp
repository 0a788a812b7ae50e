// refused: this handler fits no shape
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
    auto handler = [](const at::Batch<Order>&) {};
#else
    auto handler = [](int) {};
#endif
    at::Pipeline pipeline{at::source<Order>(), handler, shop, {.name = "p"}};
    pipeline.drain();
}
