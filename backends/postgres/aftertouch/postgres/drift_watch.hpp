// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/postgres/schema.hpp>

/// \file
/// Notices while a pipeline runs that its capture isn't as it should be any more (C7).

namespace aftertouch::postgres {

/// Looks at the catalogs of one capture now and then: it costs some milliseconds. And at once when
/// an object was missing.
class DriftWatch {
public:
    DriftWatch(SchemaManager& manager, Schema mode) : manager_{manager}, mode_{mode} {}

    void brought_up() noexcept {
        looked_ = Clock::now();
        suspicious_ = false;
    }
    /// An object of the database was missing.
    void suspect() noexcept { suspicious_ = true; }

    /// What a batch finds, if it is time.
    [[nodiscard]] std::vector<Difference> differences() {
        return suspicious_ || is_time(between_looks) ? look() : std::vector<Difference>{};
    }
    /// Whether a pipeline to which nothing comes has reason to be: a trigger may be gone.
    [[nodiscard]] bool finds_cause_of_quiet() {
        return is_time(between_idle_looks) && !look().empty();
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds between_looks{1};
    static constexpr std::chrono::seconds between_idle_looks{5};

    [[nodiscard]] bool is_time(std::chrono::seconds pause) const {
        return mode_ != Schema::none && Clock::now() - looked_ > pause;
    }
    [[nodiscard]] std::vector<Difference> look() {
        std::vector<Difference> differences;
        if (mode_ != Schema::none) { differences = manager_.plan().differences; }
        suspicious_ = !differences.empty(); // until it is brought up again
        looked_ = Clock::now();
        return differences;
    }

    SchemaManager& manager_;
    Schema mode_;
    Clock::time_point looked_{};
    bool suspicious_ = false;
};

} // namespace aftertouch::postgres
