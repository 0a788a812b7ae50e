// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;

namespace connection {

namespace {

at::Errc code_of(auto work) {
    try {
        work();
    } catch (const at::Error& error) { return error.code(); }
    FAIL("no error");
    return {};
}

std::string message_of(auto work) {
    try {
        work();
    } catch (const at::Error& error) { return error.what(); }
    return {};
}

struct Everything {
    std::int64_t id = 0;
    bool flag = false;
    std::int16_t small = 0;
    std::int32_t medium = 0;
    float single_ = 0;
    double twice = 0;
    std::string text;
    std::vector<std::byte> bytes;
    std::chrono::sys_time<std::chrono::microseconds> moment;
    std::chrono::sys_days day;
    std::optional<std::string> perhaps;
    friend bool operator==(const Everything&, const Everything&) = default;
};

Everything with_text(std::int64_t id, std::string text) {
    Everything made;
    made.id = id;
    made.text = std::move(text);
    return made;
}

} // namespace

TEST_CASE("postgres: every type that can be a column comes back as it was written") {
    Shop shop;
    shop.database.create_table<Everything>();
    const std::vector<Everything> all{
        {1, true, 32767, -2147483647, 0.1F, -0.0, "it's \"x\" \\ \xc3\xa4",
            {std::byte{0}, std::byte{255}}, std::chrono::sys_days{std::chrono::year{2024} / 2 / 29},
            std::chrono::sys_days{std::chrono::year{-43} / 3 / 15}, std::nullopt},
        {9223372036854775807, false, -32768, 0, 3e38F, 1.7976931348623157e308, "", {},
            std::chrono::sys_days{std::chrono::year{12345} / 1 / 1} + std::chrono::microseconds{1},
            std::chrono::sys_days{std::chrono::year{1} / 1 / 1}, ""},
    };
    shop.database.transaction([&](Tx& tx) {
        for (const Everything& one : all) { tx.insert(one); }
        for (const Everything& one : all) {
            CHECK(tx.get(at::type<Everything>, one.id) == one);
            tx.upsert(one);
        }
    });
}

TEST_CASE("postgres: SQLSTATEs say what a caller can do") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE t (id integer PRIMARY KEY, n integer CHECK (n > 0))");
    database.execute("INSERT INTO t VALUES (1, 1)");
    CHECK(
        code_of([&] { database.execute("INSERT INTO t VALUES (1, 1)"); }) == at::Errc::constraint);
    CHECK(
        code_of([&] { database.execute("INSERT INTO t VALUES (2, -5)"); }) == at::Errc::constraint);
    CHECK(code_of([&] { database.execute("SELEC 1"); }) == at::Errc::database);
    database.execute("SET default_transaction_read_only = on");
    CHECK(code_of([&] { database.execute("CREATE TABLE u ()"); }) == at::Errc::read_only);
    database.execute("RESET default_transaction_read_only");
    Database impatient{shop.place.open(std::chrono::milliseconds{10})};
    Database other{shop.place.open()};
    other.execute("BEGIN; LOCK TABLE t");
    CHECK(code_of([&] { impatient.execute("SELECT * FROM t"); }) == at::Errc::busy);
    other.execute("ROLLBACK");
    CHECK(code_of([&] { impatient.execute("COPY t TO STDOUT"); }) == at::Errc::invalid_argument);
}

TEST_CASE("postgres: who lacks a table is told what makes it, but for the library's own") {
    Shop shop;
    const auto message = [&](const char* table) {
        return message_of([&] { shop.database.execute("TABLE " + std::string{table}); });
    };
    CHECK(message("label").find("create_table<T>()") != std::string::npos);
    const std::string own = message("aftertouch.log");
    CHECK(own.find("aftertouch.log") != std::string::npos);
    CHECK(own.find("create_table") == std::string::npos);
}

TEST_CASE("O1: no error of the server quotes a row's value") {
    Shop shop;
    Database& database = shop.database;
    database.execute(
        "CREATE TABLE t (id text PRIMARY KEY, n integer CONSTRAINT positive CHECK (n > "
        "0))");
    database.execute("INSERT INTO t VALUES ('123-45-6789', 1)");
    const std::string secret = "123-45-6789";
    for (const auto& work :
        std::vector<std::function<void()>>{
            [&] { database.execute("INSERT INTO t VALUES ($1, 1)", secret); },
            [&] { database.execute("INSERT INTO t VALUES ($1, -1)", secret); },
            [&] { database.execute("INSERT INTO t VALUES ('x', $1)", secret); },
            [&] { database.execute("SELECT id::integer FROM t WHERE id <> $1", std::string{"x"}); },
            [&] { database.execute("DO $$ BEGIN RAISE EXCEPTION '123-45-6789'; END $$"); }}) {
        const std::string message = message_of(work);
        INFO(message);
        CHECK(!message.empty());
        CHECK(message.find(secret) == std::string::npos);
    }
    CHECK_THROWS_SAYING(database.execute("INSERT INTO t VALUES ($1, -1)", std::string{"y"}),
        at::Error, "constraint positive");
}

TEST_CASE("postgres: no message has a secret of the connection in it") {
    at::postgres::Parameters parameters = fixture::server();
    parameters.emplace_back("password", "hunter2");
    parameters.emplace_back("dbname", "there_is_none");
    const std::string refused = message_of([&] { Database database{parameters}; });
    CHECK(refused.find("there_is_none") != std::string::npos);
    CHECK(refused.find("hunter2") == std::string::npos);
    for (const char* wrong : {"postgresql://user:hunter2@[host/db", "password = hunter2 host",
             "host=/tmp password='hunter2"}) {
        const std::string message = message_of([&] { Database database{wrong}; });
        INFO(message);
        CHECK(message.find("doesn't parse") != std::string::npos);
        CHECK(message.find("hunter2") == std::string::npos);
    }
}

TEST_CASE("postgres: a value can't smuggle in another host") {
    at::postgres::Parameters parameters = fixture::server();
    parameters.emplace_back("dbname", "dbname=postgres host=evil.example");
    CHECK_THROWS_SAYING(Database{parameters}, at::Error, "does not exist");
    CHECK(at::postgres::detail::is_remote("db.example"));
    CHECK(!at::postgres::detail::is_remote("/run/postgresql"));
    CHECK(!at::postgres::detail::is_remote("localhost"));
}

TEST_CASE("postgres: a database that lost its connection connects again") {
    Shop shop;
    Database other{shop.place.open()};
    const auto number = one<std::int32_t>(shop.database, "SELECT pg_backend_pid()");
    CHECK(other.query(at::type<bool>, "SELECT pg_terminate_backend($1, 5000)", number).front());
    CHECK(code_of([&] { shop.database.execute("SELECT 1"); }) == at::Errc::connection_lost);
    CHECK(one<std::int32_t>(shop.database, "SELECT 1") == 1);
}

TEST_CASE("postgres: insert refuses a key that is there, and the transaction goes on") {
    Shop shop;
    shop.database.create_table<Everything>();
    shop.database.transaction([](Tx& tx) {
        tx.insert(with_text(1, "first"));
        try {
            tx.insert(with_text(1, "second"));
            FAIL("a row stood there twice");
        } catch (const at::Error& error) { CHECK(error.code() == at::Errc::constraint); }
        tx.insert(with_text(2, "third"));
    });
    CHECK(one<std::string>(shop.database,
              "SELECT string_agg(text, ',' ORDER BY id) FROM everything") == "first,third");
}

TEST_CASE("postgres: a table that is altered under a prepared statement is read all the same") {
    Shop shop;
    shop.database.execute("CREATE TABLE t (n integer); INSERT INTO t VALUES (7)");
    CHECK(one<std::int64_t>(shop.database, "SELECT n FROM t") == 7);
    shop.database.execute("ALTER TABLE t ALTER n TYPE bigint");
    CHECK(one<std::int64_t>(shop.database, "SELECT n FROM t") == 7);
    shop.database.execute("DEALLOCATE ALL");
    CHECK(one<std::int64_t>(shop.database, "SELECT n FROM t") == 7);
}

TEST_CASE("postgres: many texts are prepared, and the oldest are let go") {
    Shop shop;
    for (std::int64_t i = 0; i < 200; ++i) {
        CHECK(one<std::int64_t>(shop.database, "SELECT " + std::to_string(i) + "::bigint") == i);
    }
    CHECK(one<std::int64_t>(shop.database, "SELECT count(*) FROM pg_prepared_statements") <= 64);
}

TEST_CASE("postgres: without prepared statements everything is the same") {
    Shop shop;
    Database plain{shop.place.parameters(), {.prepare = false}};
    plain.execute("CREATE TABLE t (n bigint)");
    plain.execute("INSERT INTO t VALUES ($1)", std::int64_t{5});
    CHECK(one<std::int64_t>(plain, "SELECT n FROM t") == 5);
    CHECK(one<std::int64_t>(plain, "SELECT count(*) FROM pg_prepared_statements") == 0);
}

} // namespace connection
