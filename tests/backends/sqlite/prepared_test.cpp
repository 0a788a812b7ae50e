// SPDX-License-Identifier: MIT
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/value.hpp>

using namespace aftertouch;
using sqlite::Connection;
using sqlite::Statement;

namespace {

const std::span<const Value> nothing;

std::int64_t number(Connection& connection, const std::string& sql) {
    std::int64_t found = -1;
    connection.each(sql, nothing, [&](const Statement& row) {
        found = row[0].as_integer();
        return false;
    });
    return found;
}

} // namespace

TEST_CASE("prepared: run says how many rows it wrote itself") {
    Connection connection{":memory:"};
    CHECK(connection.run("CREATE TABLE t (a)") == 0);
    CHECK(connection.run("INSERT INTO t VALUES (1), (2), (3)") == 3);
    CHECK(connection.run("CREATE TABLE u (a)") == 0);
    CHECK(
        connection.run(
            "CREATE TRIGGER more AFTER DELETE ON t BEGIN INSERT INTO u VALUES (1), (2); END") == 0);
    CHECK(connection.run(
              "DELETE FROM t WHERE a > $1", std::vector<Value>{Value{Cell::integer(1)}}) == 2);
    CHECK(number(connection, "SELECT count(*) FROM u") == 4);
}

TEST_CASE("prepared: the same text can run inside itself") {
    Connection connection{":memory:"};
    const std::string sql = "SELECT 1 UNION ALL SELECT 2";
    int rows = 0;
    connection.each(sql, nothing, [&](const Statement&) {
        connection.each(sql, nothing, [&](const Statement&) {
            ++rows;
            return true;
        });
        return true;
    });
    CHECK(rows == 4);
}

TEST_CASE("prepared: an exception from a row leaves the statement usable") {
    Connection connection{":memory:"};
    const std::string sql = "SELECT 1 UNION ALL SELECT 2";
    CHECK_THROWS_AS(connection.each(sql, nothing, [](const Statement&) -> bool { throw 1; }), int);
    CHECK(number(connection, sql) == 1);
}

TEST_CASE("prepared: more texts than are kept, each still right") {
    Connection connection{":memory:"};
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 200; ++i) {
            REQUIRE(number(connection, "SELECT " + std::to_string(i)) == i);
        }
    }
}

TEST_CASE("prepared: several statements only without parameters, comments always") {
    Connection connection{":memory:"};
    CHECK_THROWS_WITH(
        number(connection, "SELECT 1; SELECT 2"), Catch::Matchers::Contains("one by one"));
    CHECK_THROWS_WITH(
        number(connection, "SELECT 1; SELECT 2"), Catch::Matchers::Contains("one by one"));
    CHECK(number(connection, "SELECT 1; -- said and done") == 1);
    connection.run_all("CREATE TABLE t (a); INSERT INTO t VALUES (1); -- and\n/* more */ INSERT "
                       "INTO t VALUES (2);");
    CHECK(number(connection, "SELECT sum(a) FROM t") == 3);
}

TEST_CASE("K1: behind a transaction that has ended nothing is written") {
    Connection connection{":memory:"};
    connection.run("CREATE TABLE t (a UNIQUE)");
    connection.run("INSERT INTO t VALUES (1)");
    connection.begin("BEGIN IMMEDIATE");
    connection.require_transaction(true);
    connection.run("INSERT INTO t VALUES (2)");
    CHECK_THROWS_AS(connection.run("INSERT OR ROLLBACK INTO t VALUES (1)"), Error);
    CHECK_THROWS_WITH(connection.run("INSERT INTO t VALUES (3)"),
        Catch::Matchers::Contains("transaction has ended"));
    connection.require_transaction(false);
    connection.roll_back();
    CHECK(number(connection, "SELECT count(*) FROM t") == 1);
}
