// refused: T has no fields
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
#ifdef AFTERTOUCH_ACCEPT
    int id;
#endif
};

static_assert(at::detail::require_entity<Order>());
