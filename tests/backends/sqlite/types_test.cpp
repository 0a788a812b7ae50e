// SPDX-License-Identifier: MIT
#include <string>

#include <support/catch.hpp>

#include <aftertouch/sqlite/types.hpp>

using namespace aftertouch;
using sqlite::declared_type;

TEST_CASE("types: declared types give each column the affinity of what is stored in it") {
    CHECK(declared_type(ColumnType::int64) == "INTEGER");
    CHECK(declared_type(ColumnType::boolean) == "BOOLEAN"); // NUMERIC: 0 and 1 stay integers
    CHECK(declared_type(ColumnType::real64) == "REAL");
    CHECK(declared_type(ColumnType::blob) == "BLOB");
    for (const ColumnType type :
        {ColumnType::text, ColumnType::timestamp, ColumnType::date, ColumnType::uuid}) {
        CHECK(declared_type(type) == "TEXT");
    }
    CHECK(declared_type(ColumnType::any).empty());
}

TEST_CASE("types: SQLite's own classes pass as they are, the rest becomes integer or text") {
    std::string room;
    CHECK(sqlite::stored_form(Cell::integer(5), room) == Cell::integer(5));
    CHECK(sqlite::stored_form(Cell::boolean(true), room) == Cell::integer(1));
    CHECK(sqlite::stored_form(Cell::null(), room).is_null());
    CHECK(room.empty());
    CHECK(sqlite::stored_form(Cell::date(0), room) == Cell::text("1970-01-01"));
    CHECK(
        sqlite::stored_form(Cell::timestamp(0), room) == Cell::text("1970-01-01 00:00:00.000000"));
}
