// refused: T can't be default-constructed: every member needs a default constructor
// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/codec.hpp>
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Money {
    explicit Money(int number) : cents{number} {}
#ifdef AFTERTOUCH_ACCEPT
    Money() = default;
#endif
    int cents = 0;
};

template <>
struct aftertouch::Codec<Money> {
    static int encode(const Money& money) { return money.cents; }
    static Money decode(const int& cents) { return Money{cents}; }
};

// Boost.PFR 1.81 alone would look at this one for a minute.
struct Order {
    int id = 0;
    Money price;
    std::string a, b, c, d, e, f, g, h, i, j, k, l, m, n, o;
};

static_assert(at::detail::require_entity<Order>());
