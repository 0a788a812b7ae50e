// SPDX-License-Identifier: MIT
#pragma once

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
#include <aftertouch/value.hpp>

/// \file
/// The dead letters of one pipeline, as its own thread works with them (F3).

namespace aftertouch::detail {

/// A key for people: its parts, with commas between.
[[nodiscard]] inline std::string readable(const std::vector<Value>& key) {
    std::string text;
    for (const Value& part : key) {
        const Cell cell = part.cell();
        const bool is_text = cell.kind() == Kind::text;
        text.append(text.empty() ? "" : ", ");
        text += is_text ? std::string{cell.bytes()} : to_text(part).substr(1);
    }
    return text;
}

/// An error's words as any database takes them: 1,000 bytes at most, valid UTF-8, no NUL.
[[nodiscard]] inline std::string storable(std::string_view error) {
    constexpr std::size_t most = 1000;
    std::string text;
    for (std::size_t i = 0; i < error.size() && text.size() < most;) {
        const std::size_t length = utf8_length(error.substr(i));
        text.append(length == 0 || error[i] == '\0' ? "?" : error.substr(i, length));
        i += length == 0 ? 1 : length;
    }
    return text;
}

/// The letters of one key.
struct LettersOfKey {
    std::vector<std::int64_t> ids; ///< in order
    bool released = false;         ///< and so is what comes behind them
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
            using Row = std::tuple<std::int64_t, std::string, bool>;
            for (const auto& [id, key, released] : tx.query(type<Row>,
                     "SELECT id, key, released FROM " + table_ + " WHERE pipeline = $1 ORDER BY id",
                     pipeline_)) {
                LettersOfKey& letters = keys_[form_of(session, key)];
                letters.ids.push_back(id);
                letters.released = released;
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

    /// Calls `take(id, change)` for released letters in order, until it answers false.
    template <class Take>
    void read_released(Session& session, std::size_t limit, Take take) {
        session.run_own([&](auto& tx) {
            using Row = std::tuple<std::int64_t, std::string, std::string>;
            for (const auto& [id, key, text] : tx.query(type<Row>,
                     "SELECT id, key, change FROM " + table_ +
                         " WHERE pipeline = $1 AND released ORDER BY id LIMIT $2",
                     pipeline_, static_cast<std::int64_t>(limit))) {
                const auto change = kept_change_from(key, text);
                if (!change) { refuse_text(id); }
                if (!take(id, *change)) { return; }
            }
        });
    }

    /// \name In the transaction of a batch, behind its handler
    /// @{

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
    /// Those of a key were tried once more, in vain: they are set aside again.
    void failed_again(
        Session& session, std::span<const std::int64_t> ids, const std::string& error) {
        stale_ = true;
        session.run_own([&](auto& tx) {
            for (const std::int64_t id : ids) {
                tx.execute("UPDATE " + table_ + " SET released = FALSE WHERE id = $1", id);
            }
            tx.execute("UPDATE " + table_ +
                           " SET attempts = attempts + 1, error = $1, parked_at = $2 WHERE id = $3",
                storable(error), wall_clock(), ids.front());
        });
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
        if (count_ == 0) { return; }
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

    [[noreturn]] void refuse_text(std::int64_t id) const {
        throw Error{Errc::value_mismatch,
            "dead letter " + std::to_string(id) + " of pipeline " + pipeline_ +
                " has a text that this version doesn't write: discard it"};
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
