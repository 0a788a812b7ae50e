// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/transaction.hpp>
#include <aftertouch/value.hpp>

/// \file
/// The transaction that a handler writes in: the batch's, or that of a lane's part of one.

namespace aftertouch::postgres {

/// READ COMMITTED; begun with the first statement, and known again by a setting of its own.
class BatchTransaction {
public:
    using Transaction = aftertouch::Transaction<Connection>;

    BatchTransaction(Connection& connection, const std::atomic<bool>& stopping)
        : connection_{connection}, transaction_{connection, stopping} {}

    void begin() {
        name_ = std::to_string(++begun_);
        connection_.begin_with_next("BEGIN ISOLATION LEVEL READ COMMITTED");
        connection_.require_transaction(true);
        connection_.allow_pings();
    }

    /// For the library's own statements, inside of it or outside.
    [[nodiscard]] Transaction& own() noexcept { return transaction_; }

    [[nodiscard]] Transaction& for_handler() {
        connection_.run_with_next(
            "SELECT set_config('aftertouch.batch', $1, true)", {Value{Cell::text(name_)}});
        if (connection_.is_given_away()) { connection_.send_beginning(); }
        asked_ = connection_.asked();
        return transaction_;
    }
    /// The library has run a statement on the handler's behalf.
    void passes_own_statement() noexcept { ++asked_; }

    /// Whether it is still the one that was begun. A setting says which; it goes with the first
    /// statement of those who could end it.
    [[nodiscard]] bool intact() {
        const auto turn = connection_.take_turn();
        if (!connection_.in_transaction()) { return false; }
        if (connection_.asked() == asked_) {
            if (connection_.handle().in_transaction()) { connection_.forget_beginning(); }
            return true;
        }
        const Answer answer = connection_.ask("SELECT current_setting('aftertouch.batch', true)");
        return answer.text(0, 0) == name_;
    }

    void ended() noexcept { connection_.require_transaction(false); }
    void roll_back() noexcept {
        ended();
        connection_.roll_back();
    }

private:
    Connection& connection_;
    Transaction transaction_;
    std::uint64_t begun_ = 0;
    std::string name_;
    std::uint64_t asked_ = 0; // statements before its handler's
};

} // namespace aftertouch::postgres
