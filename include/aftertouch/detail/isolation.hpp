// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/batch.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/dead_letter.hpp>
#include <aftertouch/detail/dead_letters.hpp>
#include <aftertouch/detail/parts.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/options.hpp>
#include <aftertouch/retry.hpp>

/// \file
/// Keeps the records that a handler fails on apart from the others: sets them aside, and hands them
/// over again when they are released (F2, F3).

namespace aftertouch::detail {

/// What follows a record that is set aside waits behind it. With `KeepsOrder`, for images, until it
/// is released; else the next touch releases it, and changes of one kind that follow each other
/// are kept as one.
template <Entity T, class Session, bool KeepsOrder>
class Isolation {
public:
    Isolation(const Options& options, BatchWriter<T>& writer, std::string table)
        : options_{options}, writer_{writer}, letters_{options.name, std::move(table)} {}

    /// \name Which letters there are
    /// @{
    void load(Session& session) { letters_.load(session); }
    void look() noexcept { letters_.look(); } ///< soon; *Threads*: any
    [[nodiscard]] bool any() const noexcept { return letters_.size() != 0; }
    /// How many more there may be.
    [[nodiscard]] std::int64_t room() const noexcept {
        return static_cast<std::int64_t>(options_.dead_letters) -
               static_cast<std::int64_t>(letters_.size() + added_);
    }
    [[nodiscard]] bool has_released(Session& session) {
        letters_.look_if_due(session);
        return letters_.has_released();
    }
    /// A rebuild makes everything anew.
    void discard_all(Session& session) { letters_.remove_all(session); }
    /// @}

    /// \name One batch, in this order
    /// @{

    /// Nothing is set aside yet. Fills the writer with released letters, if there are any.
    [[nodiscard]] bool begin(Session& session) {
        failed_.clear();
        waiting_.clear();
        taken_.clear();
        added_ = 0;
        if (!has_released(session)) { return false; }
        letters_.load(session); // as the batch's transaction sees them
        letters_.read_released(session, options_.batch_size,
            [&](std::int64_t id, std::string form, const KeptChange& change) {
                if (!writer_.fits(change)) { letters_.refuse_text(id); }
                if (writer_.bytes() >= options_.batch_bytes && writer_.size() != 0) {
                    return false;
                }
                add(change);
                taken_.emplace_back(id, std::move(form));
                return true;
            });
        return !taken_.empty();
    }

    /// The same for a lane's part: released letters are handed over in no lane. With `letters`
    /// there may be some; `room` is what all lanes may add.
    void begin_part(Session& session, bool letters, std::atomic<std::int64_t>& room) {
        room_ = &room;
        added_ = 0;
        failed_.clear();
        waiting_.clear();
        taken_.clear();
        if (letters || letters_.size() != 0) { letters_.load(session); }
    }

    /// Whether the sealed batch has keys that were set aside: those mustn't hold up the others.
    /// Others may have released or discarded some since the last look.
    [[nodiscard]] bool concerns_batch(Session& session) {
        if (taken_.empty() && any_has_letters()) { letters_.load(session); }
        return !taken_.empty() || any_has_letters();
    }

    /// Hands the sealed batch over by `hand_over(batch)`, without the records that it fails on.
    ///
    /// *Throws* the handler's error for a record that may be tried again, `attempts` failures
    /// behind it, and for any while `aborted()` says that the handler's time is over.
    template <class HandOver, class Aborted>
    void hand_over(Session& session, const Retry& retry, std::int64_t attempts, HandOver hand_over,
        Aborted aborted) {
        const bool is_last = retry.then == Then::park && attempts + 1 >= retry.attempts;
        std::vector<std::size_t> keys;
        for (std::size_t key = 0; key < writer_.keys(); ++key) {
            const bool waits = taken_.empty() && letters_.find(writer_.form(key)) != nullptr;
            (waits ? waiting_ : keys).push_back(key);
        }
        Parts parts{
            session, [&](std::span<const std::size_t> some) { hand_over(writer_.part(some)); }};
        failed_ = parts.hand_over(keys);
        for (const FailedPart& failed : failed_) {
            if (aborted() || (!is_last && !is_parked(failed))) {
                std::rethrow_exception(failed.error);
            }
        }
    }

    /// Writes what became of the letters, behind the handler and in its transaction.
    void write(Session& session, std::int64_t attempts) {
        added_ = 0;
        if (!taken_.empty()) { letters_.complete_releases(session); }
        for (const FailedPart& failed : failed_) { set_aside(session, failed, attempts); }
        for (const std::size_t key : waiting_) { put_behind(session, key); }
        if (!taken_.empty()) {
            letters_.remove(
                session, taken([&](std::string_view form) { return !has_failed(form); }));
        }
    }
    /// @}

    /// How many records were set aside, and why the first.
    [[nodiscard]] std::size_t parked() const noexcept { return failed_.size(); }
    [[nodiscard]] std::string why() const {
        return failed_.empty() ? std::string{} : sentence_of(failed_.front().error);
    }

private:
    void add(const KeptChange& change) {
        const auto cells = [](const std::vector<Value>& values) {
            return std::vector<Cell>(values.begin(), values.end());
        };
        const std::vector<Cell> key = cells(change.key);
        const std::vector<Cell> before = cells(change.before);
        const std::vector<Cell> after = cells(change.after);
        if (change.operation == Operation::present && !after.empty()) {
            writer_.add_present(after, change.id.seq, change.at, key);
        } else {
            writer_.add_change({change.id, change.operation, change.at, key, before, after});
        }
    }

    [[nodiscard]] bool any_has_letters() const {
        if (letters_.size() == 0) { return false; }
        for (std::size_t key = 0; key < writer_.keys(); ++key) {
            if (letters_.find(writer_.form(key)) != nullptr) { return true; }
        }
        return false;
    }

    // Whatever the policy: it was set aside before, or the handler wants it to be.
    [[nodiscard]] bool is_parked(const FailedPart& failed) const {
        return !taken_.empty() || is_park_answer(failed.error);
    }

    [[nodiscard]] std::vector<KeptChange> changes_of(std::size_t key) const {
        std::vector<KeptChange> changes = writer_.kept(key);
        if constexpr (!KeepsOrder) {
            for (KeptChange& change : changes) { // a page's row is read again
                if (change.operation != Operation::present) { continue; }
                change.operation = Operation::touched;
                change.id.item = ChangeId::of_page;
                change.after.clear();
            }
            const auto alike = [](const KeptChange& one, const KeptChange& next) {
                return one.operation == next.operation;
            };
            changes.erase(std::unique(changes.begin(), changes.end(), alike), changes.end());
        }
        return changes;
    }

    void put_behind(Session& session, std::size_t key) {
        const LettersOfKey& letters = *letters_.find(writer_.form(key));
        std::vector<KeptChange> changes = changes_of(key);
        if constexpr (!KeepsOrder) {
            // That kind is the last one already, unless somebody discarded it while the handler
            // ran.
            const bool all_there = letters_.release(session, letters.ids);
            if (all_there && name(changes.front().operation) == letters.last) {
                changes.erase(changes.begin());
            }
        }
        for (const KeptChange& change : changes) {
            add(session, change, {}, 0, !KeepsOrder || letters.released);
        }
    }

    [[nodiscard]] bool has_failed(std::string_view form) const {
        return std::any_of(failed_.begin(), failed_.end(),
            [&](const FailedPart& failed) { return writer_.form(failed.key) == form; });
    }

    template <class Wanted>
    [[nodiscard]] std::vector<std::int64_t> taken(Wanted wanted) const {
        std::vector<std::int64_t> ids;
        for (const auto& [id, form] : taken_) {
            if (wanted(form)) { ids.push_back(id); }
        }
        return ids;
    }

    void set_aside(Session& session, const FailedPart& failed, std::int64_t attempts) {
        const std::string_view form = writer_.form(failed.key);
        const std::string error = sentence_of(failed.error);
        // All of them, also those that the batch had no room for.
        const LettersOfKey* const known = letters_.find(form);
        if (known != nullptr && letters_.failed_again(session, known->ids, error)) { return; }
        if (!taken_.empty()) { return; } // somebody has discarded them meanwhile
        const std::vector<KeptChange> changes = changes_of(failed.key);
        for (const KeptChange& change : changes) {
            const bool first = &change == &changes.front();
            add(session, change, first ? error : std::string{}, first ? attempts : 0, false);
        }
    }

    void add(Session& session, const KeptChange& change, const std::string& error,
        std::int64_t attempts, bool released) {
        const std::int64_t left = room_ == nullptr ? room() : room_->fetch_sub(1);
        if (left < 1) {
            throw Error{Errc::handler_failed,
                "pipeline " + options_.name +
                    " has as many dead letters as Options::dead_letters allows (" +
                    std::to_string(options_.dead_letters) +
                    "): mend what fails, and release or discard them" +
                    (error.empty() ? error : "; one more would be there for: " + error)};
        }
        letters_.add(session, change, error, attempts, released);
        ++added_;
    }

    const Options& options_;
    BatchWriter<T>& writer_;
    DeadLetters<Session> letters_;
    std::vector<std::pair<std::int64_t, std::string>>
        taken_;                        // letters of the batch, their key's form
    std::vector<FailedPart> failed_;   // records of the batch that are set aside
    std::vector<std::size_t> waiting_; // those whose changes go behind letters of theirs
    std::size_t added_ = 0;
    std::atomic<std::int64_t>* room_ = nullptr; // for letters of several lanes
};

} // namespace aftertouch::detail
