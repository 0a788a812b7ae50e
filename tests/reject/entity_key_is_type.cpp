// refused: EntityTraits<T> has a type where a variable is expected
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
    int number;
};

template <>
struct aftertouch::EntityTraits<Order> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto key = at::key<&Order::number>;
#else
    using key = at::key_t<&Order::number>; // would be overlooked, and id be the key
#endif
};

static_assert(at::detail::require_entity<Order>());
