// refused: a tuple has an element that can't be a column
// SPDX-License-Identifier: MIT
#include <string>
#include <tuple>

#include <aftertouch/row.hpp>

namespace at = aftertouch;

#ifdef AFTERTOUCH_ACCEPT
using Total = std::tuple<std::string, double>;
#else
using Total = std::tuple<const char*, double>; // who would own the text?
#endif

static_assert(at::detail::require_row<Total>());
