// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include <aftertouch/error.hpp>
#include <aftertouch/postgres/parameters.hpp>
#include <aftertouch/postgres/sqlstate.hpp>

/// \file
/// The door to PostgreSQL: opens a connection, and turns its errors into `Error`. The only include
/// of <libpq-fe.h>.

namespace aftertouch::postgres {

namespace detail {

struct Clear {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using ResultPointer = std::unique_ptr<PGresult, Clear>;

[[nodiscard]] inline std::string field(const PGresult* result, int code) {
    const char* text = PQresultErrorField(result, code);
    return text == nullptr ? std::string{} : std::string{text};
}

/// Whether the server ends the connection behind this answer. A pooler names no severity but the
/// one for people.
[[nodiscard]] inline bool is_fatal(const PGresult* result) {
    std::string severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity.empty()) { severity = field(result, PG_DIAG_SEVERITY); }
    return severity == "FATAL" || severity == "PANIC";
}

/// The server's error as a sentence without a row's values.
[[nodiscard]] inline Error error_of(
    const PGresult* result, std::string_view where, std::string_view sql) {
    const std::string state = field(result, PG_DIAG_SQLSTATE);
    // With a protocol violation PgBouncer says that it has lost its server: then it hangs up.
    const bool hangs_up = state == "08P01" && is_fatal(result);
    const Errc code = hangs_up ? Errc::connection_lost : errc_of(state);
    std::string sentence{where};
    sentence += ": PostgreSQL says ";
    sentence += says_no_value(state) ? field(result, PG_DIAG_MESSAGE_PRIMARY)
                                     : "SQLSTATE " + (state.empty() ? "unknown" : state);
    for (const auto& [name, diagnosis] : {std::pair{"table", PG_DIAG_TABLE_NAME},
             {"column", PG_DIAG_COLUMN_NAME}, {"constraint", PG_DIAG_CONSTRAINT_NAME}}) {
        const std::string text = field(result, diagnosis);
        if (!text.empty()) { sentence.append(", ").append(name).append(" ").append(text); }
    }
    // A table of the library's own isn't the program's to make.
    const bool lacks_own = state == "42P01" && sentence.find("\"aftertouch.") != std::string::npos;
    if (const auto what_to_do = advice(code, state); !what_to_do.empty() && !lacks_own) {
        sentence.append("; ").append(what_to_do);
    }
    return Error{code, sentence,
        {.native_code = packed(state), .statement = std::string{sql}, .where = std::string{where}}};
}

/// Whether it is an error that the server told.
[[nodiscard]] inline bool is_told(const PGresult* result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE) != nullptr;
}

/// Whether an error says that an object of the database isn't there.
[[nodiscard]] inline bool is_missing_object(const Error& error) noexcept {
    for (const std::string_view state : {"42P01", "42703", "42883", "3F000", "42704"}) {
        if (error.native_code() == packed(state)) { return true; }
    }
    return false;
}

struct Finish {
    bool borrowed = false;
    void operator()(PGconn* connection) const noexcept {
        if (!borrowed) { PQfinish(connection); }
    }
};
struct FreeCancel {
    void operator()(PGcancel* cancel) const noexcept { PQfreeCancel(cancel); }
};

} // namespace detail

/// The keywords and values of a connection string or URI.
///
/// *Throws* `Error` (`invalid_argument`); its sentence has nothing of the string, which may hold a
/// password.
[[nodiscard]] inline Parameters parameters_from(const std::string& text) {
    struct Free {
        void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
    };
    char* message = nullptr;
    const std::unique_ptr<PQconninfoOption, Free> options{PQconninfoParse(text.c_str(), &message)};
    PQfreemem(message);
    if (!options) {
        throw Error{Errc::invalid_argument,
            "a PostgreSQL connection string doesn't parse: write it as keyword=value pairs or a "
            "postgresql:// URI"};
    }
    Parameters parameters;
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
        if (option->val != nullptr) { parameters.emplace_back(option->keyword, option->val); }
    }
    return parameters;
}

namespace detail {

/// How a connection was made, so that another one can be.
[[nodiscard]] inline Parameters parameters_of(PGconn* connection) {
    struct Free {
        void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
    };
    const std::unique_ptr<PQconninfoOption, Free> options{PQconninfo(connection)};
    Parameters parameters;
    for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword;
        ++option) {
        const bool told = option->val != nullptr && *option->val != '\0';
        if (told) { parameters.emplace_back(option->keyword, option->val); }
    }
    return parameters;
}

} // namespace detail

/// An open connection to a server, its own or borrowed.
///
/// *Threads*: one at a time, but for `cancel`.
class Handle {
public:
    /// *Throws* `Error` (`connection_lost` where the server can't be reached for now, `database`
    /// where it refuses), without secrets.
    explicit Handle(Parameters parameters) : parameters_{std::move(parameters)} {
        const std::string host = detail::value_of(parameters_, "host");
        name_ = detail::value_of(parameters_, "dbname");
        if (name_.empty()) { name_ = "the database"; }
        if (!host.empty()) { name_ += " at " + host; }
        // NOLINTNEXTLINE(concurrency-mt-unsafe): libpq reads the environment at the same moment
        const bool is_given = std::getenv("PGSSLMODE") != nullptr;
        if (detail::value_of(parameters_, "sslmode").empty() && detail::is_remote(host) &&
            !is_given) {
            parameters_.emplace_back("sslmode", "verify-full");
        }
        connect();
    }

    /// Uses somebody else's connection, which must outlive this object.
    explicit Handle(PGconn* borrowed) : connection_{borrowed, detail::Finish{true}} {
        if (borrowed == nullptr) {
            throw Error{Errc::invalid_argument, "borrow() got a null PGconn*: connect first"};
        }
        parameters_ = detail::parameters_of(borrowed);
        name_ = std::string{PQdb(borrowed)} + " (a borrowed connection)";
        require_ready();
    }
    [[nodiscard]] PGconn* get() const noexcept { return connection_.get(); }
    [[nodiscard]] bool is_borrowed() const noexcept { return connection_.get_deleter().borrowed; }
    [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }
    /// Database and host, as they appear in messages.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] bool lost() const noexcept {
        return !connection_ || PQstatus(connection_.get()) != CONNECTION_OK;
    }
    /// A transaction is open and no statement in it has failed.
    [[nodiscard]] bool in_transaction() const noexcept {
        return PQtransactionStatus(connection_.get()) == PQTRANS_INTRANS;
    }
    /// No transaction is open.
    [[nodiscard]] bool idle() const noexcept {
        return PQtransactionStatus(connection_.get()) == PQTRANS_IDLE;
    }

    /// Gives the connection up: it is lost from here on. A borrowed one is its owner's to end.
    void close() noexcept {
        if (is_borrowed()) { return; }
        const std::lock_guard guard{cancel_mutex_};
        cancel_.reset();
        connection_.reset();
    }

    /// *Throws* `Error` where a borrowed connection can't be used as its owner left it.
    void require_ready() const {
        if (lost()) {
            throw Error{Errc::connection_lost, name_ + " is gone: PQreset() it, or borrow another"};
        }
        if (PQtransactionStatus(get()) == PQTRANS_ACTIVE ||
            PQpipelineStatus(get()) != PQ_PIPELINE_OFF) {
            throw Error{Errc::invalid_argument,
                name_ + " is in the middle of a statement or a pipeline: end that first"};
        }
        for (const auto& [setting, wanted] :
            {std::pair{"client_encoding", "UTF8"}, {"standard_conforming_strings", "on"}}) {
            const char* found = PQparameterStatus(get(), setting);
            if (found == nullptr || std::string_view{found} != wanted) {
                throw Error{Errc::invalid_argument,
                    name_ + " has another " + setting + " than " + wanted + ": set that"};
            }
        }
    }

    /// Connects again. *Throws* as the constructor does.
    void connect() {
        std::vector<const char*> keywords;
        std::vector<const char*> values;
        const auto add = [&](const char* keyword, const char* value) {
            keywords.push_back(keyword);
            values.push_back(value);
        };
        // What stands in front gives way to the caller's own.
        add("connect_timeout", "10");
        add("tcp_user_timeout", "30000");
        add("application_name", "aftertouch");
        for (const auto& [keyword, value] : parameters_) { add(keyword.c_str(), value.c_str()); }
        add("client_encoding", "UTF8");
        add(nullptr, nullptr);
        const std::lock_guard guard{cancel_mutex_};
        cancel_.reset();
        connection_.reset(PQconnectdbParams(keywords.data(), values.data(), 0));
        if (lost()) { throw refusal(); }
        PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
        cancel_.reset(PQgetCancel(connection_.get()));
    }

    [[nodiscard]] int socket() const noexcept { return PQsocket(get()); }
    /// Whether notifications have come since the last call. What they say is ignored.
    [[nodiscard]] bool take_notifications() noexcept {
        if (lost() || PQconsumeInput(get()) != 1) { return false; }
        bool any = false;
        while (PGnotify* notification = PQnotifies(get())) {
            PQfreemem(notification);
            any = true;
        }
        return any;
    }

    /// Makes the statement that runs now fail as `interrupted`. *Threads*: any.
    void cancel() noexcept {
        const std::lock_guard guard{cancel_mutex_};
        char ignored[256];
        if (cancel_) { static_cast<void>(PQcancel(cancel_.get(), ignored, sizeof ignored)); }
    }

    /// The error of a statement whose answer never came, or came as `result`.
    [[nodiscard]] Error error_of(const PGresult* result, std::string_view sql) {
        if (detail::is_told(result)) { return detail::error_of(result, name_, sql); }
        const auto error = [&](Errc code, const std::string& sentence) {
            return Error{code, name_ + sentence, {.statement = std::string{sql}, .where = name_}};
        };
        // Of a connection that it failed to write to libpq knows once it has read its end.
        const std::string says = connection_ ? PQerrorMessage(get()) : "";
        if (lost() || PQconsumeInput(get()) != 1 || says.find("server") != std::string::npos) {
            return error(Errc::connection_lost,
                ": the connection is gone; a pipeline connects again by itself");
        }
        if (says.empty() || says.find("memory") != std::string::npos) {
            return error(Errc::out_of_memory, ": there is no memory for an answer");
        }
        return error(Errc::database, ": libpq says " + detail::redacted(says, parameters_));
    }

private:
    // libpq has no SQLSTATE for a refused connection: its words must do.
    [[nodiscard]] Error refusal() const {
        const char* raw = connection_ ? PQerrorMessage(connection_.get()) : "there is no memory";
        const std::string text = detail::redacted(raw, parameters_);
        bool passes = text.find("FATAL:") == std::string::npos;
        for (const char* words :
            {"starting up", "shutting down", "too many", "recovery", "slots", "no more connections",
                "try again later", "cannot connect to server", "server connection"}) {
            passes = passes || text.find(words) != std::string::npos;
        }
        return Error{passes ? Errc::connection_lost : Errc::database,
            "can't connect to " + name_ + ": " + text, {.where = name_}};
    }

    Parameters parameters_;
    std::string name_;
    std::unique_ptr<PGconn, detail::Finish> connection_;
    std::mutex cancel_mutex_;
    std::unique_ptr<PGcancel, detail::FreeCancel> cancel_;
};

} // namespace aftertouch::postgres
