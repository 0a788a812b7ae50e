// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/literals.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/row.hpp>

/// \file
/// From rows of the log to changes: a row holds one change, or the keys of many.

namespace aftertouch::postgres {

/// One change of a log row. Its views are valid until the next rows are read.
struct LogItem {
    ChangeId id;
    Operation operation = Operation::touched;
    Timestamp at;
    std::span<const Cell> key;
    std::string_view image;
    bool last = true;   ///< of its row
    bool wanted = true; ///< a rebuild has reached its key
};

/// Reads what the triggers of one capture write.
class LogDecoder {
public:
    LogDecoder(const Capture& capture, const TableFacts& facts)
        : table_{capture.table.name.text()} {
        for (const std::size_t part : capture.table.key) {
            key_forms_.push_back(facts.column(capture.table.columns[part].name)->form);
            key_names_.push_back(capture.table.columns[part].name);
        }
        for (const std::size_t column : capture.imaged) {
            image_forms_.push_back(facts.column(capture.table.columns[column].name)->form);
            image_names_.push_back(capture.table.columns[column].name);
        }
    }

    /// Appends the changes of the rows of a binary `answer`, whose log columns (seq, op, at, keys,
    /// key, image) begin at `first`, up to `end`.
    void read(const Answer& answer, std::size_t first, bool images, std::size_t end,
        std::vector<LogItem>& items) {
        room_.clear();
        make_room(answer, first, end);
        for (std::size_t row = 0; row < end; ++row) {
            LogItem item;
            item.id.seq = answer.number(row, first);
            const std::string_view letter = answer.text(row, first + 1);
            item.operation =
                operation_from(letter.empty() ? '\0' : letter.front()).value_or(Operation::touched);
            item.at = answer.time(row, first + 2);
            if (images) { item.image = answer.text(row, first + 5); }
            if (answer.null(row, first + 4)) {
                items.push_back(item); // a truncation
            } else if (answer.null(row, first + 3)) {
                item.key = key(answer.text(row, first + 4));
                items.push_back(item);
            } else {
                read_pod(answer.text(row, first + 4), item, items);
            }
        }
    }

    /// The change with its images, which are valid until the next call.
    [[nodiscard]] LogRow row(const LogItem& item) {
        LogRow change{item.id, item.operation, item.at, item.key, {}, {}};
        if (item.image.empty()) { return change; }
        image_room_.clear();
        image_.clear();
        parts_.clear();
        LiteralReader reader{item.image, image_room_};
        while (!reader.done()) { reader.read_row(parts_); }
        const std::size_t width = image_forms_.size();
        const bool before = item.operation != Operation::inserted;
        const bool after = item.operation != Operation::deleted;
        if (parts_.size() != width * (before && after ? 2 : 1)) {
            throw Error{Errc::database, "an image of " + table_ + " in the log has " +
                                            std::to_string(parts_.size()) + " values where " +
                                            std::to_string(width) +
                                            " columns are captured: install the capture again"};
        }
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            image_.push_back(
                cell(parts_[i], image_forms_[i % width], image_names_[i % width], image_room_));
        }
        const std::span<const Cell> cells{image_};
        if (before) { change.before = cells.first(width); }
        if (after) { change.after = cells.last(width); }
        return change;
    }

private:
    [[nodiscard]] Cell cell(
        LiteralPart part, Form form, const std::string& column, Room& room) const {
        if (part.null) { return Cell::null(); }
        try {
            return cell_from(part.text, form, room);
        } catch (const Error& error) {
            aftertouch::detail::rethrow_at(error, table_ + "." + column);
        }
    }

    // Keys are looked at where they lie: there must be room for all of them.
    void make_room(const Answer& answer, std::size_t first, std::size_t end) {
        std::size_t keys = 0;
        for (std::size_t row = 0; row < end; ++row) {
            keys += answer.null(row, first + 3)
                        ? 1
                        : static_cast<std::size_t>(answer.number(row, first + 3));
        }
        keys_.clear();
        keys_.reserve(keys * key_forms_.size());
    }

    [[nodiscard]] std::span<const Cell> key(std::string_view text) {
        const std::size_t width = key_forms_.size();
        if (keys_.capacity() - keys_.size() < width) { refuse_key(); }
        if (width == 1) {
            keys_.push_back(cell({text, false}, key_forms_[0], key_names_[0], room_));
            return {&keys_.back(), 1};
        }
        parts_.clear();
        LiteralReader{text, room_}.read_row(parts_);
        if (parts_.size() != width) { refuse_key(); }
        for (std::size_t i = 0; i < width; ++i) {
            keys_.push_back(cell(parts_[i], key_forms_[i], key_names_[i], room_));
        }
        return std::span<const Cell>{keys_}.last(width);
    }
    [[noreturn]] void refuse_key() const {
        throw Error{Errc::database, "a key of " + table_ +
                                        " in the log has another number of parts: install the "
                                        "capture again"};
    }

    void read_pod(std::string_view text, LogItem& item, std::vector<LogItem>& items) {
        pod_.clear();
        LiteralReader{text, room_}.read_array(pod_);
        for (std::size_t i = 0; i < pod_.size(); ++i) {
            item.id.item = static_cast<std::int32_t>(i);
            item.key = key(pod_[i].text);
            item.last = i + 1 == pod_.size();
            items.push_back(item);
        }
    }

    std::string table_;
    std::vector<Form> key_forms_;
    std::vector<std::string> key_names_;
    std::vector<Form> image_forms_;
    std::vector<std::string> image_names_;
    Room room_;              // of the rows that were read last
    std::vector<Cell> keys_; // of their changes
    std::vector<LiteralPart> parts_;
    std::vector<LiteralPart> pod_;
    Room image_room_;
    std::vector<Cell> image_;
};

} // namespace aftertouch::postgres
