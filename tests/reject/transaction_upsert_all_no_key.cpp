// refused: T has no key: call a field id, or write
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <ranges>
#include <string>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

namespace at = aftertouch;

struct Order {
    std::int64_t id = 0;
    std::string customer;
    double amount = 0;
};

struct Total {
    std::string customer;
    double amount = 0;
};

#ifdef AFTERTOUCH_ACCEPT
template <>
struct aftertouch::EntityTraits<Total> {
    static constexpr auto key = at::key<&Total::customer>;
};
#endif

void follow(at::sqlite::Database& shop) {
    const auto handler = [](const auto& batch, auto& tx) {
        tx.upsert_all(batch.records() | std::views::transform([](const Order& order) {
            return Total{order.customer, order.amount};
        }));
    };
    at::Pipeline pipeline{at::source<Order>(), handler, shop, {.name = "p"}};
    pipeline.drain();
}
