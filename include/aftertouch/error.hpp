// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The one exception type of the library and the codes that tell a caller what to do about it.

namespace aftertouch {

/// What went wrong, in the terms of this library; the engine's own number is Error::native_code().
enum class Errc {
    invalid_argument,      ///< the call itself can't be right
    schema_mismatch,       ///< the database isn't what the program expects
    capture_conflict,      ///< a capture of that name exists with another definition
    checkpoint_unreadable, ///< a stored checkpoint doesn't parse
    value_mismatch, ///< a column's value doesn't fit the field's type, or the other way round
    database,       ///< any other answer of the engine
    busy,           ///< locked by someone else
    read_only,
    not_a_database,
    connection_lost,
    constraint, ///< a unique, foreign key, check or not-null constraint refused the statement
    interrupted,
    wrong_thread,     ///< called from inside a handler, where it would wait for itself
    transaction_lost, ///< the transaction ended under the caller
    fenced,           ///< another process has taken over
    out_of_memory,
    disk_full,
    handler_failed,
};

/// The enumerator's name, as it appears in logs.
[[nodiscard]] constexpr std::string_view name(Errc code) noexcept {
    switch (code) {
        case Errc::invalid_argument: return "invalid_argument";
        case Errc::schema_mismatch: return "schema_mismatch";
        case Errc::capture_conflict: return "capture_conflict";
        case Errc::checkpoint_unreadable: return "checkpoint_unreadable";
        case Errc::value_mismatch: return "value_mismatch";
        case Errc::database: return "database";
        case Errc::busy: return "busy";
        case Errc::read_only: return "read_only";
        case Errc::not_a_database: return "not_a_database";
        case Errc::connection_lost: return "connection_lost";
        case Errc::constraint: return "constraint";
        case Errc::interrupted: return "interrupted";
        case Errc::wrong_thread: return "wrong_thread";
        case Errc::transaction_lost: return "transaction_lost";
        case Errc::fenced: return "fenced";
        case Errc::out_of_memory: return "out_of_memory";
        case Errc::disk_full: return "disk_full";
        case Errc::handler_failed: return "handler_failed";
    }
    return "unknown";
}

/// Everything this library throws. what() is one sentence: what is wrong, where, and what to do;
/// it never holds a row's value. Copies share their details, so that copying can't throw.
class Error : public std::runtime_error {
public:
    struct Details {
        int native_code = 0;     ///< the engine's number, 0 if no engine was asked
        std::string statement{}; ///< SQL text with its $1 holes, never values
        std::string where{};     ///< table, column, pipeline or file
        bool in_doubt = false;   ///< a commit was sent and its answer never came
    };

    Error(Errc code, const std::string& sentence) : std::runtime_error{sentence}, code_{code} {}

    Error(Errc code, const std::string& sentence, Details details)
        : std::runtime_error{sentence},
          code_{code},
          details_{std::make_shared<const Details>(std::move(details))} {}

    [[nodiscard]] Errc code() const noexcept { return code_; }

    /// Whether the same call may succeed later without anybody changing anything.
    [[nodiscard]] bool retryable() const noexcept {
        return code_ == Errc::busy || code_ == Errc::connection_lost || code_ == Errc::interrupted;
    }

    /// Whether the work may be committed all the same: ask the database, don't assume.
    [[nodiscard]] bool in_doubt() const noexcept { return details_ && details_->in_doubt; }

    [[nodiscard]] int native_code() const noexcept { return details_ ? details_->native_code : 0; }

    [[nodiscard]] const std::string& statement() const noexcept {
        return details_ ? details_->statement : nothing();
    }

    [[nodiscard]] const std::string& where() const noexcept {
        return details_ ? details_->where : nothing();
    }

private:
    static const std::string& nothing() noexcept {
        static const std::string empty;
        return empty;
    }

    Errc code_;
    std::shared_ptr<const Details> details_;
};

} // namespace aftertouch
