// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// What nearly every test includes, compiled once; no header of ours, so that a change of one
/// compiles only its users.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include <support/catch.hpp>
