// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/fair_mutex.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/lease.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/lock_wait.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/session_connection.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/value.hpp>

/// \file
/// The lease of a pipeline: its row, and a connection of its own for it.

namespace aftertouch::sqlite {

namespace dialect {

// `until` is a day as `julianday` tells them.
namespace detail {
// `hole` milliseconds from now on.
[[nodiscard]] inline std::string later(std::string_view hole) {
    return std::string{now}.append(" + ").append(hole).append(" / 86400000.0");
}
} // namespace detail

/// $1 pipeline, $2 holder: who else holds the lease, and until when.
[[nodiscard]] inline std::string foreign_lease(const std::string& schema) {
    return "SELECT holder, strftime('%Y-%m-%d %H:%M:%f', until) FROM " + own(schema, "lease") +
           " WHERE pipeline = $1 AND holder <> $2 AND until > " + std::string{now};
}

/// $1 pipeline, $2 holder, $3 milliseconds.
[[nodiscard]] inline std::string take_lease(const std::string& schema) {
    return "INSERT OR REPLACE INTO " + own(schema, "lease") +
           " (pipeline, holder, until) VALUES ($1, $2, " + detail::later("$3") + ")";
}
/// The same; writes no row where another one holds it.
[[nodiscard]] inline std::string renew_lease(const std::string& schema) {
    return "UPDATE " + own(schema, "lease") + " SET until = " + detail::later("$3") +
           " WHERE pipeline = $1 AND holder = $2";
}
/// $1 pipeline, $2 holder.
[[nodiscard]] inline std::string give_lease_back(const std::string& schema) {
    return "DELETE FROM " + own(schema, "lease") + " WHERE pipeline = $1 AND holder = $2";
}

/// Fences whoever has read the checkpoint of $1; where there is none yet, text $2 becomes it.
[[nodiscard]] inline std::string raise_version(const std::string& schema) {
    return "INSERT INTO " + own(schema, "checkpoint") +
           " (pipeline, checkpoint, version, attempts, at) VALUES ($1, $2, 1, 0, " +
           std::string{now} + ") ON CONFLICT (pipeline) DO UPDATE SET version = version + 1";
}

} // namespace dialect

/// The row, through any connection. *Requires* that the connection outlives it.
class LeaseRow {
public:
    LeaseRow(Connection& connection, LeaseRequest request)
        : connection_{connection},
          request_{std::move(request)},
          schema_{dialect::schema_of(request_.capture)},
          renew_{dialect::renew_lease(schema_)} {}

    /// Whether it was still held, and is for the whole duration again.
    bool renew() { return connection_.run(renew_, values()) == 1; }

    /// Renews it in the transaction of a batch, which has the file's write lock: the lease counts
    /// in front of what it is for. *Throws* `Error` (`fenced`) where it isn't held.
    void require() {
        if (renew()) { return; }
        throw Error{Errc::fenced, "pipeline " + request_.pipeline + " has lost its lease"};
    }

    /// Who else holds it; `held` where nobody does.
    LeaseAnswer look() {
        LeaseAnswer answer{.held = true};
        const std::array who{values()[0], values()[1]};
        connection_.each(dialect::foreign_lease(schema_), who, [&](const Statement& row) {
            answer = {false, std::string{row[0].bytes()}, std::string{row[1].bytes()}};
            return false;
        });
        return answer;
    }

    /// In a transaction. Takes it unless another one holds it.
    LeaseAnswer take() {
        LeaseAnswer answer = look();
        if (!answer.held) { return answer; }
        connection_.run(dialect::take_lease(schema_), values());
        connection_.run(dialect::raise_version(schema_),
            std::array{values()[0], Cell::text(unbegun_checkpoint)});
        return answer;
    }

    void give_back() {
        connection_.run(dialect::give_lease_back(schema_), std::array{values()[0], values()[1]});
    }

private:
    [[nodiscard]] std::array<Cell, 3> values() const noexcept {
        return {Cell::text(request_.pipeline), Cell::text(request_.holder),
            Cell::integer(request_.duration.count())};
    }

    Connection& connection_;
    LeaseRequest request_;
    std::string schema_;
    std::string renew_;
};

/// The lease as its holder sees it. While a batch runs the file's write lock keeps others out,
/// whatever the row says.
class Lease {
public:
    Lease(SessionConnection connection, LeaseRequest request, const std::atomic<bool>& stopping)
        : connection_{std::move(connection)}, row_{*connection_.connection, std::move(request)} {
        if (connection_.shared) { return; }
        lock_wait_.emplace(
            connection_.connection->handle().get(), connection_.busy_timeout, stopping);
    }

    LeaseAnswer take() {
        const auto guard = lock();
        // One that stands by looks again and again: a reader holds nobody up.
        if (LeaseAnswer others = row_.look(); !others.held) { return others; }
        Connection& connection = *connection_.connection;
        connection.begin("BEGIN IMMEDIATE");
        try {
            LeaseAnswer answer = row_.take();
            connection.commit();
            return answer;
        } catch (...) {
            connection.roll_back();
            throw;
        }
    }

    bool renew() {
        const auto guard = lock();
        return row_.renew();
    }

    void give_back() {
        if (lock_wait_) { // the program stops, but this is waited for
            lock_wait_.reset();
            sqlite3_busy_timeout(connection_.connection->handle().get(), 1000);
        }
        const auto guard = lock();
        row_.give_back();
    }

private:
    // On a shared connection, between the batches and outside of the application's transactions.
    [[nodiscard]] std::unique_lock<aftertouch::detail::FairMutex> lock() const {
        if (!connection_.shared) { return {}; }
        std::unique_lock guard{*connection_.mutex};
        if (!connection_.connection->handle().in_transaction()) { return guard; }
        throw Error{Errc::busy, connection_.connection->handle().name() +
                                    " is inside a transaction of the application on the same "
                                    "connection: the lease waits until that has ended"};
    }

    SessionConnection connection_;
    LeaseRow row_;
    std::optional<LockWait> lock_wait_; // of a connection of its own
};

} // namespace aftertouch::sqlite
