// refused: a field of that type can't be part of a key
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
#ifdef AFTERTOUCH_ACCEPT
    long id;
#else
    double id;
#endif
};

static_assert(at::detail::require_entity<Order>());
