// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The version of the library: the one place it is written down, read by the build as well.

namespace aftertouch {

inline constexpr const char* version = "0.1.0";

} // namespace aftertouch
