// refused: columns in EntityTraits<T> renames what isn't a field of T
// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Customer {
    int id;
    std::string name;
};
struct Order {
    int id;
    std::string customer;
};

template <>
struct aftertouch::EntityTraits<Order> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto columns = at::columns(at::name<&Order::customer>("customer_name"));
#else
    static constexpr auto columns = at::columns(at::name<&Customer::name>("customer_name"));
#endif
};

static_assert(at::detail::require_entity<Order>());
