// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

#include <aftertouch/capture.hpp>

/// \file
/// The right to run a pipeline: exclusive, and gone by itself when its holder is (L1).

namespace aftertouch {

/// What a holder asks for.
struct LeaseRequest {
    std::string pipeline;
    Capture capture;
    std::string holder; ///< nobody else's name
    std::chrono::milliseconds duration{0};
};

/// Who holds a lease, when it was asked for.
struct LeaseAnswer {
    bool held = false;    ///< by the one who asked
    std::string holder{}; ///< who else
    std::string until{};  ///< when it ends unless that one renews it: UTC, by the database's clock
};

} // namespace aftertouch
