// refused: T has a base class, which can't be reflected: list its fields
// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Base {
    int id = 0;
};

struct Order : Base {
    std::string customer;
};

#ifdef AFTERTOUCH_ACCEPT
template <>
struct aftertouch::EntityTraits<Order> {
    static constexpr auto fields = at::fields<&Order::id, &Order::customer>;
};
#endif

static_assert(at::detail::require_entity<Order>());
