// SPDX-License-Identifier: MIT
#pragma once

#include <aftertouch/postgres/backend.hpp>

/// \file
/// Aftertouch on PostgreSQL: include this beside <aftertouch/aftertouch.hpp>.
