// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <aftertouch/batch.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/detail/handler_caller.hpp>
#include <aftertouch/detail/isolation.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/retry.hpp>
#include <aftertouch/source.hpp>

/// \file
/// What one transaction hands over: a batch, or a lane's part of one.

namespace aftertouch::detail {

/// Where the pipeline stands that hands a batch over.
struct BatchStand {
    bool replay = false;
    std::int64_t attempts = 0;
    std::int64_t version = 0;
    bool contended = false; ///< other instances may have what lanes were dealt in hand
};

/// How a portion is handed over.
struct Handing {
    const Retry& retry;
    bool in_parts = false; ///< its records may be tried alone
};

template <class S, class H, class B, class Session>
class Portion {
public:
    using T = typename S::Record;

    Portion(const Options& options, std::string dead_letter_table)
        : isolation_{options, writer_, std::move(dead_letter_table)} {}

    [[nodiscard]] BatchWriter<T>& writer() noexcept { return writer_; }
    [[nodiscard]] const BatchWriter<T>& writer() const noexcept { return writer_; }
    [[nodiscard]] auto& isolation() noexcept { return isolation_; }
    [[nodiscard]] const auto& isolation() const noexcept { return isolation_; }

    /// Hands over what was written, and where `handing` or the handler's answer says so in parts,
    /// so that records at fault are found and set aside; `behind(tx)` comes after it in the same
    /// scope. Nothing is set aside while `aborted()` says that the handler's time is over.
    template <class Aborted, class Behind>
    void hand_over(Session& session, HandlerCaller<S, H, B>& caller, const BatchFacts& facts,
        const Handing& handing, Aborted aborted, Behind behind) {
        const Batch<T>& batch = writer_.seal(facts);
        const bool concerned = isolation_.concerns_batch(session);
        in_parts_ = handing.in_parts || concerned;
        caller.run(session, inside_, [&](auto& tx) {
            const auto hand = [&](const Batch<T>& some) { caller.hand_over(some, tx); };
            if (in_parts_) {
                isolation_.hand_over(session, handing.retry, facts.attempts, hand, aborted);
            } else {
                hand(batch);
            }
            behind(tx);
        });
        isolation_.write(session, facts.attempts + 1);
    }

    /// Whether its records were tried alone.
    [[nodiscard]] bool in_parts() const noexcept { return in_parts_; }
    /// True while a handler is called, and behind it where it threw.
    [[nodiscard]] bool& inside_handler() noexcept { return inside_; }
    [[nodiscard]] bool inside_handler() const noexcept { return inside_; }

private:
    BatchWriter<T> writer_;
    Isolation<T, Session, S::mode == CaptureMode::images> isolation_;
    bool in_parts_ = false;
    bool inside_ = false;
};

} // namespace aftertouch::detail
