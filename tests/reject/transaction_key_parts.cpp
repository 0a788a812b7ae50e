// refused: pass as many values as the entity's key has parts
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

bool there(at::sqlite::Database& shop) {
    return shop.transaction([](auto& tx) {
#ifdef AFTERTOUCH_ACCEPT
        return tx.get(at::type<Order>, 1).has_value();
#else
        return tx.get(at::type<Order>, 1, 2).has_value();
#endif
    });
}
