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
#include <aftertouch/dead_letter.hpp>
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
        clear(batch_);
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

    /// Adds one row of a rebuild's page; `row` has all mapped columns. `key` are the parts of its
    /// key as the database stores them, where `row` may have them in another form.
    void add_present(std::span<const Cell> row, std::int64_t generation, Timestamp now,
        std::span<const Cell> key = {}) {
        T& record = batch_.present_.next();
        decode_record(row, record);
        count(row);
        key_cells_.assign(key.begin(), key.end());
        if (key.empty()) {
            for (const std::size_t part : table_of<T>().key) { key_cells_.push_back(row[part]); }
        }
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
        for (std::size_t i = 0; i < batch_.changes_.size(); ++i) {
            batch_.changes_[i].form_ = index_.form(key_of_change_[i]);
        }
        std::size_t next = 0;
        tie(batch_, [&](const Change<T>&) { return &batch_.ids_[key_of_change_[next++]]; });
        batch_.event_id_ = facts.event_id;
        batch_.generation_ = facts.generation;
        batch_.replay_ = facts.replay;
        batch_.attempts_ = facts.attempts;
        batch_.loaded_ = false; // another transaction may read its rows again
        batch_.failed_read_ = nullptr;
        return batch_;
    }

    /// The sealed batch with some of its keys alone, by their numbers, rising: their changes, in
    /// order. Valid until the next call.
    [[nodiscard]] const Batch<T>& part(std::span<const std::size_t> keys) {
        clear(part_);
        std::vector<std::size_t> place(batch_.ids_.size(), none);
        for (const std::size_t key : keys) {
            place[key] = part_.ids_.size();
            const std::size_t parts = table_of<T>().key.size();
            const auto stored = batch_.keys_.span().subspan(key * parts, parts);
            key_cells_.assign(stored.begin(), stored.end());
            decode_key<T>(key_cells_, part_.ids_.next());
            for (std::size_t i = 0; i < parts; ++i) {
                part_.keys_.next() = batch_.keys_[key * parts + i];
            }
        }
        std::size_t present = 0;
        for (std::size_t i = 0; i < batch_.changes_.size(); ++i) {
            const bool is_row = batch_.changes_[i].operation_ == Operation::present;
            const std::size_t row = is_row ? present++ : none;
            if (place[key_of_change_[i]] == none) { continue; }
            part_.changes_.next() = batch_.changes_[i];
            if (is_row) { copy_record(batch_.present_[row], part_.present_.next()); }
        }
        tie(part_, [&](const Change<T>& change) {
            return &part_.ids_[place[static_cast<std::size_t>(change.key_ - batch_.ids().data())]];
        });
        part_.loader_ = batch_.loader_;
        part_.event_id_ = batch_.event_id_;
        part_.generation_ = batch_.generation_;
        part_.replay_ = batch_.replay_;
        part_.attempts_ = batch_.attempts_;
        return part_;
    }

    /// How many keys it has, the form of each, and its parts as the database stores them.
    [[nodiscard]] std::size_t keys() const noexcept { return batch_.ids_.size(); }
    [[nodiscard]] std::string_view form(std::size_t key) const noexcept { return index_.form(key); }
    [[nodiscard]] std::vector<Value> parts_of(std::size_t key) const {
        const std::size_t parts = table_of<T>().key.size();
        const auto first = batch_.keys_.span().subspan(key * parts, parts);
        return {first.begin(), first.end()};
    }

    /// The changes of a key, in order, as they can be kept.
    [[nodiscard]] std::vector<KeptChange> kept(std::size_t key) const {
        std::vector<KeptChange> changes;
        std::size_t present = 0;
        for (std::size_t i = 0; i < batch_.changes_.size(); ++i) {
            const bool is_row = batch_.changes_[i].operation_ == Operation::present;
            const std::size_t row = is_row ? present++ : none;
            if (key_of_change_[i] != key) { continue; }
            const Change<T>& change = batch_.changes_[i];
            KeptChange kept{change.id_, change.operation_, change.at_, parts_of(key), {}, {}};
            if (change.before_ != nullptr) {
                kept.before = encode_fields(*change.before_, imaged_);
            }
            if (is_row) {
                kept.after = encode_record(batch_.present_[row]);
            } else if (change.after_ != nullptr) {
                kept.after = encode_fields(*change.after_, imaged_);
            }
            changes.push_back(std::move(kept));
        }
        return changes;
    }

    /// Whether a change that was kept has as many values as those of this source.
    [[nodiscard]] bool fits(const KeptChange& change) const noexcept {
        const std::size_t after =
            change.operation == Operation::present ? field_count<T> : imaged_.size();
        return change.key.size() == key_indices<T>.size() &&
               (change.before.empty() || change.before.size() == imaged_.size()) &&
               (change.after.empty() || change.after.size() == after);
    }

    [[nodiscard]] const Batch<T>& batch() const noexcept { return batch_; }
    [[nodiscard]] std::size_t size() const noexcept { return batch_.changes_.size(); }
    [[nodiscard]] std::size_t present() const noexcept { return batch_.present_.size(); }
    /// Bytes of the values that the batch holds.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    /// What a failed read of `records()` threw; null if none failed.
    [[nodiscard]] std::exception_ptr failed_read() const noexcept { return failed_read(batch_); }
    [[nodiscard]] static std::exception_ptr failed_read(const Batch<T>& batch) noexcept {
        return batch.failed_read_;
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    static void clear(Batch<T>& batch) {
        batch.ids_.clear();
        batch.keys_.clear();
        batch.changes_.clear();
        batch.present_.clear();
        batch.records_.clear();
        batch.missing_.clear();
        batch.loaded_ = false;
        batch.failed_read_ = nullptr;
    }

    // Points the changes of a batch that is complete at its keys and rows.
    template <class KeyOf>
    void tie(Batch<T>& batch, KeyOf key_of) const {
        std::size_t present = 0;
        for (std::size_t i = 0; i < batch.changes_.size(); ++i) {
            Change<T>& change = batch.changes_[i];
            change.key_ = key_of(change);
            if (change.operation_ == Operation::present && !leaves_out()) {
                change.after_ = &batch.present_[present++];
            }
        }
    }

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
    Batch<T> part_;
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
