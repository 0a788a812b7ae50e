// refused: a member can't be a column: give its type a Codec
// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/row.hpp>

namespace at = aftertouch;

struct Total {
    std::string customer;
#ifdef AFTERTOUCH_ACCEPT
    double amount;
#else
    long double amount;
#endif
};

static_assert(at::detail::require_row<Total>());
