// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include <libpq-fe.h>

#include "server.hpp"

/// \file
/// The sessions of a schedule: connections that run beside each other on one thread, in the order
/// that a test writes down. A statement that has to wait for another session's lock is sent, and
/// its answer is fetched when that session has gone on.

namespace test {

/// What a statement answered.
struct Answered {
    std::string state;                          ///< SQLSTATE; empty where it succeeded
    std::vector<std::vector<std::string>> rows; ///< of its last result; null is an empty text
    bool operator==(const Answered&) const = default;

    /// The first value of the first row.
    [[nodiscard]] std::string value() const {
        return rows.empty() || rows.front().empty() ? std::string{} : rows.front().front();
    }
};

/// One session, without anything of the library.
class Session {
public:
    /// As user postgres, or with parameters that stand behind the others, and win.
    Session(const Shop& shop, std::string name, at::postgres::Parameters more = {})
        : name_{std::move(name)} {
        at::postgres::Parameters parameters = shop.place.parameters();
        parameters.insert(parameters.end(), more.begin(), more.end());
        connection_ = connect(parameters);
        PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] int process() const noexcept { return PQbackendPID(connection_.get()); }
    [[nodiscard]] PGconn* native() const noexcept { return connection_.get(); }

    /// Sends statements, which may have to wait.
    void send(const std::string& sql) {
        statement_ = sql;
        if (PQsendQuery(connection_.get(), sql.c_str()) != 1) { fail("can't be sent"); }
    }
    /// Whether the answer is there, after a wait of `milliseconds` at most.
    [[nodiscard]] bool has_answered(int milliseconds = 0) {
        if (PQconsumeInput(connection_.get()) != 1) { fail("lost its connection"); }
        if (PQisBusy(connection_.get()) == 0) { return true; }
        pollfd look{PQsocket(connection_.get()), POLLIN, 0};
        if (::poll(&look, 1, milliseconds) <= 0) { return false; }
        if (PQconsumeInput(connection_.get()) != 1) { fail("lost its connection"); }
        return PQisBusy(connection_.get()) == 0;
    }
    /// The answer of what was sent, as soon as it comes.
    Answered answer() {
        Answered answered;
        while (PGresult* raw = PQgetResult(connection_.get())) {
            const std::unique_ptr<PGresult, decltype(&PQclear)> result{raw, &PQclear};
            if (const char* state = PQresultErrorField(raw, PG_DIAG_SQLSTATE)) {
                answered.state = state;
                message_ = PQresultErrorMessage(raw);
            }
            if (PQresultStatus(raw) == PGRES_TUPLES_OK) { answered.rows = rows_of(raw); }
        }
        return answered;
    }

    /// Runs statements that must succeed, and needn't wait.
    Answered run(const std::string& sql) {
        Answered answered = try_to(sql);
        if (!answered.state.empty()) { fail("SQLSTATE " + answered.state + ' ' + message_); }
        return answered;
    }
    /// Runs statements and tells how they ended.
    Answered try_to(const std::string& sql) {
        send(sql);
        return answer();
    }
    /// What the server said of the last error.
    [[nodiscard]] const std::string& message() const noexcept { return message_; }

    /// Runs COPY ... FROM STDIN.
    void copy_in(const std::string& sql, std::string_view data) {
        statement_ = sql;
        PQclear(PQexec(connection_.get(), sql.c_str()));
        if (PQputCopyData(connection_.get(), data.data(), static_cast<int>(data.size())) != 1 ||
            PQputCopyEnd(connection_.get(), nullptr) != 1) {
            fail("can't copy");
        }
        const Answered answered = answer();
        if (!answered.state.empty()) { fail("SQLSTATE " + answered.state + ' ' + message_); }
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error{"session " + name_ + ", " + statement_ + ": " + what};
    }

    [[nodiscard]] static std::vector<std::vector<std::string>> rows_of(const PGresult* result) {
        std::vector<std::vector<std::string>> rows(static_cast<std::size_t>(PQntuples(result)));
        for (std::size_t row = 0; row < rows.size(); ++row) {
            for (int column = 0; column < PQnfields(result); ++column) {
                rows[row].emplace_back(PQgetvalue(result, static_cast<int>(row), column));
            }
        }
        return rows;
    }

    std::string name_;
    Own connection_;
    std::string statement_;
    std::string message_;
};

/// Sees which sessions of the database wait for a lock.
class Observer {
public:
    explicit Observer(const Shop& shop) : session_{shop, "observer"} {}

    /// Whether what was sent waits for somebody's lock: true once it does, false once it is
    /// answered.
    [[nodiscard]] bool waits(Session& session) {
        for (;;) {
            if (session.has_answered(1)) { return false; }
            if (is_blocked("pid = " + std::to_string(session.process()))) {
                return !session.has_answered();
            }
        }
    }
    /// Returns as soon as some session of the database waits for a lock.
    void await_waiter() {
        while (!is_blocked("datname = current_database()")) { ::poll(nullptr, 0, 2); }
    }

private:
    [[nodiscard]] bool is_blocked(const std::string& which) {
        return session_
                   .run("SELECT bool_or(cardinality(pg_blocking_pids(pid)) > 0) FROM "
                        "pg_stat_activity WHERE " +
                        which)
                   .value() == "t";
    }

    Session session_;
};

} // namespace test
