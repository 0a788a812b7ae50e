// refused: shard<>\(\) takes members of the key: a touch has no others
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

auto made() {
#ifdef AFTERTOUCH_ACCEPT
    return at::source<Order>().shard<&Order::id>();
#else
    return at::source<Order>().shard<&Order::customer>();
#endif
}
