// SPDX-License-Identifier: MIT
#pragma once

#include <aftertouch/install.hpp>
#include <aftertouch/pipeline.hpp>
#include <aftertouch/version.hpp>

/// \file
/// All of Aftertouch but the engines: include <aftertouch/sqlite.hpp> beside it.
