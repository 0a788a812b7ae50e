// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>

#include <aftertouch/batch_writer.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/options.hpp>

/// \file
/// When changes come that were marked as of low priority, and how a batch of them is read (PT10).

namespace aftertouch::detail {

/// They come when nothing else waits; and else after so many other batches, so that neither they
/// nor the log's pruning wait for ever.
template <Entity T, class Session>
class LowPriority {
public:
    using Position = typename Session::Position;
    static constexpr int batches_between = 20;

    /// `heeded`: whether the source knows such changes.
    LowPriority(const Options& options, bool heeded) : options_{options}, heeded_{heeded} {}

    /// Whether they are due before others.
    [[nodiscard]] bool due() const noexcept { return heeded_ && others_ >= batches_between; }
    /// Whether the batch in hand is of them.
    [[nodiscard]] bool in_hand() const noexcept { return in_hand_; }

    /// No batch is in hand yet; one was committed.
    void begins() noexcept { in_hand_ = false; }
    void committed() noexcept { others_ += in_hand_ || others_ == batches_between ? 0 : 1; }

    /// Reads what comes behind the checkpoint's place for them, which moves on. Answers whether
    /// there was anything.
    [[nodiscard]] bool read(Session& session, Checkpoint& checkpoint, BatchWriter<T>& writer) {
        const auto from = heeded_ ? Position::from(checkpoint.low) : std::nullopt;
        if (!from) { return false; }
        others_ = 0;
        std::size_t passed = 0;
        const auto read = session.read_low(*from, options_.batch_size, [&](const LogRow& row) {
            if (writer.size() != 0 && writer.bytes() >= options_.batch_bytes) { return false; }
            writer.add_change(row);
            ++passed;
            return true;
        });
        checkpoint.low = read.first.text();
        return in_hand_ = passed != 0;
    }

private:
    const Options& options_;
    bool heeded_;
    bool in_hand_ = false;
    int others_ = 0; // batches since the last look
};

} // namespace aftertouch::detail
