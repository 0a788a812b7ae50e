// refused: columns in EntityTraits<T> isn't a list of names
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
    int amount;
};

template <>
struct aftertouch::EntityTraits<Order> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto columns = at::columns(at::name<&Order::amount>("total"));
#else
    static constexpr auto columns = "id, total";
#endif
};

static_assert(at::detail::require_entity<Order>());
