// refused: T isn't a plain struct
// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/row.hpp>

namespace at = aftertouch;

#ifdef AFTERTOUCH_ACCEPT
using Name = std::string;
#else
using Name = const char*;
#endif

static_assert(at::detail::require_row<Name>());
