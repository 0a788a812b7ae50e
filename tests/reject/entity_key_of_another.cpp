// refused: key in EntityTraits<T> names what isn't a field of T
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int number;
};
struct Line {
    int number;
};

template <>
struct aftertouch::EntityTraits<Line> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto key = at::key<&Line::number>;
#else
    static constexpr auto key = at::key<&Order::number>;
#endif
};

static_assert(at::detail::require_entity<Line>());
