// refused: this handler fits no shape
// SPDX-License-Identifier: MIT
#include <cstdint>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

namespace at = aftertouch;

struct Order {
    std::int64_t id = 0;
};
struct Total {
    std::int64_t id = 0;
};

#ifdef AFTERTOUCH_ACCEPT
using Handled = Order;
#else
using Handled = Total;
#endif

void follow(at::sqlite::Database& shop) {
    const auto handler = [](const at::Batch<Handled>&, auto&) {};
    at::Pipeline pipeline{at::source<Order>(), handler, shop, {.name = "p"}};
    pipeline.drain();
}
