// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <aftertouch/error.hpp>

/// \file
/// Knows whether this thread is inside a handler, so that a call that would wait for that handler
/// refuses instead.

namespace aftertouch::detail {

/// Lives while a handler of a pipeline over `database` runs on this thread.
class HandlerScope {
public:
    explicit HandlerScope(const void* database) noexcept
        : database_{database}, outer_{innermost()} {
        innermost() = this;
    }
    HandlerScope(const HandlerScope&) = delete;
    HandlerScope& operator=(const HandlerScope&) = delete;
    ~HandlerScope() { innermost() = outer_; }

    [[nodiscard]] static bool inside(const void* database) noexcept {
        for (const HandlerScope* scope = innermost(); scope != nullptr; scope = scope->outer_) {
            if (scope->database_ == database) { return true; }
        }
        return false;
    }

    /// *Throws* `Error` (`wrong_thread`) inside a handler over `database`.
    static void refuse(const void* database, std::string_view call) {
        if (!inside(database)) { return; }
        throw Error{Errc::wrong_thread,
            std::string{call} +
                " was called from inside a handler, an observer or a transaction of the same "
                "database, and would wait for it: use the transaction that is at hand"};
    }

private:
    static HandlerScope*& innermost() noexcept {
        thread_local HandlerScope* scope = nullptr;
        return scope;
    }

    const void* database_;
    HandlerScope* outer_;
};

} // namespace aftertouch::detail
