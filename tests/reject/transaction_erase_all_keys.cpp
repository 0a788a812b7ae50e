// refused: erase_all takes keys of the entity
// SPDX-License-Identifier: MIT
#include <cstdint>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

namespace at = aftertouch;

struct Order {
    std::int64_t id = 0;
};

void follow(at::sqlite::Database& shop) {
    const auto handler = [](const at::Batch<Order>& batch, auto& tx) {
#ifdef AFTERTOUCH_ACCEPT
        tx.erase_all(at::type<Order>, batch.missing());
#else
        tx.erase_all(at::type<Order>, batch.records());
#endif
    };
    at::Pipeline pipeline{at::source<Order>(), handler, shop, {.name = "p"}};
    pipeline.drain();
}
