// refused: a pipeline keeps a reference to its database: give the Database a name
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

void follow() {
    const auto handler = [](const at::Batch<Order>&) {};
#ifdef AFTERTOUCH_ACCEPT
    at::sqlite::Database shop{":memory:"};
    at::Pipeline pipeline{at::source<Order>(), handler, shop, {.name = "p"}};
#else
    at::Pipeline pipeline{
        at::source<Order>(), handler, at::sqlite::Database{":memory:"}, {.name = "p"}};
#endif
    pipeline.drain();
}
