// refused: fields in EntityTraits<T> names a member of another struct
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Line {
    int number;
};
struct Order {
    int id;
    int number;
};

template <>
struct aftertouch::EntityTraits<Order> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto fields = at::fields<&Order::id, &Order::number>;
#else
    static constexpr auto fields = at::fields<&Order::id, &Line::number>;
#endif
};

static_assert(at::detail::require_entity<Order>());
