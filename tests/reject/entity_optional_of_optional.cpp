// refused: a member can't be a column
// SPDX-License-Identifier: MIT
#include <optional>

#include <aftertouch/entity.hpp>

namespace at = aftertouch;

struct Order {
    int id;
#ifdef AFTERTOUCH_ACCEPT
    std::optional<int> discount;
#else
    std::optional<std::optional<int>> discount;
#endif
};

static_assert(at::detail::require_entity<Order>());
