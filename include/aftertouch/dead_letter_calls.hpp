// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/dead_letter.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/row.hpp>
#include <aftertouch/value.hpp>

/// \file
/// What the application does with a pipeline's dead letters, through its own connection.

namespace aftertouch {

namespace detail {

/// The dead letters of one pipeline over `T`. *Threads*: any.
template <Entity T, class B>
class LetterDesk {
public:
    LetterDesk(B& database, std::string table, std::string pipeline)
        : database_{database}, table_{std::move(table)}, pipeline_{std::move(pipeline)} {}

    [[nodiscard]] std::int64_t count() const {
        return database_
            .query(type<std::int64_t>, "SELECT count(*) FROM " + table_ + " WHERE pipeline = $1",
                pipeline_)
            .front();
    }
    [[nodiscard]] std::vector<DeadLetter> all() const {
        return database_.query(type<DeadLetter>,
            "SELECT id, record, key, operation, error, attempts, parked_at, released FROM " +
                table_ + " WHERE pipeline = $1 ORDER BY id",
            pipeline_);
    }

    std::int64_t release_all() { return database_.execute(release() + mine, pipeline_); }
    std::int64_t release_text(const std::string& key) {
        return database_.execute(release() + mine + " AND key = $2", pipeline_, key);
    }
    std::int64_t release_record(const Key<T>& key) {
        std::int64_t released = 0;
        for (const std::string& text : texts_of(key)) { released += release_text(text); }
        return released;
    }

    std::int64_t discard_all() { return database_.execute(discard() + mine, pipeline_); }
    std::int64_t discard_record(const Key<T>& key) {
        std::int64_t discarded = 0;
        for (const std::string& text : texts_of(key)) {
            discarded += database_.execute(discard() + mine + " AND key = $2", pipeline_, text);
        }
        return discarded;
    }
    std::int64_t discard_one(std::int64_t id) {
        return database_.execute(discard() + mine + " AND id = $2", pipeline_, id);
    }

private:
    static constexpr const char* mine = " WHERE pipeline = $1";

    [[nodiscard]] std::string release() const {
        return "UPDATE " + table_ + " SET released = TRUE";
    }
    [[nodiscard]] std::string discard() const { return "DELETE FROM " + table_; }

    // A key may have been written in more than one way.
    [[nodiscard]] std::vector<std::string> texts_of(const Key<T>& wanted) const {
        std::vector<std::string> texts = database_.query(
            type<std::string>, "SELECT DISTINCT key FROM " + table_ + mine, pipeline_);
        std::erase_if(texts, [&](const std::string& text) { return !is(text, wanted); });
        return texts;
    }
    [[nodiscard]] static bool is(const std::string& text, const Key<T>& wanted) {
        const auto values = values_from(text);
        if (!values || values->size() != key_indices<T>.size()) { return false; }
        const std::vector<Cell> cells(values->begin(), values->end());
        Key<T> key{};
        try {
            decode_key<T>(cells, key);
        } catch (const Error&) { return false; }
        return key == wanted;
    }

    B& database_;
    std::string table_;
    std::string pipeline_;
};

/// What a source is over. Of what is no source, anything: the pipeline says so in words.
template <class S>
struct RecordOf {
    struct Type {
        std::int64_t id;
    };
};
template <class S>
    requires requires { typename S::Record; }
struct RecordOf<S> {
    using Type = typename S::Record;
};

} // namespace detail

/// What a pipeline offers for its dead letters: changes that were set aside since its handler
/// failed on them (`Retry::then`, `Outcome::park`).
///
/// They can be handed over again, all those of a record together, or given up; each call answers
/// how many there were. sql/README.md has the same in SQL.
///
/// \code
/// for (const aftertouch::DeadLetter& letter : totals.dead_letters()) { print(letter.error); }
/// totals.release(); // the cause is mended
/// \endcode
///
/// *Throws* `Error` for what the database says, and (`wrong_thread`) inside a handler. *Threads*:
/// any.
template <class Self, Entity T, class B>
class DeadLetterCalls {
public:
    /// All of them, oldest first.
    [[nodiscard]] std::vector<DeadLetter> dead_letters() const { return desk().all(); }

    /// Has them handed over again, before what is new in the log: all, those of a record, or those
    /// of the record of a letter.
    std::int64_t release() { return changed(desk().release_all()); }
    std::int64_t release(const Key<T>& record) { return changed(desk().release_record(record)); }
    std::int64_t release(const DeadLetter& letter) {
        return changed(desk().release_text(letter.key));
    }

    /// Gives them up: all, those of a record, or one alone, so that what waits behind it can be
    /// released.
    std::int64_t discard() { return changed(desk().discard_all()); }
    std::int64_t discard(const Key<T>& record) { return changed(desk().discard_record(record)); }
    std::int64_t discard(const DeadLetter& letter) {
        return changed(desk().discard_one(letter.id));
    }

private:
    friend Self;
    DeadLetterCalls() = default;

    [[nodiscard]] detail::LetterDesk<T, B> desk() const {
        const Self& self = static_cast<const Self&>(*this);
        return {self.database_, B::dead_letter_table(self.runner_.capture()),
            self.runner_.options().name};
    }
    std::int64_t changed(std::int64_t letters) {
        static_cast<Self&>(*this).runner_.look_at_letters();
        return letters;
    }
};

} // namespace aftertouch
