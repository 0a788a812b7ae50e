// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include <aftertouch/detail/trouble.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/retry.hpp>

/// \file
/// What follows a handler's failure, as the pipeline's policy has it (F2).

namespace aftertouch::detail {

/// Where a batch stood when its handler failed.
struct FailedBatch {
    std::int64_t attempts = 0; ///< how often it had failed before
    bool in_parts = false;     ///< its records were tried one by one
    bool rebuilding = false;
    bool at_rebuild_started = false; ///< there was no batch yet
};

/// What comes next.
struct Verdict {
    bool again = false;                 ///< hand it over again; else stop
    bool counts = false;                ///< as an attempt, in the database
    std::chrono::milliseconds pause{0}; ///< before
};

class Patience {
public:
    explicit Patience(const Options& options) : options_{options} {}

    [[nodiscard]] const Retry& policy(bool rebuilding) const noexcept {
        return rebuilding && options_.rebuild_retry ? *options_.rebuild_retry : options_.retry;
    }

    /// Whether a batch that has failed `attempts` times is tried record by record, so that those at
    /// fault are found.
    [[nodiscard]] bool wants_parts(std::int64_t attempts, bool rebuilding) const noexcept {
        const Retry& retry = policy(rebuilding);
        return park_asked_ || (retry.then == Then::park && attempts + 1 >= retry.attempts);
    }

    /// Judges what a handler threw or answered; says whether the batch comes again.
    [[nodiscard]] bool judge(Fault fault, const FailedBatch& batch) noexcept {
        verdict_ = after(fault, batch);
        if (!verdict_.again) { failures_ = 0; }
        return verdict_.again;
    }
    /// On what the handler failed with last.
    [[nodiscard]] const Verdict& verdict() const noexcept { return verdict_; }
    void forget_verdict() noexcept { verdict_ = {}; }

    /// The batch is handled.
    void succeeded() noexcept {
        verdict_ = {};
        failures_ = 0;
        park_asked_ = false;
    }

private:
    [[nodiscard]] Verdict after(Fault fault, const FailedBatch& batch) noexcept {
        const Retry& retry = policy(batch.rebuilding);
        if (fault == Fault::to_stop) { return {}; }
        ++failures_;
        const bool passes =
            fault == Fault::transient || (fault == Fault::perhaps_transient && retry.is_patient());
        if (passes) { return {true, false, pause(retry)}; }
        // Where nothing was stored yet, attempts count in memory alone.
        if (batch.at_rebuild_started) {
            return failures_ < retry.attempts ? Verdict{true, false, pause(retry)} : Verdict{};
        }
        if (fault == Fault::to_park && !batch.in_parts) {
            park_asked_ = true;
            return {true, false, {}};
        }
        if (batch.attempts + 1 >= retry.attempts) { return {}; }
        return {true, true, pause(retry)};
    }

    [[nodiscard]] std::chrono::milliseconds pause(const Retry& retry) noexcept {
        double chance = 0;
        try {
            chance = retry.chance ? retry.chance()
                                  : std::uniform_real_distribution<double>{0.0, 1.0}(random_);
        } catch (...) {
            // Then it isn't shortened.
        }
        return retry.pause_behind(failures_, chance);
    }

    const Options& options_;
    Verdict verdict_;
    std::int64_t failures_ = 0; // in a row
    bool park_asked_ = false;   // by the handler, for a record of the batch that comes next
    std::minstd_rand random_{std::random_device{}()};
};

} // namespace aftertouch::detail
