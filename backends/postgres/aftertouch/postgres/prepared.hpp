// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/dml.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/postgres/connection.hpp>
#include <aftertouch/postgres/exchange.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/value.hpp>

/// \file
/// A connection and its transaction: what all SQL of the backend runs through.

namespace aftertouch::postgres {

/// A connection and the transaction on it.
///
/// *Threads*: one at a time, but for `ping`, and `cancel` of its handle.
class Connection {
public:
    Connection(Parameters parameters, const Options& options)
        : exchange_{std::move(parameters), options} {}
    Connection(PGconn* borrowed, const Options& options) : exchange_{borrowed, options} {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] const Handle& handle() const noexcept { return exchange_.handle(); }
    [[nodiscard]] Handle& handle() noexcept { return exchange_.handle(); }
    [[nodiscard]] const Options& options() const noexcept { return exchange_.options(); }
    [[nodiscard]] bool sessionless() const noexcept { return exchange_.sessionless(); }

    /// Connects again if the connection is gone. Nothing of the old one is left. *Throws* `Error`
    /// for a borrowed connection that is gone, or can't be used as it is.
    void revive() {
        if (handle().is_borrowed()) { return handle().require_ready(); }
        if (!handle().lost()) { return; }
        beginning_.clear();
        exchange_.reconnect();
    }

    /// Begins a transaction with `sql`.
    void begin(std::string_view sql) {
        if (!handle().idle() && !handle().lost()) {
            throw Error{Errc::invalid_argument,
                handle().name() + ": a transaction was begun by execute(\"BEGIN\"), or on the "
                                  "borrowed connection, and is open still: end it before "
                                  "transaction()"};
        }
        begin_with_next(sql);
        try {
            send_beginning();
        } catch (...) {
            roll_back();
            throw;
        }
    }
    /// The same in one flush with the statement of ours that comes next, or in front of a caller's.
    /// Until then there is nothing to roll back.
    void begin_with_next(std::string_view sql) {
        exchange_.forget_conflict();
        beginning_.push_back({sql});
        if (sessionless()) { beginning_.push_back({exchange_.local_settings()}); }
    }
    /// Runs a statement in front of the next one, in the same way.
    void run_with_next(std::string_view sql, std::vector<Value> values) {
        beginning_.push_back({sql, std::move(values)});
    }
    /// Leaves out what was to go in front of the next statement.
    void forget_beginning() noexcept { beginning_.clear(); }
    void send_beginning() {
        if (!beginning_.empty()) { static_cast<void>(ask_together({})); }
    }
    /// Commits what `require_transaction` protects.
    void commit() {
        run("COMMIT");
        transaction_required_ = false;
    }
    /// Ends a transaction if one is open, whatever its state.
    void roll_back() noexcept {
        const auto turn = take_turn();
        beginning_.clear();
        if (handle().lost() || handle().idle()) { return; }
        try {
            exchange_.simple("ROLLBACK");
        } catch (...) {
            // Whether it is over is what counts: the connection is gone, or says so next.
        }
    }
    /// What excuses an error, `thrown` if it is one of the library's, since the transaction that
    /// was begun last.
    [[nodiscard]] Excuse excuse(const Error* thrown) const noexcept {
        const auto turn = take_turn();
        return exchange_.excuse(thrown);
    }
    [[nodiscard]] bool in_transaction() const noexcept {
        const auto turn = take_turn();
        return handle().in_transaction() || (handle().idle() && !beginning_.empty());
    }
    /// While this is on, a statement outside of a transaction is refused: what is written behind a
    /// COMMIT of the caller's would stay although its batch fails (K1).
    void require_transaction(bool required) noexcept {
        const auto turn = take_turn();
        transaction_required_ = required;
        if (!required) { pings_ = false; }
    }

    /// Lets `ping` in until the transaction isn't required any more. Others use the handle in a
    /// turn.
    void allow_pings() noexcept { pings_ = true; }
    [[nodiscard]] std::unique_lock<std::recursive_mutex> take_turn() const {
        return std::unique_lock{turn_};
    }
    /// Tells the server that the client is alive, if the transaction waits for it. *Threads*: any.
    void ping() noexcept {
        const std::unique_lock turn{turn_, std::try_to_lock};
        if (turn && pings_ && handle().in_transaction()) { exchange_.say_something(); }
    }
    void limit_silence(std::chrono::milliseconds longest) { exchange_.limit_silence(longest); }

    /// Runs one statement.
    template <class Values>
    [[nodiscard]] Answer ask(std::string_view sql, const Values& values) {
        const auto turn = take_turn();
        require_order();
        send_beginning();
        ++asked_;
        return exchange_.one(sql, values);
    }
    [[nodiscard]] Answer ask(std::string_view sql) { return ask(sql, std::span<const Value>{}); }

    /// Runs statements of the library's own in one flush: where one fails, the server skips those
    /// behind it. *Throws* what the first that failed says.
    [[nodiscard]] std::vector<Answer> ask_together(const std::vector<Request>& requests) {
        const auto turn = take_turn();
        require_order();
        ++asked_;
        std::vector<Request> all = std::exchange(beginning_, {});
        const auto in_front = static_cast<std::ptrdiff_t>(all.size());
        all.insert(all.end(), requests.begin(), requests.end());
        std::vector<Answer> answers = exchange_.together(all);
        answers.erase(answers.begin(), answers.begin() + in_front);
        return answers;
    }
    /// One of them, in one flush with what is to go in front of it.
    [[nodiscard]] Answer ask_own(
        std::string_view sql, std::vector<Value> values, Format format = Format::text) {
        return std::move(ask_together({{sql, std::move(values), format}}).front());
    }

    /// Runs one statement and says how many rows it inserted, updated or deleted.
    template <class Values>
    std::int64_t run(std::string_view sql, const Values& values) {
        return noted(ask(sql, values));
    }
    std::int64_t run(std::string_view sql) { return run(sql, std::span<const Value>{}); }

    /// Runs a statement of the library's own once for each `width` values, in one flush; says how
    /// many rows all of them wrote. *Throws* what the first that failed says; none behind it is
    /// run.
    std::int64_t run_rows(std::string_view sql, std::span<const Value> values, std::size_t width) {
        const auto turn = take_turn();
        require_order();
        send_beginning(); // apart: a value may be refused before anything is sent
        std::vector<Request> requests;
        requests.reserve(values.size() / width);
        for (; !values.empty(); values = values.subspan(width)) {
            const std::span<const Value> row = values.first(width);
            requests.push_back({sql, {row.begin(), row.end()}});
        }
        std::int64_t written = 0;
        for (const Answer& answer : ask_together(requests)) { written += noted(answer); }
        return written;
    }

    /// Runs a statement that ends the transaction's work, and COMMIT behind it in the same flush:
    /// where the statement fails, the server skips the COMMIT (L1). Answers the statement's answer.
    template <class Values>
    [[nodiscard]] Answer ask_and_commit(std::string_view sql, const Values& values) {
        std::vector<Answer> both =
            ask_together({{sql, {values.begin(), values.end()}}, {"COMMIT", {}}});
        if (both.back().tag() != "COMMIT") {
            throw Error{Errc::transaction_lost,
                handle().name() + ": the transaction had failed, and was rolled back"};
        }
        return std::move(both.front());
    }

    /// Inserts a row. *Throws* `Error` (`constraint`) where its key is there already, and the
    /// transaction goes on all the same: PostgreSQL would end it.
    template <class Values>
    void insert(const Table& table, const std::string& sql, const Values& values) {
        if (run(sql + " ON CONFLICT DO NOTHING", values) != 0) { return; }
        std::vector<Value> key;
        for (const std::size_t part : table.key) { key.emplace_back(values[part]); }
        if (ask(dml::select_by_key(table), key).rows() != 0) {
            throw Error{Errc::constraint,
                handle().name() + ": a row with this key is there already, table " +
                    table.name.text(),
                {.statement = sql, .where = table.name.text()}};
        }
        run(sql, values); // another constraint, or a trigger, has the last word
    }

    /// Runs one statement and calls `row(row)` for each row until it answers false.
    template <class Values, class Row>
    void each(std::string_view sql, const Values& values, Row&& row) {
        const Answer answer = ask_alone(sql, values);
        noted(answer);
        Room room;
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            room.clear();
            if (!row(AnswerRow{answer, i, room})) { return; }
        }
    }

    /// Runs one statement; outside a transaction in one of its own where the session may not have
    /// the settings that values are read with.
    template <class Values>
    [[nodiscard]] Answer ask_alone(std::string_view sql, const Values& values) {
        const auto turn = take_turn();
        if (!sessionless() || !handle().idle() || transaction_required_) {
            return ask(sql, values);
        }
        begin("BEGIN");
        try {
            Answer answer = ask(sql, values);
            run("COMMIT");
            return answer;
        } catch (...) {
            roll_back();
            throw;
        }
    }

    /// Runs every statement of `sql`, none of which has parameters; says how many rows the last one
    /// wrote.
    std::int64_t run_all(std::string_view sql) {
        const auto turn = take_turn();
        require_order();
        send_beginning();
        ++asked_;
        return noted(exchange_.simple(sql));
    }

    /// libpq's own handle: what is done with it isn't known here.
    [[nodiscard]] PGconn* native() {
        const auto turn = take_turn();
        send_beginning();
        ++asked_;
        native_ = true, pings_ = false; // these until the next transaction
        return handle().get();
    }
    /// Whether `native` was called: what the handle is used for isn't known from then on.
    [[nodiscard]] bool is_given_away() const noexcept { return native_; }
    /// Rises with each statement, and always once `native` was called.
    [[nodiscard]] std::uint64_t asked() noexcept { return native_ ? ++asked_ : asked_; }

    /// Whether anything but queries ran since this was asked last.
    [[nodiscard]] bool wrote() noexcept { return std::exchange(wrote_, false); }

private:
    std::int64_t noted(const Answer& answer) {
        wrote_ = wrote_ || !answer.tag().starts_with("SELECT");
        return answer.affected();
    }

    void require_order() const {
        // In a transaction that has failed the server itself refuses all but a ROLLBACK.
        if (transaction_required_ && handle().idle() && beginning_.empty()) {
            throw Error{Errc::transaction_lost,
                handle().name() +
                    ": the transaction has ended, by an error before or a COMMIT or "
                    "ROLLBACK of the caller: pass its errors on, and let it be ended"};
        }
    }

    Exchange exchange_;
    std::vector<Request> beginning_; // goes in front of the next statement
    std::uint64_t asked_ = 0;
    bool native_ = false; // the handle was given away
    mutable std::recursive_mutex turn_;
    std::atomic<bool> pings_{false};
    bool wrote_ = false;
    bool transaction_required_ = false;
};

} // namespace aftertouch::postgres
