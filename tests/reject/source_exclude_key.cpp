// refused: the key can't be left out of an image
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
    return at::source<Order>().images().exclude<&Order::customer>();
#else
    return at::source<Order>().images().exclude<&Order::id>();
#endif
}
