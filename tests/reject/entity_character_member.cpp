// refused: a member can't be a column
// SPDX-License-Identifier: MIT
#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
#ifdef AFTERTOUCH_ACCEPT
    signed char grade;
#else
    char grade; // text of one character, or a small number?
#endif
};

static_assert(at::detail::require_entity<Order>());
