// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <libpq-fe.h>

/// \file
/// Stands between a program and libpq: a test is told before and after every statement, and may
/// send another one. To be included by one source of an executable: it defines libpq's own names,
/// and calls those of the library.

namespace test::libpq {

enum class When { before, after };

/// Set them while no connection is used.
struct Hooks {
    /// Told on the connection's thread. `what` is the statement's text, or the function's name.
    std::function<void(PGconn*, When, const std::string& what)> at_statement{};
    /// What is sent in place of a statement's text.
    std::function<std::string(std::string)> rewrite{};
};

inline Hooks& hooks() {
    static Hooks all;
    return all;
}

namespace detail {

// libpq calls some of these names itself.
inline thread_local int depth = 0;

template <class Function>
[[nodiscard]] Function real(const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    return reinterpret_cast<Function>(found); // NOLINT: POSIX says that it may be
}

// Calls `work(sql)`, with the hooks around it where the program called, not libpq.
template <class Work>
auto between(PGconn* connection, const char* sql, const char* what, Work work) {
    if (depth > 0) { return work(sql); }
    ++depth;
    std::string text = sql == nullptr ? "" : sql;
    if (sql != nullptr && hooks().rewrite) { text = hooks().rewrite(std::move(text)); }
    const std::string told = sql == nullptr ? what : text;
    const auto tell = [&](When when) {
        if (hooks().at_statement) { hooks().at_statement(connection, when, told); }
    };
    tell(When::before);
    auto result = work(sql == nullptr ? nullptr : text.c_str());
    tell(When::after);
    --depth;
    return result;
}

} // namespace detail

} // namespace test::libpq

#define AFTERTOUCH_REAL(name) test::libpq::detail::real<decltype(&(name))>(#name)

extern "C" {

PGresult* PQexec(PGconn* connection, const char* query) {
    static const auto real = AFTERTOUCH_REAL(PQexec);
    return test::libpq::detail::between(
        connection, query, "PQexec", [&](const char* sql) { return real(connection, sql); });
}

PGresult* PQexecParams(PGconn* connection, const char* command, int count, const Oid* types,
    const char* const* values, const int* lengths, const int* formats, int format) {
    static const auto real = AFTERTOUCH_REAL(PQexecParams);
    return test::libpq::detail::between(connection, command, "PQexecParams", [&](const char* sql) {
        return real(connection, sql, count, types, values, lengths, formats, format);
    });
}

PGresult* PQprepare(
    PGconn* connection, const char* name, const char* query, int count, const Oid* types) {
    static const auto real = AFTERTOUCH_REAL(PQprepare);
    return test::libpq::detail::between(connection, query, "PQprepare",
        [&](const char* sql) { return real(connection, name, sql, count, types); });
}

PGresult* PQexecPrepared(PGconn* connection, const char* name, int count, const char* const* values,
    const int* lengths, const int* formats, int format) {
    static const auto real = AFTERTOUCH_REAL(PQexecPrepared);
    return test::libpq::detail::between(connection, nullptr, name, [&](const char*) {
        return real(connection, name, count, values, lengths, formats, format);
    });
}

int PQsendPrepare(
    PGconn* connection, const char* name, const char* query, int count, const Oid* types) {
    static const auto real = AFTERTOUCH_REAL(PQsendPrepare);
    return test::libpq::detail::between(connection, query, "PQsendPrepare",
        [&](const char* sql) { return real(connection, name, sql, count, types); });
}

int PQsendQuery(PGconn* connection, const char* query) {
    static const auto real = AFTERTOUCH_REAL(PQsendQuery);
    return test::libpq::detail::between(
        connection, query, "PQsendQuery", [&](const char* sql) { return real(connection, sql); });
}

int PQsendQueryParams(PGconn* connection, const char* command, int count, const Oid* types,
    const char* const* values, const int* lengths, const int* formats, int format) {
    static const auto real = AFTERTOUCH_REAL(PQsendQueryParams);
    return test::libpq::detail::between(
        connection, command, "PQsendQueryParams", [&](const char* sql) {
            return real(connection, sql, count, types, values, lengths, formats, format);
        });
}

int PQsendQueryPrepared(PGconn* connection, const char* name, int count, const char* const* values,
    const int* lengths, const int* formats, int format) {
    static const auto real = AFTERTOUCH_REAL(PQsendQueryPrepared);
    return test::libpq::detail::between(connection, nullptr, name, [&](const char*) {
        return real(connection, name, count, values, lengths, formats, format);
    });
}

int PQpipelineSync(PGconn* connection) {
    static const auto real = AFTERTOUCH_REAL(PQpipelineSync);
    return test::libpq::detail::between(
        connection, nullptr, "sync", [&](const char*) { return real(connection); });
}

PGresult* PQgetResult(PGconn* connection) {
    static const auto real = AFTERTOUCH_REAL(PQgetResult);
    return test::libpq::detail::between(
        connection, nullptr, "answer", [&](const char*) { return real(connection); });
}

} // extern "C"

#undef AFTERTOUCH_REAL
