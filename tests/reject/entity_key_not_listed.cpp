// refused: key in EntityTraits<T> names what isn't a field of T.*list them there as well
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int number;
    int amount;
};

template <>
struct aftertouch::EntityTraits<Order> {
    static constexpr auto key = at::key<&Order::number>;
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto fields = at::fields<&Order::number, &Order::amount>;
#else
    static constexpr auto fields = at::fields<&Order::amount>;
#endif
};

static_assert(at::detail::require_entity<Order>());
