// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/postgres/connection.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/statement_names.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Statements to the server and answers back: prepared once, and several in one flush. The door to
/// libpq's calls.

namespace aftertouch::postgres {

/// A statement that is sent together with others. *Lifetime*: that of its text.
struct Request {
    std::string_view sql;
    std::vector<Value> values{};
    Format format = Format::text;
};

/// A connection and the names of what is prepared on it. Knows of transactions only that a
/// statement can't be tried again inside one.
class Exchange {
public:
    Exchange(Parameters parameters, const Options& options)
        : options_{options}, handle_{std::move(parameters)} {
        set_up();
    }
    Exchange(PGconn* borrowed, const Options& options)
        : options_{options}, handle_{borrowed}, sessionless_{true} {}

    [[nodiscard]] const Handle& handle() const noexcept { return handle_; }
    [[nodiscard]] Handle& handle() noexcept { return handle_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    /// Whether nothing may be kept in the session, no prepared statement and no setting: each
    /// transaction may find another one (behind a pooler), or it is the application's (borrowed).
    [[nodiscard]] bool sessionless() const noexcept { return sessionless_; }
    /// What a transaction needs then behind its BEGIN.
    [[nodiscard]] const std::string& local_settings() const noexcept { return local_settings_; }
    /// A conflict where a statement since `forget_conflict` met one, and `thrown` is that error, or
    /// the transaction has failed by it.
    [[nodiscard]] Excuse excuse(const Error* thrown) const noexcept {
        if (handle_.lost()) { return Excuse::lost; }
        const bool has_failed = PQtransactionStatus(handle_.get()) == PQTRANS_INERROR;
        const bool met = (met_conflict_ && thrown != nullptr && is_conflict(*thrown)) ||
                         (failed_by_conflict_ && has_failed);
        return met ? Excuse::conflict : Excuse::none;
    }
    void forget_conflict() noexcept { met_conflict_ = failed_by_conflict_ = false; }

    /// From here on the server ends the session if the client of an open transaction is silent for
    /// longer; 0: as the server has it.
    void limit_silence(std::chrono::milliseconds longest) {
        if (longest.count() == 0) { return; }
        longest_silence_ = longest;
        local_settings_ = settings(true);
        if (!sessionless_) { simple(settings(false)); }
    }
    /// Breaks the silence: a statement that does nothing.
    void say_something() noexcept { detail::ResultPointer{PQexec(handle_.get(), "")}; }

    /// Connects again; nothing of the old connection is left.
    void reconnect() {
        names_.clear();
        handle_.connect();
        set_up();
    }

    /// Statements without parameters, in text.
    Answer simple(std::string_view sql) {
        refuse_nul(sql);
        return checked(PQexec(handle_.get(), std::string{sql}.c_str()), sql);
    }

    /// One statement.
    template <class Values>
    [[nodiscard]] Answer one(std::string_view sql, const Values& values) {
        arguments_.assign(values);
        if (sessionless_) { return plain(sql); }
        const bool known = names_.find(sql) != nullptr;
        const bool alone = handle_.idle();
        try {
            return run_prepared(sql);
        } catch (const Error& error) {
            if (!known || !is_outdated(error)) { throw; }
            forget(sql);
            if (!alone) { refuse_outdated(error, sql); }
        }
        return run_prepared(sql);
    }

    /// Several in one flush, of the library's own: where one fails, the server skips those behind
    /// it, and its error is thrown. *Requires* that none of them is a COPY.
    [[nodiscard]] std::vector<Answer> together(const std::vector<Request>& requests) {
        std::vector<std::string> names;
        names.reserve(requests.size());
        flush_.resize(std::max(flush_.size(), requests.size()));
        // All that can refuse comes in front: a pipeline that is begun must be ended.
        for (std::size_t i = 0; i < requests.size(); ++i) {
            flush_[i].assign(requests[i].values);
            refuse_nul(requests[i].sql);
            names.push_back(sessionless_ ? std::string{} : prepared(requests[i].sql));
        }
        std::vector<detail::ResultPointer> results = exchange(requests, names);
        std::vector<Answer> answers;
        answers.reserve(requests.size());
        for (std::size_t i = 0; i < requests.size(); ++i) {
            try {
                answers.push_back(checked(results[i].release(), requests[i].sql));
            } catch (const Error& error) {
                if (sessionless_ || !is_outdated(error)) { throw; }
                forget(requests[i].sql);
                refuse_outdated(error, requests[i].sql);
            }
        }
        return answers;
    }

private:
    // Behind a pooler the client is told another process than the one that answers.
    void set_up() {
        sessionless_ = !options_.prepare || simple("SELECT pg_backend_pid()").number(0, 0) !=
                                                PQbackendPID(handle_.get());
        if (!sessionless_) { simple(settings(false)); }
    }

    [[nodiscard]] std::string settings(bool local) const {
        return settings_sql(local, options_.lock_timeout, longest_silence_);
    }

    // ------------------------------------------------------------------------------ what is sent

    static void refuse_nul(std::string_view sql) {
        if (sql.find('\0') == std::string_view::npos) { return; }
        throw Error{Errc::invalid_argument, "a statement's text ends at a NUL byte to PostgreSQL, "
                                            "and this one goes on behind it: pass the value as a "
                                            "parameter"};
    }

    [[nodiscard]] Answer plain(std::string_view sql) {
        refuse_nul(sql);
        return checked(PQexecParams(handle_.get(), std::string{sql}.c_str(), arguments_.size(),
                           nullptr, arguments_.data(), nullptr, nullptr, 0),
            sql);
    }
    [[nodiscard]] Answer run_prepared(std::string_view sql) {
        const std::string& name = prepared(sql);
        return checked(PQexecPrepared(handle_.get(), name.c_str(), arguments_.size(),
                           arguments_.data(), nullptr, nullptr, 0),
            sql);
    }

    // In a pipeline.
    [[nodiscard]] bool send(
        const Request& request, const std::string& name, const Arguments& arguments) {
        PGconn* const server = handle_.get();
        const int format = static_cast<int>(request.format);
        if (!name.empty()) {
            return PQsendQueryPrepared(server, name.c_str(), arguments.size(), arguments.data(),
                       nullptr, nullptr, format) == 1;
        }
        return PQsendQueryParams(server, std::string{request.sql}.c_str(), arguments.size(),
                   nullptr, arguments.data(), nullptr, nullptr, format) == 1;
    }

    // A result a request, null or aborted behind the first that failed.
    [[nodiscard]] std::vector<detail::ResultPointer> exchange(
        const std::vector<Request>& requests, const std::vector<std::string>& names) {
        PGconn* const server = handle_.get();
        bool sent = PQenterPipelineMode(server) == 1;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            sent = sent && send(requests[i], names[i], flush_[i]);
        }
        sent = sent && PQpipelineSync(server) == 1;
        std::vector<detail::ResultPointer> results;
        for (std::size_t i = 0; sent && i <= requests.size(); ++i) {
            results.push_back(next_result());
        }
        if (sent && !handle_.lost() && PQexitPipelineMode(server) == 1) { return results; }
        // What the server has done of it isn't known, and the connection is of no use any more.
        const PGresult* told = nullptr;
        for (const detail::ResultPointer& result : results) {
            if (told == nullptr && detail::is_told(result.get())) { told = result.get(); }
        }
        handle_.close();
        throw handle_.error_of(told, requests.front().sql);
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

    [[nodiscard]] Answer checked(PGresult* raw, std::string_view sql) {
        detail::ResultPointer result{raw};
        switch (PQresultStatus(result.get())) {
            case PGRES_COMMAND_OK:
            case PGRES_TUPLES_OK:
            case PGRES_EMPTY_QUERY:
                failed_by_conflict_ = false; // or a savepoint has undone it
                return Answer{std::move(result)};
            case PGRES_COPY_IN:
            case PGRES_COPY_OUT:
            case PGRES_COPY_BOTH:
                throw Error{Errc::invalid_argument,
                    handle_.name() + ": COPY moves data outside of a statement: run it on a "
                                     "connection of your own",
                    {.statement = std::string{sql}}};
            default: break;
        }
        const Error error = handle_.error_of(result.get(), sql);
        note(error);
        // No answer, or the last one: what would come next on this connection isn't known.
        const bool unknown = !detail::is_told(result.get()) && error.code() != Errc::database;
        if (unknown || detail::is_fatal(result.get())) { handle_.close(); }
        throw Error{error};
    }

    // --------------------------------------------------------------------------- what is prepared

    const std::string& prepared(std::string_view sql) {
        if (const std::string* known = names_.find(sql); known != nullptr) { return *known; }
        refuse_nul(sql);
        const std::string name = names_.next();
        static_cast<void>(checked(
            PQprepare(handle_.get(), name.c_str(), std::string{sql}.c_str(), 0, nullptr), sql));
        const std::string& added = names_.add(sql, name);
        if (const auto surplus = names_.remove_surplus()) { deallocate(*surplus); }
        return added;
    }
    void forget(std::string_view sql) {
        if (const auto name = names_.remove(sql)) { deallocate(*name); }
    }
    // In a transaction that has failed it stays on the server, and its name isn't used again.
    void deallocate(const std::string& name) {
        if (handle_.lost() || PQtransactionStatus(handle_.get()) == PQTRANS_INERROR) { return; }
        detail::ResultPointer{PQexec(handle_.get(), ("DEALLOCATE " + name).c_str())};
    }

    // A table was altered, or somebody dropped the session's statements.
    [[nodiscard]] static bool is_outdated(const Error& error) noexcept {
        return error.native_code() == detail::packed("0A000") ||
               error.native_code() == detail::packed("26000");
    }
    [[noreturn]] void refuse_outdated(const Error& error, std::string_view sql) {
        const Error once_more{Errc::interrupted,
            handle_.name() + ": a table was changed under a prepared statement: once more",
            {.native_code = error.native_code(), .statement = std::string{sql}}};
        note(once_more);
        throw Error{once_more};
    }

    // ------------------------------------------------------------------- what others do meanwhile

    [[nodiscard]] static bool is_conflict(const Error& error) noexcept {
        return detail::is_sacrifice(error.native_code()) ||
               (error.code() == Errc::interrupted && is_outdated(error));
    }
    // What a transaction that has failed already answers isn't why it failed.
    void note(const Error& error) noexcept {
        if (error.native_code() == detail::packed("25P02")) { return; }
        failed_by_conflict_ = is_conflict(error);
        met_conflict_ = met_conflict_ || failed_by_conflict_;
    }

    Options options_;
    Handle handle_;
    bool sessionless_ = false;
    bool met_conflict_ = false;
    bool failed_by_conflict_ = false;
    std::chrono::milliseconds longest_silence_{0};
    std::string local_settings_ = settings(true);
    StatementNames names_;
    Arguments arguments_;          // of the statement in hand
    std::vector<Arguments> flush_; // of those that go together
};

} // namespace aftertouch::postgres
