// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <libpq-fe.h>

/// \file
/// Stands between a program and libpq: a test is told of every statement, and may send another one.
/// To be included by one source of an executable: it defines libpq's own names, and calls those of
/// the library.

namespace test::libpq {

/// Set them while no connection is used. Called on the connection's thread.
struct Hooks {
    /// Between two states that the server can be in: before a statement or several are sent, behind
    /// sending, and behind each answer that is waited for. (Behind a statement that is waited for
    /// is in front of the next.)
    std::function<void(PGconn*)> between{};
    /// In front of each statement, with its text.
    std::function<void(PGconn*, const std::string& sql)> in_front{};
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

// The texts of what is prepared.
class Prepared {
public:
    void add(PGconn* connection, const std::string& name, const std::string& sql) {
        const std::lock_guard guard{mutex_};
        texts_[{connection, name}] = sql;
    }
    [[nodiscard]] std::string text(PGconn* connection, const std::string& name) {
        const std::lock_guard guard{mutex_};
        const auto found = texts_.find({connection, name});
        return found == texts_.end() ? name : found->second;
    }

private:
    std::mutex mutex_;
    std::map<std::pair<PGconn*, std::string>, std::string> texts_;
};

inline Prepared& prepared() {
    static Prepared all;
    return all;
}

template <class Function>
[[nodiscard]] Function real(const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    return reinterpret_cast<Function>(found); // NOLINT: POSIX says that it may be
}

inline void tell_between(PGconn* connection) {
    if (depth == 1 && hooks().between) { hooks().between(connection); }
}

// Calls `work`; its statement is sent at once, or is put into a pipeline.
template <class Work>
auto statement(PGconn* connection, const std::string& sql, bool at_once, Work work) {
    ++depth;
    if (depth == 1 && hooks().in_front) { hooks().in_front(connection, sql); }
    if (at_once) { tell_between(connection); }
    auto result = work();
    --depth;
    return result;
}

// What is sent instead of `sql`.
[[nodiscard]] inline std::string rewritten(const char* sql) {
    return depth == 0 && hooks().rewrite ? hooks().rewrite(sql) : std::string{sql};
}

} // namespace detail

} // namespace test::libpq

#define AFTERTOUCH_REAL(name) test::libpq::detail::real<decltype(&(name))>(#name)

extern "C" {

PGresult* PQexec(PGconn* connection, const char* query) {
    static const auto real = AFTERTOUCH_REAL(PQexec);
    const std::string sql = test::libpq::detail::rewritten(query);
    return test::libpq::detail::statement(
        connection, sql, true, [&] { return real(connection, sql.c_str()); });
}

PGresult* PQexecParams(PGconn* connection, const char* command, int count, const Oid* types,
    const char* const* values, const int* lengths, const int* formats, int format) {
    static const auto real = AFTERTOUCH_REAL(PQexecParams);
    const std::string sql = test::libpq::detail::rewritten(command);
    return test::libpq::detail::statement(connection, sql, true, [&] {
        return real(connection, sql.c_str(), count, types, values, lengths, formats, format);
    });
}

PGresult* PQprepare(
    PGconn* connection, const char* name, const char* query, int count, const Oid* types) {
    static const auto real = AFTERTOUCH_REAL(PQprepare);
    const std::string sql = test::libpq::detail::rewritten(query);
    test::libpq::detail::prepared().add(connection, name, sql);
    return test::libpq::detail::statement(
        connection, sql, true, [&] { return real(connection, name, sql.c_str(), count, types); });
}

PGresult* PQexecPrepared(PGconn* connection, const char* name, int count, const char* const* values,
    const int* lengths, const int* formats, int format) {
    static const auto real = AFTERTOUCH_REAL(PQexecPrepared);
    return test::libpq::detail::statement(connection,
        test::libpq::detail::prepared().text(connection, name), true,
        [&] { return real(connection, name, count, values, lengths, formats, format); });
}

int PQsendPrepare(
    PGconn* connection, const char* name, const char* query, int count, const Oid* types) {
    static const auto real = AFTERTOUCH_REAL(PQsendPrepare);
    const std::string sql = test::libpq::detail::rewritten(query);
    test::libpq::detail::prepared().add(connection, name, sql);
    return test::libpq::detail::statement(connection, sql,
        PQpipelineStatus(connection) == PQ_PIPELINE_OFF,
        [&] { return real(connection, name, sql.c_str(), count, types); });
}

int PQsendQuery(PGconn* connection, const char* query) {
    static const auto real = AFTERTOUCH_REAL(PQsendQuery);
    const std::string sql = test::libpq::detail::rewritten(query);
    return test::libpq::detail::statement(connection, sql,
        PQpipelineStatus(connection) == PQ_PIPELINE_OFF,
        [&] { return real(connection, sql.c_str()); });
}

int PQsendQueryParams(PGconn* connection, const char* command, int count, const Oid* types,
    const char* const* values, const int* lengths, const int* formats, int format) {
    static const auto real = AFTERTOUCH_REAL(PQsendQueryParams);
    const std::string sql = test::libpq::detail::rewritten(command);
    return test::libpq::detail::statement(
        connection, sql, PQpipelineStatus(connection) == PQ_PIPELINE_OFF, [&] {
            return real(connection, sql.c_str(), count, types, values, lengths, formats, format);
        });
}

int PQsendQueryPrepared(PGconn* connection, const char* name, int count, const char* const* values,
    const int* lengths, const int* formats, int format) {
    static const auto real = AFTERTOUCH_REAL(PQsendQueryPrepared);
    return test::libpq::detail::statement(connection,
        test::libpq::detail::prepared().text(connection, name),
        PQpipelineStatus(connection) == PQ_PIPELINE_OFF,
        [&] { return real(connection, name, count, values, lengths, formats, format); });
}

int PQpipelineSync(PGconn* connection) {
    static const auto real = AFTERTOUCH_REAL(PQpipelineSync);
    ++test::libpq::detail::depth;
    test::libpq::detail::tell_between(connection);
    const int sent = real(connection);
    test::libpq::detail::tell_between(connection);
    --test::libpq::detail::depth;
    return sent;
}

PGresult* PQgetResult(PGconn* connection) {
    static const auto real = AFTERTOUCH_REAL(PQgetResult);
    ++test::libpq::detail::depth;
    PGresult* const result = real(connection);
    if (result != nullptr) { test::libpq::detail::tell_between(connection); }
    --test::libpq::detail::depth;
    return result;
}

} // extern "C"

#undef AFTERTOUCH_REAL
