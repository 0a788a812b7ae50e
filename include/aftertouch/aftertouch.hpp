// SPDX-License-Identifier: MIT
#pragma once

#include <aftertouch/database.hpp>
#include <aftertouch/install.hpp>
#include <aftertouch/pipeline.hpp>
#include <aftertouch/transaction.hpp>
#include <aftertouch/uuid_text.hpp>
#include <aftertouch/version.hpp>

/// \file
/// All of Aftertouch but the engines (include <aftertouch/sqlite.hpp> beside it) and what costs
/// more to include than most programs want: uuid.hpp and ranges.hpp.
