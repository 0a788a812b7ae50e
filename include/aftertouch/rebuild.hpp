// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/options.hpp>

/// \file
/// What a batch is made of: changes of the log, and while a rebuild runs, pages of the source
/// behind them (R1, R2).

namespace aftertouch::detail {

/// A rebuild that begins behind the one of this generation; `first`: its target is new.
[[nodiscard]] inline RebuildCursor next_rebuild(
    std::int64_t generation, bool first, std::int64_t total) {
    const std::int64_t now = wall_clock().time_since_epoch().count();
    return {std::max(generation + 1, now), first, true, 0, total, {}};
}

/// What a pipeline says that was told that the whole table was emptied, and has no way to pass
/// that on.
[[noreturn]] inline void refuse_truncated(const std::string& pipeline) {
    throw Error{Errc::handler_failed,
        "the source of pipeline " + pipeline +
            " was truncated, and its handler neither clears nor sweeps what it derived "
            "(rebuild_started, rebuild_finished): empty the target by hand, call rebuild(), and "
            "start again"};
}

/// Reads batches from a session.
///
/// Changes go first. The next page is read only if all changes up to the same state of the database
/// fit into the batch, so that a page never hands over something older than what the log has told.
/// In key order, changes of keys that the rebuild hasn't reached are left to their page: so each
/// key is handed over once, and what its page shows is what later changes start from.
template <Entity T, class Session>
class BatchReader {
public:
    using Position = typename Session::Position;

    /// `minds_rebuilds`: whether the handler clears or sweeps its target by itself.
    BatchReader(const Options& options, bool key_order, bool minds_rebuilds)
        : options_{options}, key_order_{key_order}, minds_rebuilds_{minds_rebuilds} {}

    /// Reads at most `limit` changes of the log behind `from` into `writer`, which may be a batch's
    /// or what deals them. Answers how many there were, also those that a filter dropped.
    template <class Writer>
    std::size_t read(Session& session, Position from, std::size_t limit, Writer& writer) {
        std::size_t passed = 0;
        truncated_ = refused_ = false;
        // Where one lane is full soon, the rest of a large read would be for nothing.
        const std::size_t most = 2 * options_.batch_size;
        do {
            std::tie(end_, more_) = session.read_changes(from, std::min(limit - passed, most),
                [&](const LogRow& row) { return take(row, writer, passed); });
            from = end_;
        } while (more_ && !refused_ && passed < limit);
        truncated_ = truncated_ && passed == 0;
        return passed;
    }
    /// The same while a rebuild runs, which moves on with the page behind them.
    std::size_t read_rebuild(
        Session& session, const Position& from, RebuildCursor& rebuild, BatchWriter<T>& writer) {
        std::size_t passed = 0;
        truncated_ = more_ = false;
        const Timestamp now = wall_clock();
        RebuildRead<Position> read = session.read_rebuild(
            from, options_.batch_size, leaves_to_pages(rebuild), rebuild.last,
            [&](const LogRow& row) { return take(row, writer, passed); },
            [&](std::span<const Cell> row) {
                if (is_full(writer)) { return false; }
                writer.add_present(row, rebuild.generation, now);
                ++rebuild.done;
                return true;
            });
        end_ = std::move(read.end);
        if (read.last) {
            rebuild.running = false;
            rebuild.last.clear();
        }
        truncated_ = truncated_ && passed == 0;
        return passed;
    }

    /// Whether the next change is that the whole table was emptied: then nothing was read.
    [[nodiscard]] bool truncated() const noexcept { return truncated_; }
    /// Whether the handler clears or sweeps its target by itself.
    [[nodiscard]] bool minds_rebuilds() const noexcept { return minds_rebuilds_; }

    /// Whether changes of keys that the rebuild hasn't reached are left to their pages. Not where a
    /// target may hold rows from before, and nobody clears or sweeps it: no page tells of a row
    /// that was deleted.
    [[nodiscard]] bool leaves_to_pages(const RebuildCursor& rebuild) const noexcept {
        return key_order_ && (minds_rebuilds_ || rebuild.first);
    }
    /// Where the log was read up to.
    [[nodiscard]] const Position& end() const noexcept { return end_; }
    /// Whether the log had more behind that place, when no rebuild ran.
    [[nodiscard]] bool more() const noexcept { return more_; }

private:
    [[nodiscard]] bool is_full(const BatchWriter<T>& writer) const noexcept {
        return writer.size() != 0 && writer.bytes() >= options_.batch_bytes;
    }
    template <class Dealing>
    [[nodiscard]] bool is_full(const Dealing& dealing) const noexcept {
        return dealing.is_full();
    }

    template <class Writer>
    [[nodiscard]] bool take(const LogRow& row, Writer& writer, std::size_t& passed) {
        truncated_ = row.operation == Operation::truncated;
        refused_ = truncated_ || is_full(writer);
        if (refused_) { return false; }
        writer.add_change(row);
        ++passed;
        return true;
    }

    const Options& options_;
    bool key_order_;
    bool minds_rebuilds_;
    Position end_;
    bool truncated_ = false;
    bool refused_ = false; // a change that the log has
    bool more_ = false;
};

} // namespace aftertouch::detail
