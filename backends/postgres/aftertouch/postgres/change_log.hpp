// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
};

/// The log of one capture.
class ChangeLog {
public:
    ChangeLog(Connection& connection, const Capture& capture, std::int64_t id,
        const TableFacts& facts, std::string own_name)
        : connection_{&connection}, decoder_{capture, facts} {
        const dialect::LogRead read{id, capture.images, std::move(own_name)};
        images_ = capture.images;
        new_window_ = dialect::read_new_window(read);
        window_ = dialect::read_window(read);
        check_ = dialect::check_position(id);
        std::vector<std::string> types;
        std::vector<std::string> collations;
        for (const std::size_t part : capture.table.key) {
            const ColumnFacts& column = *facts.column(capture.table.columns[part].name);
            types.push_back(column.type);
            collations.push_back(column.collation);
        }
        key_parts_ = types.size();
        reached_ = dialect::reached(types, collations);
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
        const Answer answer = connection_->ask(dialect::head());
        require_fresh(answer.flag(0, 2));
        facts_.last = answer.number(0, 1);
        return {snapshot(answer.text(0, 0)), facts_.last, {}};
    }

    /// Asks what a read would say, without reading.
    [[nodiscard]] ReadFacts check(const Position& position) {
        values_.assign({text(position.seen.text())});
        const Answer answer = connection_->ask(check_, values_);
        if (answer.rows() == 0) { return {{}, false, 0}; }
        return {std::string{answer.text(0, 0)}, answer.flag(0, 1), answer.number(0, 2)};
    }

    /// The end of the log, if there is no change of this capture between `from` and it.
    [[nodiscard]] std::optional<Position> pass(const Position& from) {
        if (from.window) { return std::nullopt; }
        Position at = from;
        const Chunk chunk = read_chunk(at, 1);
        if (chunk.rows != 0 || !facts_.usable || facts_.log.empty()) { return std::nullopt; }
        close(at);
        return from < at ? at : from;
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
            mark_reached(cursor);
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
                close(at);
                return {at, false};
            }
        }
    }

private:
    struct Chunk {
        std::size_t rows = 0;
        bool used_up = true;
    };
    static constexpr std::size_t first_column = 5; // behind the facts

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

    static void close(Position& at) {
        at.seen = std::move(at.window->until);
        at.last = at.window->last;
        at.window.reset();
    }

    // Reads log rows behind `at` that hold `wanted` changes into items_; opens a window if none is.
    Chunk read_chunk(Position& at, std::size_t wanted) {
        const std::int32_t skipped = at.window ? at.window->item : 0;
        const auto [xids, numbers] = marks_.arrays();
        const std::int64_t limit = static_cast<std::int64_t>(wanted) + skipped;
        values_.assign({text(at.seen.text()), text(xids), text(numbers), integer(limit)});
        if (at.window) {
            values_.push_back(text(at.window->until.text()));
            values_.push_back(integer(at.window->last));
            values_.push_back(integer(at.window->seq - (skipped > 0 ? 1 : 0)));
        }
        answer_.emplace(connection_->ask_alone(at.window ? window_ : new_window_, values_));
        items_.clear();
        if (answer_->rows() == 0) { // there is no row in aftertouch.meta
            note({}, false, facts_.last);
            if (!at.window) { at.window = Position::Window{at.seen, at.last, 0, 0}; }
            return {};
        }
        require_fresh(answer_->flag(0, 2));
        note(answer_->text(0, 3), answer_->flag(0, 4), answer_->number(0, 1));
        if (!at.window) {
            at.window =
                Position::Window{snapshot(answer_->text(0, 0)), answer_->number(0, 1), 0, 0};
        }
        if (answer_->null(0, first_column)) { return {}; }
        decoder_.read(*answer_, first_column, images_, items_);
        const std::int64_t found = answer_->number(0, first_column + 5);
        const auto rows = static_cast<std::int64_t>(answer_->rows());
        return {answer_->rows(), rows == found && found < limit};
    }

    void note(std::string_view log, bool usable, std::int64_t last) {
        const bool same = !has_read_ || facts_.log == log;
        facts_ = {same ? std::string{log} : std::string{}, facts_.usable && usable, last};
        has_read_ = true;
    }

    // The database compares keys by their own order.
    void mark_reached(const std::vector<Value>* cursor) {
        if (cursor == nullptr || items_.empty()) { return; }
        std::vector<ArrayWriter> arrays(key_parts_);
        for (const LogItem& item : items_) {
            for (std::size_t part = 0; part < key_parts_; ++part) {
                arrays[part].add(item.key.empty() ? Cell::null() : item.key[part]);
            }
        }
        values_.clear();
        for (ArrayWriter& array : arrays) { values_.push_back(text(array.take())); }
        values_.insert(values_.end(), cursor->begin(), cursor->end());
        const Answer answer = connection_->ask(reached_, values_);
        // A truncation is for every key.
        for (LogItem& item : items_) { item.wanted = item.key.empty(); }
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            items_[static_cast<std::size_t>(answer.number(i, 0)) - 1].wanted = true;
        }
    }

    Connection* connection_;
    LogDecoder decoder_;
    bool images_ = false;
    std::size_t key_parts_ = 1;
    std::string new_window_;
    std::string window_;
    std::string check_;
    std::string reached_;
    Marks marks_;
    ReadFacts facts_;
    bool has_read_ = false;
    std::vector<Value> values_;
    std::optional<Answer> answer_; // what items_ look at
    std::vector<LogItem> items_;
};

} // namespace aftertouch::postgres
