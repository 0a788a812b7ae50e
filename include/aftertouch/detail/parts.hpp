// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/retry.hpp>

/// \file
/// Finds the records of a batch that its handler fails on, and has the others handled (F2).

namespace aftertouch::detail {

/// A record that failed, tried alone.
struct FailedPart {
    std::size_t key = 0;
    std::exception_ptr error;
};

/// Whether an error says nothing against the record in hand: then the whole batch comes again.
[[nodiscard]] inline bool is_of_the_record(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const Transient&) { return false; } catch (const Answered& answer) {
        return answer.outcome == Outcome::park;
    } catch (const Error& told) {
        return !told.retryable() && told.code() != Errc::out_of_memory &&
               told.code() != Errc::disk_full;
    } catch (const std::bad_alloc&) { return false; } catch (...) {
        return true;
    }
}

/// Whether it is the handler's answer that the record be set aside.
[[nodiscard]] inline bool is_park_answer(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const Answered& answer) { return answer.outcome == Outcome::park; } catch (...) {
        return false;
    }
}

/// What an error says.
[[nodiscard]] inline std::string sentence_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Answered&) {
        return "the handler answered Outcome::park";
    } catch (const std::exception& told) { return told.what(); } catch (...) {
        return "the handler threw something that is no std::exception";
    }
}

/// Hands keys over behind savepoints, all at once, then by halves where that fails, down to single
/// ones. `try_part(keys)` handles some; what a failed one wrote is undone. Answers the keys
/// that failed alone, in order.
///
/// *Throws* the handler's error where it says nothing against a record, and where the transaction
/// didn't survive it.
template <class Session, class TryPart>
class Parts {
public:
    Parts(Session& session, TryPart try_part) : session_{session}, try_part_{std::move(try_part)} {}

    [[nodiscard]] std::vector<FailedPart> hand_over(std::span<const std::size_t> keys) {
        failed_.clear();
        if (!keys.empty()) { split(keys); }
        return std::move(failed_);
    }

private:
    void split(std::span<const std::size_t> keys) {
        const std::exception_ptr error = attempt(keys);
        if (!error) { return; }
        if (keys.size() == 1) {
            failed_.push_back({keys.front(), error});
            return;
        }
        const std::size_t half = keys.size() / 2;
        split(keys.first(half));
        split(keys.subspan(half));
    }

    [[nodiscard]] std::exception_ptr attempt(std::span<const std::size_t> keys) {
        run("SAVEPOINT aftertouch_part");
        std::exception_ptr error;
        try {
            try_part_(keys);
            run("RELEASE SAVEPOINT aftertouch_part");
            return nullptr;
        } catch (...) { error = std::current_exception(); }
        if (!is_of_the_record(error) || is_excused(error) || !undo()) {
            std::rethrow_exception(error);
        }
        return error;
    }

    // As by a deadlock, whatever the handler made of it.
    [[nodiscard]] bool is_excused(const std::exception_ptr& error) const noexcept {
        try {
            std::rethrow_exception(error);
        } catch (const Error& told) { return session_.excuse(&told) != Excuse::none; } catch (...) {
            return session_.excuse(nullptr) != Excuse::none;
        }
    }

    [[nodiscard]] bool undo() {
        try {
            run("ROLLBACK TO SAVEPOINT aftertouch_part");
            run("RELEASE SAVEPOINT aftertouch_part");
            return true;
        } catch (const Error&) { return false; }
    }

    void run(std::string_view sql) {
        session_.run_own([&](auto& tx) { tx.execute(sql); });
    }

    Session& session_;
    TryPart try_part_;
    std::vector<FailedPart> failed_;
};

} // namespace aftertouch::detail
