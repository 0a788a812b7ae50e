// refused: low_priority\(\) is for touches, since the images of a record come in their order: leave it or images\(\) out
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
    return at::source<Order>().low_priority();
#else
    return at::source<Order>().images().low_priority();
#endif
}
