// refused: T isn't a plain struct
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

class Order {
#ifdef AFTERTOUCH_ACCEPT
public:
#endif
    int id = 0;
};

static_assert(at::detail::require_entity<Order>());
