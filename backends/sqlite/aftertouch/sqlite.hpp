// SPDX-License-Identifier: MIT
#pragma once

#include <aftertouch/sqlite/backend.hpp>

/// \file
/// Aftertouch on SQLite: include this beside <aftertouch/aftertouch.hpp>.
