// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

/// \file
/// What comes of a handler that fails: when it is tried again, and what follows the last attempt
/// (F2, F4).

namespace aftertouch {

/// What a handler may answer instead of throwing; one that answers nothing has answered `done`.
///
/// \code
/// [](const aftertouch::Batch<Order>& batch, auto& tx) {
///     return broker.is_up() ? send(batch, tx) : aftertouch::Outcome::retry;
/// }
/// \endcode
enum class Outcome {
    done,
    retry, ///< nothing is wrong with these records: undo, and hand them over again, later
    park,  ///< undo, and set the records at fault aside at once
    stop   ///< undo, and stop the pipeline, whatever its policy
};

/// Thrown by a handler for what passes by itself, as a broker that doesn't answer: the batch comes
/// again, later, and no attempt is counted. The text is told to observers: no value of a row.
class Transient : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What follows the last attempt.
enum class Then {
    stop, ///< the pipeline stops before the batch (F1)
    park  ///< the records at fault are set aside as dead letters (F3); the others are handled
};

/// How often, and when, a batch is handed over whose handler failed.
///
/// An error that passes by itself (`Transient`, `Outcome::retry`, and where there is more than one
/// attempt, or `then` is `park`, an `Error` that is `retryable()`) uses no attempt up: the batch
/// comes again until it is handled, ever more rarely.
///
/// \code
/// options.retry = {.attempts = 5, .then = aftertouch::Then::park};
/// \endcode
struct Retry {
    std::int64_t attempts = 1;            ///< how often the same records are tried, at least 1
    std::chrono::milliseconds pause{100}; ///< behind the first attempt; then it doubles
    std::chrono::milliseconds longest_pause{30000}; ///< but no further than this, a day at most
    double jitter = 0.5; ///< 0 to 1: up to this share of a pause is left out, by chance
    Then then = Then::stop;
    std::function<double()> chance{}; ///< from 0 up to 1; left out, a generator of the pipeline's

    /// Whether this is more than to stop at the first error.
    [[nodiscard]] bool is_patient() const noexcept { return attempts > 1 || then == Then::park; }

    /// How long to wait behind the n-th failure in a row, counted from 1; `by_chance` from 0 up
    /// to 1.
    [[nodiscard]] std::chrono::milliseconds pause_behind(
        std::int64_t failures, double by_chance) const noexcept {
        std::chrono::milliseconds whole = std::min(pause, longest_pause);
        for (std::int64_t i = 1; i < failures && whole < longest_pause && whole.count() > 0; ++i) {
            whole = whole > longest_pause / 2 ? longest_pause : whole * 2;
        }
        const double share = 1.0 - jitter * std::clamp(by_chance, 0.0, 1.0);
        return std::chrono::milliseconds{
            static_cast<std::int64_t>(static_cast<double>(whole.count()) * share)};
    }
};

namespace detail {

/// What a handler answered that isn't `done`, on its way to the pipeline.
struct Answered {
    Outcome outcome = Outcome::stop;
};

} // namespace detail

} // namespace aftertouch
