// SPDX-License-Identifier: MIT
// A connection that the application has opened: used for its calls, and left as it was.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;

namespace borrowed {

struct Reading {
    std::int64_t id = 0;
    std::chrono::sys_time<std::chrono::microseconds> at;
    double value = 0;
    std::vector<std::byte> raw;
    friend bool operator==(const Reading&, const Reading&) = default;
};
struct Copy {
    std::int64_t id = 0;
    double value = 0;
};

} // namespace borrowed

template <>
struct aftertouch::EntityTraits<borrowed::Copy> {
    static constexpr auto table = "reading_copy";
};

namespace borrowed {

namespace {

std::string run(PGconn* connection, const char* sql) {
    const at::postgres::detail::ResultPointer result{PQexec(connection, sql)};
    INFO(sql);
    INFO(PQerrorMessage(connection));
    REQUIRE((PQresultStatus(result.get()) == PGRES_COMMAND_OK ||
             PQresultStatus(result.get()) == PGRES_TUPLES_OK));
    return PQntuples(result.get()) == 0 ? std::string{} : PQgetvalue(result.get(), 0, 0);
}

constexpr const char* odd_settings =
    "SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Kathmandu'; SET bytea_output = escape; SET "
    "extra_float_digits = 0; SET lock_timeout = 7777";
constexpr const char* session =
    "SELECT concat_ws(' ', current_setting('datestyle'), current_setting('timezone'), "
    "current_setting('bytea_output'), current_setting('extra_float_digits'), "
    "current_setting('lock_timeout'), (SELECT count(*) FROM pg_prepared_statements))";

const Reading reading{1, std::chrono::sys_days{std::chrono::year{2024} / 3 / 4}, 0.1 + 0.2,
    {std::byte{0}, std::byte{255}, std::byte{'\\'}}};

} // namespace

TEST_CASE("postgres: a borrowed connection is left as it was, whatever its settings") {
    const fixture::Place place{fixture::Kind::server};
    const Own own = connect(place.parameters());
    run(own.get(), odd_settings);
    const std::string before = run(own.get(), session);
    {
        Database database = Database::borrow(own.get());
        database.create_table<Reading>();
        database.transaction([](Tx& tx) {
            tx.insert(reading);
            CHECK(tx.get(at::type<Reading>, 1) == reading);
        });
        CHECK(database.query(at::type<Reading>, "SELECT * FROM reading").front() == reading);
        CHECK_THROWS_AS(database.query(at::type<Reading>, "SELECT * FROM nowhere"), at::Error);
        CHECK_THROWS_AS(database.transaction([](Tx& tx) { tx.execute("SELECT 1/0"); }), at::Error);
        CHECK(one<std::int64_t>(database, "SELECT count(*) FROM reading") == 1);
        CHECK(run(own.get(), session) == before);
    }
    CHECK(run(own.get(), session) == before); // and it is open still
}

TEST_CASE("postgres: what is written through a borrowed connection joins its open transaction") {
    const fixture::Place place{fixture::Kind::server};
    const Own own = connect(place.parameters());
    Database database = Database::borrow(own.get());
    database.execute("CREATE TABLE t (n bigint)");
    run(own.get(), "BEGIN");
    database.execute("INSERT INTO t VALUES ($1)", std::int64_t{1});
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM t") == 1);
    CHECK_THROWS_SAYING(database.transaction([](Tx&) {}), at::Error, "open still");
    run(own.get(), "ROLLBACK");
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM t") == 0);
}

TEST_CASE("postgres: pipelines over a borrowed connection have connections of their own") {
    const fixture::Place place{fixture::Kind::server};
    const Own own = connect(place.parameters());
    run(own.get(), odd_settings);
    Database database = Database::borrow(own.get());
    database.create_table<Reading>();
    database.create_table<Copy>();
    at::Options options;
    options.name = "copies";
    options.observer = {};
    at::Pipeline copies{at::source<Reading>().images(),
        [](const at::Batch<Reading>& batch, auto& tx) {
            for (const auto& change : batch.changes()) {
                if (change.after() == nullptr) { continue; }
                CHECK(*change.after() == reading);
                tx.upsert(Copy{change.key(), change.after()->value});
            }
        },
        database, options};
    copies.start();
    database.transaction([](Tx& tx) { tx.insert(reading); });
    CHECK(copies.await_idle() == at::Awaited::idle);
    // The application's transaction holds up neither the pipeline nor who waits for it.
    run(own.get(), "BEGIN; UPDATE reading SET id = 2");
    CHECK(copies.await_idle() == at::Awaited::idle);
    // Nor is the connection used by who asks for the state, perhaps on another thread.
    REQUIRE(PQsendQuery(own.get(), "SELECT pg_sleep(0)") == 1);
    CHECK(copies.status().lag->records == 0);
    CHECK(copies.status().lag->oldest_open);
    CHECK(at::verify(database, at::source<Reading>().images()).empty());
    while (PGresult* result = PQgetResult(own.get())) { PQclear(result); }
    CHECK(one<std::int64_t>(
              database, "SELECT count(*) FROM reading_copy WHERE value = 0.1 + 0.2::float8") == 1);
    run(own.get(), "ROLLBACK");
    copies.stop();
    CHECK(copies.errors().empty());
    at::remove(database, at::source<Reading>().images());
    CHECK(one<bool>(database, "SELECT to_regnamespace('aftertouch') IS NULL"));
}

TEST_CASE("postgres: a connection that can't be borrowed as it is, is refused with a sentence") {
    const fixture::Place place{fixture::Kind::server};
    CHECK_THROWS_SAYING(Database::borrow(nullptr), at::Error, "null PGconn");
    const Own own = connect(place.parameters());
    run(own.get(), "SET client_encoding = latin1");
    CHECK_THROWS_SAYING(
        Database::borrow(own.get()), at::Error, "another client_encoding than UTF8");
    run(own.get(), "SET client_encoding = utf8; SET standard_conforming_strings = off");
    CHECK_THROWS_SAYING(Database::borrow(own.get()), at::Error, "standard_conforming_strings");
    run(own.get(), "RESET standard_conforming_strings");
    Database database = Database::borrow(own.get());
    REQUIRE(PQsendQuery(own.get(), "SELECT pg_sleep(0)") == 1);
    CHECK_THROWS_SAYING(database.execute("SELECT 1"), at::Error, "in the middle of a statement");
    while (PGresult* result = PQgetResult(own.get())) { PQclear(result); }
    REQUIRE(PQenterPipelineMode(own.get()) == 1);
    CHECK_THROWS_SAYING(database.execute("SELECT 1"), at::Error, "in the middle of a statement");
    REQUIRE(PQexitPipelineMode(own.get()) == 1);
    database.execute("SELECT 1");
}

TEST_CASE("postgres: a borrowed connection that is lost is the application's to open again") {
    const fixture::Place place{fixture::Kind::server};
    const Own own = connect(place.parameters());
    Database database = Database::borrow(own.get());
    Database other{place.open()};
    const auto number = one<std::int32_t>(database, "SELECT pg_backend_pid()");
    CHECK(other.query(at::type<bool>, "SELECT pg_terminate_backend($1, 5000)", number).front());
    CHECK_THROWS_AS(database.execute("SELECT 1"), at::Error);
    CHECK_THROWS_SAYING(database.execute("SELECT 1"), at::Error, "PQreset() it");
    PQreset(own.get());
    CHECK(one<std::int32_t>(database, "SELECT 1") == 1);
}

} // namespace borrowed
