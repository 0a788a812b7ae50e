// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>

/// \file
/// How long a pipeline waits: briefly while there was something to do, then ever longer (K7).

namespace aftertouch::detail {

class Pace {
public:
    using Delay = std::chrono::microseconds;

    explicit Pace(Delay longest_idle) : longest_idle_{std::max(longest_idle, shortest_idle)} {}

    /// There was something to do, or a hint that there will be.
    void hurry() noexcept { idle_ = Delay{0}; }
    /// The database answered.
    void recovered() noexcept { trouble_ = Delay{0}; }

    [[nodiscard]] Delay next_idle() noexcept {
        return idle_ = std::clamp(idle_ * 2, shortest_idle, longest_idle_);
    }
    [[nodiscard]] Delay next_trouble() noexcept {
        return trouble_ = std::clamp(trouble_ * 2, shortest_trouble, longest_trouble);
    }

    static constexpr Delay shortest_idle{100};
    static constexpr Delay shortest_trouble{10'000};
    static constexpr Delay longest_trouble{2'000'000};

private:
    Delay longest_idle_;
    Delay idle_{0};
    Delay trouble_{0};
};

} // namespace aftertouch::detail
