// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <aftertouch/cycle.hpp>
#include <aftertouch/error.hpp>

/// \file
/// What went wrong in a step, and what it means for the cycle.

namespace aftertouch::detail {

/// Where a step stood when it threw.
struct StepFacts {
    Step step = Step::stop;
    bool in_doubt = false;    ///< a commit was sent
    bool aborted = false;     ///< the handler's time is over, since the pipeline is to stop, or it
                              ///< can't help what it throws
    std::int64_t version = 0; ///< of the checkpoint before
};

class Trouble {
public:
    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
    [[nodiscard]] const std::string& message() const noexcept { return message_; }

    /// The error, for somebody who starts again or doesn't: nothing is held against a new try.
    [[nodiscard]] std::exception_ptr told() noexcept {
        doubtful_ = nullptr;
        return error_;
    }

    /// Keeps the exception that is being handled, and says what it means.
    [[nodiscard]] Happened caught(const StepFacts& facts) noexcept {
        error_ = std::current_exception();
        doubtful_ = nullptr;
        try {
            throw;
        } catch (const Error& error) {
            say(error.what());
            // A handler may throw anything: what it calls its own error says nothing of this batch.
            const bool ours = facts.step != Step::handle;
            if (ours && error.code() == Errc::fenced) { return Happened::outrun; }
            return judge(facts, error.retryable(), ours && error.in_doubt());
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
        if (error && doubtful_version_ == version) { std::rethrow_exception(error); }
    }

private:
    // There may be no memory for the sentence; a short one needs none.
    void say(const char* sentence) noexcept {
        try {
            message_ = sentence;
        } catch (...) { message_.assign("out of memory", 13); }
    }

    [[nodiscard]] Happened judge(const StepFacts& facts, bool retryable, bool in_doubt) noexcept {
        if (facts.in_doubt || in_doubt) {
            doubtful_ = retryable ? nullptr : error_;
            doubtful_version_ = facts.version;
            return Happened::in_doubt;
        }
        // A handler's errors are its own, unless it was told to stop, or can't help them.
        if (facts.step == Step::handle) {
            return facts.aborted ? Happened::trouble : Happened::error;
        }
        return retryable ? Happened::trouble : Happened::error;
    }

    std::exception_ptr error_;
    std::string message_;
    std::exception_ptr doubtful_; // of a commit that failed for good, if it didn't happen
    std::int64_t doubtful_version_ = 0;
};

} // namespace aftertouch::detail
