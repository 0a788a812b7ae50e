// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <string>

#include <support/catch.hpp>

#include <aftertouch/postgres/types.hpp>

namespace at = aftertouch;

namespace types {

using at::Cell;
using at::postgres::Form;

namespace {

std::string written(Cell cell) {
    std::string text;
    at::postgres::append_text(text, cell);
    return text;
}

// What is written is read back.
void check_both_ways(Cell cell, Form form, const std::string& text) {
    at::postgres::Room room;
    INFO(text);
    CHECK(written(cell) == text);
    CHECK(at::postgres::cell_from(text, form, room) == cell);
}

} // namespace

TEST_CASE("C6: values have one text on PostgreSQL, both ways") {
    check_both_ways(Cell::boolean(true), Form::boolean, "t");
    check_both_ways(Cell::boolean(false), Form::boolean, "f");
    check_both_ways(Cell::integer(std::numeric_limits<std::int64_t>::min()), Form::integer,
        "-9223372036854775808");
    check_both_ways(Cell::integer(9007199254740993), Form::integer, "9007199254740993");
    check_both_ways(Cell::real(0.1), Form::real64, "0.1");
    check_both_ways(Cell::real(-0.0), Form::real64, "-0");
    check_both_ways(Cell::real(5e-324), Form::real64, "5e-324");
    check_both_ways(Cell::real(std::numeric_limits<double>::infinity()), Form::real64, "Infinity");
    check_both_ways(
        Cell::real(-std::numeric_limits<double>::infinity()), Form::real64, "-Infinity");
    check_both_ways(Cell::text("a\"b\\c"), Form::text, "a\"b\\c");
    check_both_ways(Cell::text(""), Form::text, "");
    check_both_ways(
        Cell::blob(at::detail::as_bytes(std::string_view{"\0\xff", 2})), Form::blob, "\\x00ff");
    check_both_ways(Cell::blob({}), Form::blob, "\\x");
    check_both_ways(Cell::date(0), Form::date, "1970-01-01");
    check_both_ways(Cell::timestamp(1), Form::timestamp, "1970-01-01 00:00:00.000001+00");
    const std::string uuid = "01234567-89ab-cdef-0123-456789abcdef";
    at::postgres::Room room;
    CHECK(written(at::postgres::cell_from(uuid, Form::uuid, room)) == uuid);
    CHECK(std::isnan(at::postgres::cell_from("NaN", Form::real64, room).as_real()));
}

TEST_CASE("C6: years before 1 and beyond 9999 are PostgreSQL's, both ways") {
    const std::int32_t caesar = *at::date_from("-0043-03-15"); // 44 BC: there was no year 0
    check_both_ways(Cell::date(caesar), Form::date, "0044-03-15 BC");
    check_both_ways(Cell::date(*at::date_from("0000-12-31")), Form::date, "0001-12-31 BC");
    check_both_ways(Cell::date(*at::date_from("+12345-01-01")), Form::date, "12345-01-01");
    check_both_ways(Cell::timestamp(*at::timestamp_from("-0043-03-15 12:00:00")), Form::timestamp,
        "0044-03-15 12:00:00.000000+00 BC");
    check_both_ways(Cell::timestamp(*at::timestamp_from("+12345-01-01 00:00:00")), Form::timestamp,
        "12345-01-01 00:00:00.000000+00");
}

TEST_CASE("C6: what PostgreSQL writes shorter is read") {
    at::postgres::Room room;
    const auto read = [&](std::string_view text, Form form) {
        return at::postgres::cell_from(text, form, room);
    };
    CHECK(read("2024-01-02 03:04:05+00", Form::timestamp) ==
          Cell::timestamp(*at::timestamp_from("2024-01-02 03:04:05")));
    CHECK(read("2024-01-02 03:04:05.5", Form::timestamp) ==
          Cell::timestamp(*at::timestamp_from("2024-01-02 03:04:05.5")));
    CHECK(read("0.1", Form::real32) == Cell::real(static_cast<double>(0.1F)));
    CHECK(read("1e+20", Form::real64) == Cell::real(1e20));
}

TEST_CASE("C6: what no field can hold is refused") {
    at::postgres::Room room;
    CHECK_THROWS_SAYING(at::postgres::cell_from("infinity", Form::timestamp, room), at::Error,
        "a finite timestamp");
    CHECK_THROWS_SAYING(
        at::postgres::cell_from("-infinity", Form::date, room), at::Error, "a finite date");
    CHECK_THROWS_SAYING(
        at::postgres::cell_from("abc", Form::integer, room), at::Error, "an integer");
    CHECK_THROWS_SAYING(written(Cell::text(std::string_view{"a\0b", 3})), at::Error, "NUL byte");
}

} // namespace types
