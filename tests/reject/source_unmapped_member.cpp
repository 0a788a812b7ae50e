// refused: a member can't be a column: give its type a Codec, or list the other members
// SPDX-License-Identifier: MIT
#include <cstdint>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

namespace at = aftertouch;

struct Money {
    std::int64_t cents = 0;
};

#ifdef AFTERTOUCH_ACCEPT
template <>
struct aftertouch::Codec<Money> {
    static std::int64_t encode(const Money& money) { return money.cents; }
    static Money decode(const std::int64_t& cents) { return {cents}; }
};
#endif

struct Order {
    std::int64_t id = 0;
    Money amount;
};

void follow(at::sqlite::Database& shop) {
    const auto handler = [](const at::Batch<Order>& batch, auto& tx) {
        for (const Order& order : batch.records()) { tx.upsert(order); }
    };
    at::Pipeline pipeline{at::source<Order>(), handler, shop, {.name = "p"}};
    pipeline.drain();
}
