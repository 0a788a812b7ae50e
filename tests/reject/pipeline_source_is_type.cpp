// refused: a pipeline's first argument is a source: at::source<T>\(\)
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
    at::Pipeline pipeline{Order{}, handler, shop, {.name = "p"}};
#endif
    pipeline.drain();
}
