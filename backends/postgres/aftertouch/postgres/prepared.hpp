// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/dml.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/postgres/connection.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/statement_names.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/value.hpp>

/// \file
/// A connection that keeps its prepared statements: what all SQL of the backend runs through.

namespace aftertouch::postgres {

/// A handle with its prepared statements: the newest 64 texts are kept.
///
/// Where each transaction may find another session (behind a pooler), or the session is the
/// application's (borrowed), nothing is kept in it: no prepared statement, no setting.
///
/// *Threads*: one at a time, but for `cancel` of its handle.
class Connection {
public:
    Connection(Parameters parameters, const Options& options)
        : options_{options}, handle_{std::move(parameters)} {
        set_up();
    }
    Connection(PGconn* borrowed, const Options& options)
        : options_{options}, handle_{borrowed}, sessionless_{true} {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] const Handle& handle() const noexcept { return handle_; }
    [[nodiscard]] Handle& handle() noexcept { return handle_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }

    [[nodiscard]] bool sessionless() const noexcept { return sessionless_; }

    /// Connects again if the connection is gone. Nothing of the old one is left. *Throws* `Error`
    /// for a borrowed connection that is gone, or can't be used as it is.
    void revive() {
        if (handle_.is_borrowed()) { return handle_.require_ready(); }
        if (!handle_.lost()) { return; }
        names_.clear();
        handle_.connect();
        set_up();
    }

    /// Begins a transaction, and runs `more` in it, in one round trip.
    void begin(std::string_view mode, const std::string& more = {}) {
        std::string sql = "BEGIN" + std::string{mode};
        if (sessionless_) { sql += "; " + settings_sql("SET LOCAL ", options_.lock_timeout); }
        simple(more.empty() ? sql : sql + "; " + more);
    }

    /// Ends a transaction if one is open, whatever its state.
    void roll_back() noexcept {
        if (handle_.lost() || handle_.idle()) { return; }
        try {
            simple("ROLLBACK");
        } catch (...) {
            // Whether it is over is what counts: the connection is gone, or says so next.
        }
    }
    /// While this is on, a statement outside of a transaction is refused: what is written behind a
    /// COMMIT of the caller's would stay although its batch fails (K1).
    void require_transaction(bool required) noexcept { transaction_required_ = required; }

    /// Runs one statement.
    template <class Values>
    [[nodiscard]] Answer ask(std::string_view sql, const Values& values) {
        require_order();
        Arguments& arguments = arguments_;
        arguments.assign(values);
        if (sessionless_) { return plain(sql, arguments); }
        const bool known = names_.find(sql) != nullptr;
        const bool alone = handle_.idle();
        try {
            return run_prepared(sql, arguments);
        } catch (const Error& error) {
            if (!known || !is_outdated(error)) { throw; }
            deallocate(names_.remove(sql));
            if (!alone) {
                throw Error{Errc::interrupted,
                    handle_.name() + ": a table was changed under a prepared statement: once more",
                    {.native_code = error.native_code(), .statement = std::string{sql}}};
            }
        }
        return run_prepared(sql, arguments);
    }
    [[nodiscard]] Answer ask(std::string_view sql) { return ask(sql, std::span<const Value>{}); }

    /// Runs one statement and says how many rows it inserted, updated or deleted.
    template <class Values>
    std::int64_t run(std::string_view sql, const Values& values) {
        return noted(ask(sql, values));
    }
    std::int64_t run(std::string_view sql) { return run(sql, std::span<const Value>{}); }

    /// Runs a statement that ends the transaction's work, and COMMIT behind it in the same flush:
    /// where the statement fails, the server skips the COMMIT (L1). Answers the statement's answer.
    template <class Values>
    [[nodiscard]] Answer ask_and_commit(std::string_view sql, const Values& values) {
        require_order();
        arguments_.assign(values);
        PGconn* const server = handle_.get();
        std::string name;
        std::string commit;
        if (!sessionless_) {
            name = prepared(sql);
            commit = prepared("COMMIT");
        }
        const Arguments nothing;
        const bool sent = PQenterPipelineMode(server) == 1 && send(sql, name, arguments_) &&
                          send("COMMIT", commit, nothing) && PQpipelineSync(server) == 1;
        detail::ResultPointer first = next_result();
        detail::ResultPointer second = next_result();
        const detail::ResultPointer sync = next_result();
        if (!sent || handle_.lost()) { throw handle_.error_of(first.get(), sql); }
        PQexitPipelineMode(server);
        Answer answer = checked(first.release(), sql);
        if (checked(second.release(), "COMMIT").tag() != "COMMIT") {
            throw Error{Errc::transaction_lost,
                handle_.name() + ": the transaction had failed, and was rolled back"};
        }
        return answer;
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
                handle_.name() + ": a row with this key is there already, table " +
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
        if (!sessionless_ || !handle_.idle() || transaction_required_) { return ask(sql, values); }
        begin("");
        try {
            Answer answer = ask(sql, values);
            simple("COMMIT");
            return answer;
        } catch (...) {
            roll_back();
            throw;
        }
    }

    /// Runs every statement of `sql`, none of which has parameters; says how many rows the last one
    /// wrote.
    std::int64_t run_all(std::string_view sql) {
        require_order();
        return noted(simple(sql));
    }

    /// Whether anything but queries ran since this was asked last.
    [[nodiscard]] bool wrote() noexcept { return std::exchange(wrote_, false); }

private:
    std::int64_t noted(const Answer& answer) {
        wrote_ = wrote_ || !answer.tag().starts_with("SELECT");
        return answer.affected();
    }

    // Behind a pooler the client is told another process than the one that answers.
    void set_up() {
        sessionless_ = !options_.prepare || simple("SELECT pg_backend_pid()").number(0, 0) !=
                                                PQbackendPID(handle_.get());
        if (!sessionless_) { simple(settings_sql("SET ", options_.lock_timeout)); }
    }

    void require_order() const {
        if (transaction_required_ && !handle_.in_transaction() && !handle_.lost()) {
            throw Error{Errc::transaction_lost,
                handle_.name() + ": the transaction has ended, by an error before or a COMMIT or "
                                 "ROLLBACK of the caller: pass its errors on, and let it be ended"};
        }
    }

    [[nodiscard]] Answer checked(PGresult* raw, std::string_view sql) const {
        detail::ResultPointer result{raw};
        switch (PQresultStatus(result.get())) {
            case PGRES_COMMAND_OK:
            case PGRES_TUPLES_OK:
            case PGRES_EMPTY_QUERY: return Answer{std::move(result)};
            case PGRES_COPY_IN:
            case PGRES_COPY_OUT:
            case PGRES_COPY_BOTH:
                throw Error{Errc::invalid_argument,
                    handle_.name() + ": COPY moves data outside of a statement: run it on a "
                                     "connection of your own",
                    {.statement = std::string{sql}}};
            default: throw handle_.error_of(result.get(), sql);
        }
    }

    static void refuse_nul(std::string_view sql) {
        if (sql.find('\0') == std::string_view::npos) { return; }
        throw Error{Errc::invalid_argument, "a statement's text ends at a NUL byte to PostgreSQL, "
                                            "and this one goes on behind it: pass the value as a "
                                            "parameter"};
    }

    // In a pipeline.
    [[nodiscard]] bool send(
        std::string_view sql, const std::string& name, const Arguments& arguments) {
        PGconn* const server = handle_.get();
        if (!name.empty()) {
            return PQsendQueryPrepared(server, name.c_str(), arguments.size(), arguments.data(),
                       nullptr, nullptr, 0) == 1;
        }
        return PQsendQueryParams(server, std::string{sql}.c_str(), arguments.size(), nullptr,
                   arguments.data(), nullptr, nullptr, 0) == 1;
    }
    [[nodiscard]] detail::ResultPointer next_result() {
        detail::ResultPointer result{PQgetResult(handle_.get())};
        const bool sync = result && PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC;
        while (result && !sync) { // up to the end of the statement
            const detail::ResultPointer more{PQgetResult(handle_.get())};
            if (!more) { break; }
        }
        return result;
    }

    Answer simple(std::string_view sql) {
        refuse_nul(sql);
        return checked(PQexec(handle_.get(), std::string{sql}.c_str()), sql);
    }

    [[nodiscard]] Answer plain(std::string_view sql, const Arguments& arguments) {
        refuse_nul(sql);
        return checked(PQexecParams(handle_.get(), std::string{sql}.c_str(), arguments.size(),
                           nullptr, arguments.data(), nullptr, nullptr, 0),
            sql);
    }

    [[nodiscard]] Answer run_prepared(std::string_view sql, const Arguments& arguments) {
        return checked(PQexecPrepared(handle_.get(), prepared(sql).c_str(), arguments.size(),
                           arguments.data(), nullptr, nullptr, 0),
            sql);
    }

    // A table was altered, or somebody dropped the session's statements.
    [[nodiscard]] static bool is_outdated(const Error& error) noexcept {
        return error.native_code() == detail::packed("0A000") ||
               error.native_code() == detail::packed("26000");
    }

    const std::string& prepared(std::string_view sql) {
        if (const std::string* name = names_.find(sql)) { return *name; }
        refuse_nul(sql);
        std::string name = names_.unused();
        static_cast<void>(checked(
            PQprepare(handle_.get(), name.c_str(), std::string{sql}.c_str(), 0, nullptr), sql));
        const std::string& kept = names_.add(sql, std::move(name));
        deallocate(names_.remove_surplus());
        return kept;
    }

    // In a transaction that has failed it stays on the server.
    void deallocate(const std::optional<std::string>& name) {
        if (name && !handle_.lost() && PQtransactionStatus(handle_.get()) != PQTRANS_INERROR) {
            detail::ResultPointer{PQexec(handle_.get(), ("DEALLOCATE " + *name).c_str())};
        }
    }

    Options options_;
    Handle handle_;
    bool sessionless_ = false;
    StatementNames names_;
    Arguments arguments_;
    bool wrote_ = false;
    bool transaction_required_ = false;
};

} // namespace aftertouch::postgres
