// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/change_log.hpp>
#include <aftertouch/postgres/plan.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>

/// \file
/// The log of a capture as a session reads it: what was marked as of low priority apart from the
/// rest.

namespace aftertouch::postgres {

/// Both, and whether what was read of them can be gone on from (P5).
class CaptureLogs {
public:
    CaptureLogs(Connection& connection, const Capture& capture, const InstalledCapture& installed,
        const TableFacts& facts, const std::string& own_name)
        : name_{installed.short_log}, log_{connection, capture, installed.id, facts, own_name} {
        if (capture.low_priority) {
            low_.emplace(connection, capture, installed.id, facts, own_name, true);
        }
    }

    [[nodiscard]] ChangeLog& log() noexcept { return log_; } ///< of what wasn't marked
    [[nodiscard]] Marks& marks() noexcept { return log_.marks(); }

    void begin_batch() noexcept {
        log_.begin_batch();
        low_from_.reset();
    }

    /// The end of the log, if there is no change between `from` and it.
    [[nodiscard]] std::optional<Position> pass(const Position& from) { return pass(log_, from); }
    [[nodiscard]] std::optional<Position> pass_low(const Position& from) {
        return pass(low(), from);
    }

    template <class Sink>
    std::pair<Position, bool> read_low(const Position& from, std::size_t limit, Sink&& sink) {
        low().begin_batch();
        low_from_ = from;
        return low_->read(from, limit, nullptr, std::forward<Sink>(sink));
    }
    [[nodiscard]] std::int64_t low_seen() const noexcept { return low_->facts().last; }

    /// Whether what this batch read can be gone on from; `read`: also behind `position`, which is
    /// looked at else.
    [[nodiscard]] Usable usable(const Position& position, bool read) {
        if (low_from_) {
            const Usable low = judge(low_->facts(), *low_from_);
            if (low != Usable::yes) { return low; }
        }
        return judge(read ? log_.facts() : log_.check(position), position);
    }

    /// Drops the marks that nobody needs behind a checkpoint.
    void trim_marks(std::string_view stored) {
        const auto checkpoint = checkpoint_from(stored);
        if (!checkpoint) { return; }
        const auto position = Position::from(checkpoint->position);
        const auto low = Position::from(checkpoint->low);
        if (!position) { return; }
        marks().trim(low && *low < *position ? low->seen : position->seen);
    }

private:
    // What the one knows of the log's numbers is true for the other.
    [[nodiscard]] ChangeLog& low() {
        low_->marks() = log_.marks();
        return *low_;
    }

    [[nodiscard]] std::optional<Position> pass(ChangeLog& log, const Position& from) {
        log.begin_batch();
        const std::optional<Position> end = log.pass(from);
        return judge(log.facts(), from) == Usable::yes ? end : std::nullopt;
    }

    [[nodiscard]] Usable judge(const ReadFacts& facts, const Position& position) {
        if (facts.log != name_) { return Usable::other_log; }
        if (!facts.usable) { return Usable::pruned; }
        std::int64_t highest = std::max(position.last, position.window ? position.window->last : 0);
        for (const Mark& mark : marks().all()) { highest = std::max(highest, mark.seq); }
        if (facts.reached && facts.last >= highest) { return Usable::yes; }
        marks().clear();
        return Usable::rewound;
    }

    std::string name_;
    ChangeLog log_;
    std::optional<ChangeLog> low_;     // of changes of low priority
    std::optional<Position> low_from_; // where it was read from in the batch
};

} // namespace aftertouch::postgres
