// refused: key in EntityTraits<T> isn't a list of members
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int number;
};

template <>
struct aftertouch::EntityTraits<Order> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto key = at::key<&Order::number>;
#else
    static constexpr auto key = "number";
#endif
};

static_assert(at::detail::require_entity<Order>());
