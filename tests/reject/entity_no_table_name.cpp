// refused: T has no name to call a table by
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
};

template <>
struct aftertouch::EntityTraits<Order> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto table = "orders";
#else
    static constexpr auto table = "";
#endif
};

static_assert(at::detail::require_entity<Order>());
