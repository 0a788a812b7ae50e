// refused: T isn't a plain struct
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
#ifndef AFTERTOUCH_ACCEPT
    explicit Order(int number) : id{number} {}
#endif
    int id = 0;
};

static_assert(at::detail::require_entity<Order>());
