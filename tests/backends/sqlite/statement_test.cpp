// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/value.hpp>

using namespace aftertouch;
using sqlite::Handle;
using sqlite::Statement;

namespace {

const std::vector<Value> nothing;

std::string said(
    const Handle& handle, const std::string& sql, const std::vector<Value>& values = {}) {
    try {
        Statement statement{handle, sql};
        statement.bind(values);
        while (statement.step()) {}
    } catch (const Error& error) { return error.what(); }
    return {};
}

} // namespace

TEST_CASE("statement: every storage class goes in and comes out as it is") {
    const Handle handle{":memory:", {}};
    const std::vector<Value> values{Value{Cell::null()},
        Value{Cell::integer(std::numeric_limits<std::int64_t>::min())},
        Value{Cell::integer(std::numeric_limits<std::int64_t>::max())}, Value{Cell::real(-0.0)},
        Value{Cell::real(std::numeric_limits<double>::infinity())}, Value{Cell::real(5e-324)},
        Value{Cell::text("")}, Value{Cell::text(std::string_view{"a\0b", 3})},
        Value{Cell::blob({})},
        Value{Cell::blob(std::as_bytes(std::span<const char>{"\0\xff", 2}))}};
    Statement statement{handle, "SELECT $1"};
    for (const Value& value : values) {
        statement.bind(std::span{&value, 1});
        REQUIRE(statement.step());
        CHECK(Value{statement[0]} == value);
        statement.reset();
    }
}

TEST_CASE(
    "statement: what SQLite has no class for is stored as integer or text; NaN becomes null") {
    const Handle handle{":memory:", {}};
    Statement statement{handle, "SELECT $1, $2, $3, $4, $5"};
    const std::string uuid(16, '\x11');
    const auto bytes = std::as_bytes(std::span{uuid}).first<16>();
    statement.bind(std::vector<Value>{Value{Cell::boolean(true)}, Value{Cell::timestamp(1'500'000)},
        Value{Cell::date(1)}, Value{Cell::uuid(bytes)}, Value{Cell::real(std::nan(""))}});
    REQUIRE(statement.step());
    CHECK(statement[0] == Cell::integer(1));
    CHECK(statement[1].bytes() == "1970-01-01 00:00:01.500000");
    CHECK(statement[2].bytes() == "1970-01-02");
    CHECK(statement[3].bytes() == "11111111-1111-1111-1111-111111111111");
    CHECK(statement[4].is_null());
}

TEST_CASE("statement: columns of a known type") {
    const Handle handle{":memory:", {}};
    Statement statement{handle, "SELECT 7, 0.5, 'Ic', '', NULL"};
    REQUIRE(statement.step());
    CHECK(statement.integer(0) == 7);
    CHECK(statement.real(1) == 0.5);
    CHECK(statement.letter(2) == 'I');
    CHECK(statement.letter(3) == '\0');
    CHECK(statement.letter(4) == '\0');
}

TEST_CASE("statement: parameters are numbered, in any order and repeated") {
    const Handle handle{":memory:", {}};
    Statement statement{handle, "SELECT $2, $1, $2"};
    CHECK(statement.parameters() == 2);
    statement.bind(std::vector<Value>{Value{Cell::integer(1)}, Value{Cell::integer(2)}});
    REQUIRE(statement.step());
    CHECK(statement[0] == Cell::integer(2));
    CHECK(statement[1] == Cell::integer(1));
    CHECK(statement[2] == Cell::integer(2));
}

TEST_CASE("statement: other parameters, a wrong count, bad SQL and NUL are refused in words") {
    const Handle handle{":memory:", {}};
    using Catch::Matchers::Contains;
    for (const char* sql :
        {"SELECT ?", "SELECT ?1", "SELECT :a", "SELECT @a", "SELECT $name", "SELECT $0"}) {
        CHECK_THAT(said(handle, sql), Contains("$1, $2"));
    }
    CHECK_THAT(said(handle, "SELECT $1"), Contains("has 1 parameters and got 0 arguments"));
    CHECK_THAT(said(handle, "SELECT 1", {Value{Cell::integer(1)}}),
        Contains("has 0 parameters and got 1"));
    CHECK_THAT(said(handle, "SELEKT"), Contains("syntax error"));
    CHECK_THAT(said(handle, std::string{"SELECT 1\0, 2", 12}), Contains("NUL"));
}

TEST_CASE("statement: an error names the statement and holds no value") {
    const Handle handle{":memory:", {}};
    REQUIRE(said(handle, "CREATE TABLE t (a UNIQUE)").empty());
    REQUIRE(said(handle, "INSERT INTO t VALUES ($1)", {Value{Cell::text("secret")}}).empty());
    Statement again{handle, "INSERT INTO t VALUES ($1)"};
    const std::vector<Value> values{Value{Cell::text("secret")}};
    again.bind(values);
    try {
        again.step();
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.code() == Errc::constraint);
        CHECK(error.statement() == "INSERT INTO t VALUES ($1)");
        CHECK(std::string{error.what()}.find("secret") == std::string::npos);
    }
}

TEST_CASE("statement: nothing but a comment is no statement") {
    const Handle handle{":memory:", {}};
    Statement statement{handle, "-- nothing"};
    CHECK(statement.empty());
    statement.bind(nothing);
    CHECK_FALSE(statement.step());
    CHECK(Statement{handle, "SELECT 1; SELECT 2"}.tail() == "SELECT 2");
}
