// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <aftertouch/backend.hpp>
#include <aftertouch/cycle.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/retry.hpp>

/// \file
/// What went wrong in a step, and what it means for the cycle.

namespace aftertouch::detail {

/// What kind of failure of a handler it was.
enum class Fault {
    real,
    transient,         ///< it passes by itself, as the handler says
    perhaps_transient, ///< a database says so, perhaps one that isn't the pipeline's
    to_park,           ///< the handler wants the record set aside
    to_stop            ///< the handler wants the pipeline stopped
};

/// Whom a throw is held against.
struct Blame {
    bool in_handler = false;
    Step step = Step::stop;
    Excuse excuse = Excuse::none;
};

/// Where a step stood when it threw.
struct StepFacts {
    Step step = Step::stop;       ///< `handle` for all that a handler threw
    bool in_doubt = false;        ///< a commit was sent
    bool aborted = false;         ///< the handler's time is over, since the pipeline is to stop
    std::int64_t version = 0;     ///< of the checkpoint before
    Excuse excuse = Excuse::none; ///< what the database says of it
};

class Trouble {
public:
    /// How often in succession a conflict excuses a batch: what is tried in vain more often than
    /// that doesn't come from others (F1).
    static constexpr int most_conflicts = 10;

    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
    [[nodiscard]] const std::string& message() const noexcept { return message_; }
    [[nodiscard]] Fault fault() const noexcept { return fault_; }

    /// The error, for somebody who starts again or doesn't: nothing is held against a new try.
    [[nodiscard]] std::exception_ptr told() noexcept {
        doubtful_ = nullptr;
        conflicts_ = 0;
        return error_;
    }
    /// A transaction was committed.
    void recovered() noexcept { conflicts_ = 0; }

    /// Keeps the exception that is being handled, and says what it means.
    [[nodiscard]] Happened caught(const StepFacts& facts) noexcept {
        error_ = std::current_exception();
        doubtful_ = nullptr;
        fault_ = Fault::real;
        try {
            throw;
        } catch (const Error& error) {
            say(error.what());
            if (error.retryable()) { fault_ = Fault::perhaps_transient; }
            // A handler may throw anything: what it calls its own error says nothing of this batch.
            const bool ours = facts.step != Step::handle;
            if (ours && error.code() == Errc::fenced) { return Happened::outrun; }
            return judge(facts, error.retryable(), ours && error.in_doubt());
        } catch (const Answered& answer) { hear(answer.outcome); } catch (const Transient& error) {
            say(error.what());
            fault_ = Fault::transient;
        } catch (const std::bad_alloc&) {
            say("memory ran out: give the program more, or its pipelines smaller batches "
                "(Options::batch_bytes), and start again");
        } catch (const std::exception& error) { say(error.what()); } catch (...) {
            say("the handler threw something that is no std::exception");
        }
        return judge(facts, false, false);
    }

    /// *Throws* the error of a commit that doesn't pass by itself, where the checkpoint's version
    /// shows that the commit hasn't happened: it would fail again for ever (K6).
    void refuse_lost_commit(std::int64_t version) {
        const std::exception_ptr error = std::exchange(doubtful_, nullptr);
        if (!error || doubtful_version_ != version) { return; }
        is_final_ = true;
        std::rethrow_exception(error);
    }

private:
    // There may be no memory for the sentence; a short one needs none.
    void say(const char* sentence) noexcept {
        try {
            message_ = sentence;
        } catch (...) { message_.assign("out of memory", 13); }
    }

    // Callers of the pipeline get an exception of a kind that they know.
    void hear(Outcome outcome) noexcept {
        fault_ = outcome == Outcome::retry  ? Fault::transient
                 : outcome == Outcome::park ? Fault::to_park
                                            : Fault::to_stop;
        say(outcome == Outcome::retry  ? "the handler answered Outcome::retry"
            : outcome == Outcome::park ? "the handler answered Outcome::park"
                                       : "the handler answered Outcome::stop");
        try {
            error_ = std::make_exception_ptr(Error{Errc::handler_failed, message_});
        } catch (...) { error_ = std::current_exception(); }
    }

    [[nodiscard]] Happened judge(const StepFacts& facts, bool retryable, bool in_doubt) noexcept {
        const bool is_final = std::exchange(is_final_, false);
        if (facts.in_doubt || in_doubt) {
            doubtful_ = retryable && may_come_again(facts.excuse) ? nullptr : error_;
            doubtful_version_ = facts.version;
            return Happened::in_doubt;
        }
        // A handler's errors are its own, unless it was told to stop, or can't help them.
        bool passes = retryable && !is_final;
        if (facts.step == Step::handle) {
            passes =
                facts.aborted || (facts.excuse != Excuse::none && may_come_again(facts.excuse));
        }
        return passes ? Happened::trouble : Happened::error;
    }

    [[nodiscard]] bool may_come_again(Excuse excuse) noexcept {
        if (excuse != Excuse::conflict || ++conflicts_ <= most_conflicts) { return true; }
        conflicts_ = 0;
        return false;
    }

    std::exception_ptr error_;
    std::string message_;
    Fault fault_ = Fault::real;
    std::exception_ptr doubtful_; // of a commit that failed for good, if it didn't happen
    std::int64_t doubtful_version_ = 0;
    bool is_final_ = false; // it was shown to be lost, and is thrown again
    int conflicts_ = 0;     // since the last commit
};

} // namespace aftertouch::detail
