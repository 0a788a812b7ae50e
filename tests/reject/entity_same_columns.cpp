// refused: two fields of T have the same column name
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
    int amount;
    int total;
};

template <>
struct aftertouch::EntityTraits<Order> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto columns = at::columns(at::name<&Order::amount>("sum"));
#else
    static constexpr auto columns = at::columns(at::name<&Order::amount>("Total"));
#endif
};

static_assert(at::detail::require_entity<Order>());
