// refused: T has no key: call a field id
// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Total {
    std::string customer;
    double amount;
};

#ifdef AFTERTOUCH_ACCEPT
template <>
struct aftertouch::EntityTraits<Total> {
    static constexpr auto key = at::key<&Total::customer>;
};
#endif

static_assert(at::detail::require_entity<Total>());
