// refused: fields in EntityTraits<T> isn't a list of fields
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
    int twice() const { return id * 2; }
};

template <>
struct aftertouch::EntityTraits<Order> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto fields = at::fields<&Order::id>;
#else
    static constexpr auto fields = at::fields<&Order::id, &Order::twice>;
#endif
};

static_assert(at::detail::require_entity<Order>());
