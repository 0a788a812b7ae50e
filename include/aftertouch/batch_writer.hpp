// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/batch.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/table.hpp>

/// \file
/// Fills a `Batch` from what a backend reads: decodes, keeps each key once, filters, counts bytes.
/// For pipelines.

namespace aftertouch::detail {

/// What a batch says of itself.
struct BatchFacts {
    std::string_view event_id{};
    std::int64_t generation = 0;
    std::int64_t attempts = 0;
    bool replay = false;
};

/// The one batch of a pipeline, filled anew each time; its storage is reused.
template <Entity T>
class BatchWriter {
public:
    /// What a source's `filter` is; empty keeps every change.
    using Filter = std::function<bool(const Change<T>&)>;

    /// `imaged` are the columns of an image, none without images; `folds` one entry for each key
    /// part.
    void prepare(std::vector<std::size_t> imaged, std::vector<KeyFold> folds, RecordLoader loader,
        Filter filter) {
        imaged_ = std::move(imaged);
        folds_ = std::move(folds);
        filter_ = std::move(filter);
        batch_.loader_ = std::move(loader);
    }

    void clear(std::string_view log) {
        log_ = log;
        index_.clear();
        images_.clear();
        key_of_change_.clear();
        batch_.ids_.clear();
        batch_.keys_.clear();
        batch_.changes_.clear();
        batch_.present_.clear();
        batch_.records_.clear();
        batch_.missing_.clear();
        batch_.loaded_ = false;
        batch_.failed_read_ = nullptr;
        bytes_ = 0;
    }

    /// Adds one change of the log. *Throws* `Error` (`value_mismatch`) for a value that the struct
    /// can't hold.
    void add_change(const LogRow& row) {
        Change<T>& change = batch_.changes_.next();
        change.id_ = row.id;
        change.at_ = row.at;
        change.operation_ = row.operation;
        change.log_ = &log_;
        change.before_ = row.before.empty() ? nullptr : image(row.before);
        change.after_ = row.after.empty() ? nullptr : image(row.after);
        if (filter_ && !passes(change, row.key)) {
            batch_.changes_.drop_last();
            return;
        }
        key_of_change_.push_back(key_number(row.key));
        count(row.key);
    }

    /// Adds one row of a rebuild's page; `row` has all mapped columns.
    void add_present(std::span<const Cell> row, std::int64_t generation, Timestamp now) {
        T& record = batch_.present_.next();
        decode_record(row, record);
        count(row);
        key_cells_.clear();
        for (const std::size_t part : table_of<T>().key) { key_cells_.push_back(row[part]); }
        Change<T>& change = batch_.changes_.next();
        change.id_ = {generation, 0};
        change.at_ = now;
        change.operation_ = Operation::present;
        change.log_ = &log_;
        change.before_ = nullptr;
        // Else for the filter: where the row stays is known when all are there.
        change.after_ = leaves_out() ? image_of(row) : &record;
        if (filter_ && !passes(change, key_cells_)) {
            batch_.changes_.drop_last();
            batch_.present_.drop_last();
            return;
        }
        key_of_change_.push_back(key_number(key_cells_));
    }

    /// Ties the changes to their keys and rows, and makes the batch ready to be handed over.
    [[nodiscard]] const Batch<T>& seal(const BatchFacts& facts) {
        std::size_t present = 0;
        for (std::size_t i = 0; i < batch_.changes_.size(); ++i) {
            Change<T>& change = batch_.changes_[i];
            change.key_ = &batch_.ids_[key_of_change_[i]];
            change.form_ = index_.form(key_of_change_[i]);
            if (change.operation_ == Operation::present && !leaves_out()) {
                change.after_ = &batch_.present_[present++];
            }
        }
        batch_.event_id_ = facts.event_id;
        batch_.generation_ = facts.generation;
        batch_.replay_ = facts.replay;
        batch_.attempts_ = facts.attempts;
        return batch_;
    }

    [[nodiscard]] const Batch<T>& batch() const noexcept { return batch_; }
    [[nodiscard]] std::size_t size() const noexcept { return batch_.changes_.size(); }
    [[nodiscard]] std::size_t present() const noexcept { return batch_.present_.size(); }
    /// Bytes of the values that the batch holds.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    /// What a failed read of `records()` threw; null if none failed.
    [[nodiscard]] std::exception_ptr failed_read() const noexcept { return batch_.failed_read_; }

private:
    [[nodiscard]] const T* image(std::span<const Cell> cells) {
        T& record = images_.next();
        if (imaged_.size() == field_count<T>) {
            decode_record(cells, record);
        } else {
            record = T{};
            decode_fields(cells, std::span<const std::size_t>{imaged_}, record);
        }
        count(cells);
        return &record;
    }

    // Whether images lack columns: then a rebuild's row is shown without them too.
    [[nodiscard]] bool leaves_out() const noexcept {
        return !imaged_.empty() && imaged_.size() != field_count<T>;
    }
    [[nodiscard]] const T* image_of(std::span<const Cell> row) {
        image_cells_.clear();
        for (const std::size_t column : imaged_) { image_cells_.push_back(row[column]); }
        return image(image_cells_);
    }

    [[nodiscard]] bool passes(Change<T>& change, std::span<const Cell> key) {
        decode_key<T>(key, filtered_key_);
        change.key_ = &filtered_key_;
        form_.clear();
        append_key_form(form_, key, folds_);
        change.form_ = form_;
        return filter_(std::as_const(change));
    }

    [[nodiscard]] std::size_t key_number(std::span<const Cell> key) {
        const auto [number, is_new] = index_.insert(key, folds_);
        if (is_new) {
            decode_key<T>(key, batch_.ids_.next());
            for (const Cell part : key) { batch_.keys_.next() = part; }
        }
        return number;
    }

    void count(std::span<const Cell> cells) {
        for (const Cell cell : cells) { bytes_ += cell.size(); }
    }

    Batch<T> batch_;
    Pool<T, std::deque<T>> images_;
    KeyIndex index_;
    std::vector<std::size_t> key_of_change_;
    std::vector<Cell> key_cells_;
    std::vector<Cell> image_cells_;
    std::vector<std::size_t> imaged_;
    std::vector<KeyFold> folds_;
    Filter filter_;
    Key<T> filtered_key_{};
    std::string form_; // of that
    std::string log_;
    std::size_t bytes_ = 0;
};

} // namespace aftertouch::detail
