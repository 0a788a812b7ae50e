// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <aftertouch/dead_letter.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/row.hpp>
#include <aftertouch/time_text.hpp>
#include <aftertouch/uuid_text.hpp>
#include <aftertouch/value.hpp>

/// \file
/// The dead letters of one pipeline, as its own thread works with them (F3).

namespace aftertouch::detail {

/// A key for people: its parts, with commas between.
[[nodiscard]] inline std::string readable(const std::vector<Value>& key) {
    std::string text;
    for (const Value& part : key) {
        const Cell cell = part.cell();
        text.append(&part == key.data() ? "" : ", ");
        switch (cell.kind()) {
            case Kind::text: text.append(cell.bytes()); break;
            case Kind::uuid: text.append(uuid_text(cell.bytes())); break;
            case Kind::date: text += iso_date(static_cast<std::int32_t>(cell.as_integer())); break;
            case Kind::timestamp: text += iso_timestamp(cell.as_integer()); break;
            default: text.append(to_text(part), 1);
        }
    }
    return text;
}

/// An error's text as every engine can store it: valid UTF-8 without NUL, and not endless.
[[nodiscard]] inline std::string storable(std::string_view text) {
    constexpr std::size_t longest = 4000;
    std::string kept;
    while (!text.empty() && kept.size() < longest) {
        const std::size_t length = text.front() == '\0' ? 0 : utf8_length(text);
        kept.append(length == 0 ? std::string_view{"?"} : text.substr(0, length));
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return kept;
}

/// The letters of one key.
struct LettersOfKey {
    std::vector<std::int64_t> ids;    ///< in order
    bool released = false;            ///< and so is what comes behind them
    std::vector<std::int64_t> held{}; ///< those that aren't marked so
    std::string last{};               ///< the name of the last one's operation
};

/// Knows which keys have letters, and writes them in the batch's transaction.
///
/// *Threads*: the pipeline's own, but for `look`.
template <class Session>
class DeadLetters {
public:
    DeadLetters(std::string pipeline, std::string table)
        : pipeline_{std::move(pipeline)}, table_{std::move(table)} {}

    /// Somebody may have released some: look soon. *Threads*: any.
    void look() noexcept { wished_ = true; }

    /// Reads which there are, in the session's transaction or outside of one.
    void load(Session& session) {
        wished_ = stale_ = false;
        looked_ = Clock::now();
        keys_.clear();
        count_ = 0;
        session.run_own([&](auto& tx) {
            using Row = std::tuple<std::int64_t, std::string, bool, std::string>;
            for (const auto& [id, key, released, operation] : tx.query(type<Row>,
                     "SELECT id, key, released, operation FROM " + table_ +
                         " WHERE pipeline = $1 ORDER BY id",
                     pipeline_)) {
                LettersOfKey& letters = keys_[form_of(session, key)];
                letters.ids.push_back(id);
                letters.released = letters.released || released;
                if (!released) { letters.held.push_back(id); }
                letters.last = operation;
                ++count_;
            }
        });
    }

    /// Looks whether some were released: at most once a second, and only where there are any.
    void look_if_due(Session& session) {
        constexpr std::chrono::seconds patience{1};
        const bool due = count_ != 0 && Clock::now() - looked_ > patience;
        if (wished_ || stale_ || due) { load(session); }
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool has_released() const noexcept {
        for (const auto& [form, letters] : keys_) {
            if (letters.released) { return true; }
        }
        return false;
    }
    /// Those of a key; null where it has none.
    [[nodiscard]] const LettersOfKey* find(std::string_view form) const {
        const auto found = keys_.find(form);
        return found == keys_.end() ? nullptr : &found->second;
    }

    /// Calls `take(id, form of the key, change)` for the letters of records of which some are
    /// released, in order, until it answers false. *Requires* that `load` was called in the same
    /// transaction.
    template <class Take>
    void read_released(Session& session, std::size_t limit, Take take) {
        std::vector<std::int64_t> wanted;
        for (const auto& [form, letters] : keys_) {
            if (letters.released) {
                wanted.insert(wanted.end(), letters.ids.begin(), letters.ids.end());
            }
        }
        if (wanted.empty()) { return; }
        std::sort(wanted.begin(), wanted.end());
        wanted.resize(std::min(wanted.size(), limit));
        session.run_own([&](auto& tx) {
            using Row = std::tuple<std::int64_t, std::string, std::string>;
            for (const auto& [id, key, text] : tx.query(type<Row>,
                     "SELECT id, key, change FROM " + table_ +
                         " WHERE pipeline = $1 AND id BETWEEN $2 AND $3 ORDER BY id",
                     pipeline_, wanted.front(), wanted.back())) {
                if (!std::binary_search(wanted.begin(), wanted.end(), id)) { continue; }
                const auto change = kept_change_from(key, text);
                if (!change) { refuse_text(id); }
                if (!take(id, form_of(session, key), *change)) { return; }
            }
        });
    }
    /// *Throws*: the letter's text isn't one of this source's changes.
    [[noreturn]] void refuse_text(std::int64_t id) const {
        throw Error{Errc::value_mismatch, "dead letter " + std::to_string(id) + " of pipeline " +
                                              pipeline_ +
                                              " has a text that this version, or a pipeline over "
                                              "this source, doesn't write: discard "
                                              "it"};
    }

    /// \name In the transaction of a batch, behind its handler
    /// @{

    /// Releases the other letters of a record too, of which some are released: one may have been
    /// set aside since, or have another spelling of the key.
    void complete_releases(Session& session) {
        for (auto& [form, letters] : keys_) {
            if (letters.released) { release(session, std::exchange(letters.held, {})); }
        }
    }
    /// Has them handed over again; says whether all of them are still there.
    bool release(Session& session, std::span<const std::int64_t> ids) {
        bool all_there = true;
        session.run_own([&](auto& tx) {
            for (const std::int64_t id : ids) {
                stale_ = true;
                const auto written =
                    tx.execute("UPDATE " + table_ + " SET released = TRUE WHERE id = $1", id);
                all_there = all_there && written != 0;
            }
        });
        return all_there;
    }
    /// Sets a change aside.
    void add(Session& session, const KeptChange& change, std::string_view error,
        std::int64_t attempts, bool released) {
        stale_ = true;
        session.run_own([&](auto& tx) {
            tx.execute("INSERT INTO " + table_ +
                           " (pipeline, record, key, operation, change, error, attempts, "
                           "parked_at, released) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                pipeline_, readable(change.key), words(change.key),
                std::string{name(change.operation)}, to_text(change), storable(error), attempts,
                wall_clock(), released);
        });
    }
    /// Those of a key were tried once more, in vain: they are set aside again. Answers whether one
    /// is still there.
    bool failed_again(
        Session& session, std::span<const std::int64_t> ids, const std::string& error) {
        stale_ = true;
        bool any = false;
        session.run_own([&](auto& tx) {
            for (const std::int64_t id : ids) {
                if (tx.execute("UPDATE " + table_ + " SET released = FALSE WHERE id = $1", id) ==
                        0 ||
                    std::exchange(any, true)) {
                    continue;
                }
                tx.execute("UPDATE " + table_ +
                               " SET attempts = attempts + 1, error = $1, parked_at = $2 WHERE id "
                               "= $3",
                    storable(error), wall_clock(), id);
            }
        });
        return any;
    }
    /// They are handled.
    void remove(Session& session, std::span<const std::int64_t> ids) {
        if (ids.empty()) { return; }
        stale_ = true;
        session.run_own([&](auto& tx) {
            for (const std::int64_t id : ids) {
                tx.execute("DELETE FROM " + table_ + " WHERE id = $1", id);
            }
        });
    }
    /// A rebuild makes everything anew.
    void remove_all(Session& session) {
        if (count_ == 0 && !stale_ && !wished_) { return; } // lanes may have written some
        stale_ = true;
        session.run_own([&](auto& tx) {
            tx.execute("DELETE FROM " + table_ + " WHERE pipeline = $1", pipeline_);
        });
    }
    /// @}

private:
    [[nodiscard]] static std::string form_of(Session& session, const std::string& key) {
        std::string form;
        const auto values = values_from(key);
        const std::vector<KeyFold>& folds = session.key_folds();
        if (!values || values->size() != folds.size()) { return "?" + key; } // of no key here
        for (std::size_t i = 0; i < folds.size(); ++i) {
            append_key_form(form, (*values)[i], folds[i]);
        }
        return form;
    }

    std::string pipeline_;
    std::string table_;
    std::map<std::string, LettersOfKey, std::less<>> keys_;
    std::size_t count_ = 0;
    bool stale_ = false; // written since it was read
    std::atomic<bool> wished_{false};
    Clock::time_point looked_{};
};

} // namespace aftertouch::detail
