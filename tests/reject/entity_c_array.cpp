// refused: T has a C array, which can't be a column: use std::string
// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
#ifdef AFTERTOUCH_ACCEPT
    std::string customer;
#else
    char customer[16];
#endif
};

static_assert(at::detail::require_entity<Order>());
