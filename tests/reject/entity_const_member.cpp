// refused: T has a const member, into which no row can be read
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id = 0;
#ifdef AFTERTOUCH_ACCEPT
    int version = 1;
#else
    const int version = 1;
#endif
};

static_assert(at::detail::require_entity<Order>());
