// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/log_row.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/reached_keys.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Reads the change log of one capture, window by window (design: positions).

namespace aftertouch::postgres {

/// What a read said besides its changes.
struct ReadFacts {
    std::string log; ///< identity of the log and the capture at that moment; empty: they are gone
    bool usable = true;    ///< the position sees all that may be pruned
    std::int64_t last = 0; ///< the log's last number, read before the transaction wrote
    bool reached = true;   ///< the server's transactions have come as far as the position's
};

/// The log of one capture; with `low_priority` of what was marked so, and else of the rest.
class ChangeLog {
public:
    ChangeLog(Connection& connection, const Capture& capture, std::int64_t id,
        const TableFacts& facts, std::string own_name, bool low_priority = false)
        : connection_{&connection}, decoder_{capture, facts}, reached_{connection, capture, facts} {
        const dialect::LogRead read{id, capture.images, std::move(own_name), low_priority};
        images_ = capture.images;
        opening_ = dialect::open_window(read);
        new_window_ = dialect::read_new_window(read);
        window_ = dialect::read_window(read);
        window_of_rows_ = dialect::read_window_of_rows(read);
        facts_sql_ = dialect::facts(id);
    }

    /// What the reads since `begin_batch` said; not usable if one said so, no log if they differ.
    [[nodiscard]] const ReadFacts& facts() const noexcept { return facts_; }
    void begin_batch() noexcept {
        facts_ = {};
        has_read_ = false;
    }
    [[nodiscard]] Marks& marks() noexcept { return marks_; }

    /// The end of the log now.
    [[nodiscard]] Position head() {
        const Answer answer = connection_->ask_own(dialect::head(), {});
        require_fresh(answer.flag(0, 2));
        facts_.last = answer.number(0, 1);
        return {snapshot(answer.text(0, 0)), facts_.last, {}};
    }

    /// Asks what a read would say, without reading.
    [[nodiscard]] ReadFacts check(const Position& position) {
        ReadFacts found = facts_of(connection_->ask(facts_sql_), position);
        values_.assign({text(position.seen.text()), integer(position.last)});
        found.reached =
            found.reached && !connection_->ask(dialect::are_ids_set_back, values_).flag(0, 0);
        return found;
    }

    /// The end of the log, if there is no change of this capture between `from` and it.
    [[nodiscard]] std::optional<Position> pass(const Position& from) {
        if (from.window) { return std::nullopt; }
        Position at = from;
        const Chunk chunk = read_chunk(at, 1);
        if (chunk.rows != 0 || !facts_.usable || !facts_.reached || facts_.log.empty()) {
            return std::nullopt;
        }
        at.pass_window();
        if (at.seen == from.seen && at.last == from.last) { return from; }
        at.late = at.last == from.last && (from.late || has_late(from, at));
        return at;
    }

    /// Passes changes behind `from` to `sink` until it answers false for one that it didn't take,
    /// or `limit` are passed. With `cursor`, only changes of keys up to it.
    ///
    /// *Returns* where to go on, and whether there is more in the window.
    template <class Sink>
    std::pair<Position, bool> read(
        const Position& from, std::size_t limit, const std::vector<Value>* cursor, Sink&& sink) {
        Position at = from;
        std::size_t passed = 0;
        for (;;) {
            const Chunk chunk = read_chunk(at, limit - passed + 1);
            if (cursor != nullptr) { reached_.mark(items_, *cursor); }
            for (const LogItem& item : items_) {
                if (item.id.seq == at.window->seq && item.id.item < at.window->item) { continue; }
                if (item.wanted) {
                    if (passed == limit || !sink(decoder_.row(item))) { return {at, true}; }
                    ++passed;
                }
                at.window->seq = item.id.seq;
                at.window->item = item.last ? 0 : item.id.item + 1;
            }
            if (chunk.used_up) {
                at.pass_window();
                return {at, false};
            }
            if (passed == limit) { return {at, true}; }
        }
    }

    /// SQL of one row for a statement that reads something else, and whose state is where a window
    /// ends; its parameters come first. The last of its columns says whether the window holds
    /// anything.
    [[nodiscard]] const std::string& opening() const noexcept { return opening_; }
    [[nodiscard]] std::vector<Value> opening_values(const Position& at) const {
        const auto [xids, numbers] = marks_.arrays();
        return {text(at.seen.text()), text(xids), text(numbers)};
    }
    static constexpr std::size_t opening_columns = 6;

    /// Opens a window behind `at` with that row.
    void open(Position& at, const Answer& answer, std::size_t row) {
        require_fresh(answer.flag(row, 2));
        at.window = Position::Window{snapshot(answer.text(row, 0)), answer.number(row, 1), 0, 0};
        note({std::string{answer.text(row, 3)}, sees_pruned(at.seen, answer.text(row, 4)),
            at.window->last, at.seen.xmax <= at.window->until.xmax});
    }

private:
    struct Chunk {
        std::size_t rows = 0;
        bool used_up = true;
    };
    static constexpr std::size_t facts_in_front = 5;

    [[nodiscard]] static Value text(std::string_view bytes) { return Value{Cell::text(bytes)}; }
    [[nodiscard]] static Value integer(std::int64_t number) { return Value{Cell::integer(number)}; }

    [[nodiscard]] static Snapshot snapshot(std::string_view text) {
        std::optional<Snapshot> read = Snapshot::from(text);
        if (!read) {
            throw Error{Errc::database, "PostgreSQL wrote a snapshot that isn't in its own form"};
        }
        return *std::move(read);
    }

    // What this transaction writes must not be in the snapshot that it takes: it would be seen as
    // ended, and never handed over.
    static void require_fresh(bool fresh) {
        if (fresh) { return; }
        throw Error{Errc::transaction_lost,
            "the position in the log was to be taken in a transaction that has written already: a "
            "batch begins with reading"};
    }

    // Reads log rows behind `at` that hold `wanted` changes into items_; opens a window if none is.
    Chunk read_chunk(Position& at, std::size_t wanted) {
        items_.clear();
        return at.window ? read_on(at, wanted) : open_window(at, wanted);
    }

    Chunk open_window(Position& at, std::size_t wanted) {
        const auto limit = static_cast<std::int64_t>(wanted);
        std::vector<Value> values = opening_values(at);
        const std::int64_t rows = rows_for(limit);
        values.insert(values.end(), {integer(limit), integer(rows)});
        answer_.emplace(connection_->ask_own(new_window_, std::move(values), Format::binary));
        open(at, *answer_, 0);
        if (answer_->null(0, facts_in_front)) { return {}; }
        return take(facts_in_front, limit, rows);
    }

    // Rows and facts in one flush; the facts behind, so that nothing was pruned under the reading
    // (P5). Behind a pod that is begun already, and where there are more, keys are counted.
    Chunk read_on(const Position& at, std::size_t wanted) {
        const Position::Window& window = *at.window;
        const bool counts = images_ || pods_ || window.item > 0;
        const std::int64_t limit = static_cast<std::int64_t>(wanted) + window.item;
        const std::int64_t behind = std::max(
            marks_.search_begin(at.seen, window.until), window.seq - (window.item > 0 ? 1 : 0));
        const std::int64_t rows = counts ? rows_for(limit) : limit;
        std::vector<Value> values{text(at.seen.text()), text(window.until.text()), integer(behind),
            integer(window.last), integer(limit)};
        if (counts) { values.push_back(integer(rows)); }
        std::vector<Answer> answers = connection_->ask_together(
            {{counts ? window_ : window_of_rows_, std::move(values), Format::binary},
                {facts_sql_}});
        if (answers[1].rows() != 0) { require_fresh(answers[1].flag(0, 3)); }
        note(facts_of(answers[1], at));
        answer_.emplace(std::move(answers.front()));
        return take(0, limit, rows);
    }

    // How many rows probably hold so many changes, as those did that were read last.
    [[nodiscard]] std::int64_t rows_for(std::int64_t changes) const noexcept {
        constexpr std::int64_t least = 16;
        return std::max(least, changes * read_rows_ / read_changes_ + 1);
    }

    // Whether a transaction that had drawn its numbers before `from` has ended since: they are what
    // keeps the log from being pruned there. Its own may be as new as the snapshot's xmax.
    [[nodiscard]] bool has_late(const Position& from, const Position& at) {
        values_.assign({text(from.seen.text()), text(at.seen.text()),
            integer(marks_.search_begin(from.seen, at.seen)), integer(from.last)});
        return connection_->ask(dialect::has_late, values_).flag(0, 0);
    }

    // The rows of answer_, which are `most` at most, up to the first whose keys weren't read.
    Chunk take(std::size_t first, std::int64_t limit, std::int64_t most) {
        std::size_t end = 0;
        std::int64_t keys = 0;
        std::int64_t bytes = 0;
        bool pods = false;
        for (; end < answer_->rows(); ++end) {
            const bool pod = !answer_->null(end, first + 3);
            pods = pods || pod;
            if (pod && answer_->null(end, first + 4)) { break; }
            keys += pod ? answer_->number(end, first + 3) : 1;
            if (images_) { bytes += answer_->size(end, first + 5); }
        }
        pods_ = pods;
        const auto rows = static_cast<std::int64_t>(end);
        if (rows != 0) { std::tie(read_rows_, read_changes_) = std::pair{rows, keys}; }
        decoder_.read(*answer_, first, images_, end, items_);
        // The server counts bytes in the database's encoding, which has four for some of UTF-8's
        // two.
        const bool cut = end < answer_->rows() || bytes >= dialect::chunk_bytes / 2;
        return {end, !cut && keys < limit && rows < most};
    }

    // P5: whether nothing that `seen` doesn't see may be pruned.
    [[nodiscard]] static bool sees_pruned(const Snapshot& seen, std::string_view through) {
        return through.empty() || seen.sees_all_of(snapshot(through));
    }
    [[nodiscard]] static ReadFacts facts_of(const Answer& answer, const Position& at) {
        if (answer.rows() == 0) { return {{}, false, 0, true}; }
        const Snapshot& newest = at.window ? at.window->until : at.seen;
        return {std::string{answer.text(0, 0)}, sees_pruned(at.seen, answer.text(0, 1)),
            answer.number(0, 2), newest.xmax <= static_cast<std::uint64_t>(answer.number(0, 4))};
    }

    void note(ReadFacts read) {
        const bool same = !has_read_ || facts_.log == read.log;
        read.usable = read.usable && facts_.usable;
        read.reached = read.reached && facts_.reached;
        if (!same) { read.log.clear(); }
        facts_ = std::move(read);
        has_read_ = true;
    }

    Connection* connection_;
    LogDecoder decoder_;
    ReachedKeys reached_;
    bool images_ = false;
    bool pods_ = false;             // the rows that were read last held several keys
    std::int64_t read_rows_ = 1;    // how many those were
    std::int64_t read_changes_ = 1; // and what they held
    std::string opening_;
    std::string new_window_;
    std::string window_;
    std::string window_of_rows_;
    std::string facts_sql_;
    Marks marks_;
    ReadFacts facts_;
    bool has_read_ = false;
    std::vector<Value> values_;
    std::optional<Answer> answer_; // what items_ look at
    std::vector<LogItem> items_;
};

} // namespace aftertouch::postgres
