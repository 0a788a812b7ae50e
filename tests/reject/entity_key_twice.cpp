// refused: key in EntityTraits<T> names one field twice
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Line {
    int order;
    int number;
};

template <>
struct aftertouch::EntityTraits<Line> {
#ifdef AFTERTOUCH_ACCEPT
    static constexpr auto key = at::key<&Line::order, &Line::number>;
#else
    static constexpr auto key = at::key<&Line::order, &Line::order>;
#endif
};

static_assert(at::detail::require_entity<Line>());
