// refused: T can't be default-constructed.*none may be a reference
// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
#ifdef AFTERTOUCH_ACCEPT
    std::string customer;
#else
    std::string& customer;
#endif
};

static_assert(at::detail::require_entity<Order>());
