// refused: a member can't be a column: give its type a Codec, or list the other members
// SPDX-License-Identifier: MIT
#include <cstdint>

#include <aftertouch/codec.hpp>
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Money {
    std::int64_t cents = 0;
};

#ifdef AFTERTOUCH_ACCEPT
template <>
struct aftertouch::Codec<Money> {
    static std::int64_t encode(const Money& money) { return money.cents; }
    static Money decode(const std::int64_t& cents) { return {cents}; }
};
#endif

struct Order {
    int id;
    Money price;
};

static_assert(at::detail::require_entity<Order>());
