// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include <support/catch.hpp>

#include <aftertouch/time_text.hpp>

namespace at = aftertouch;

static_assert(at::date_from("1970-01-01") == 0);
static_assert(at::timestamp_from("1970-01-01T00:00:01Z") == 1'000'000);

namespace {

using Int64 = std::numeric_limits<std::int64_t>;
using Int32 = std::numeric_limits<std::int32_t>;

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t day = 86'400 * second;

} // namespace

TEST_CASE("time: dates as text") {
    CHECK(at::iso_date(0) == "1970-01-01");
    CHECK(at::iso_date(-1) == "1969-12-31");
    CHECK(at::iso_date(11'016) == "2000-02-29");
    CHECK(at::iso_date(-719'528) == "0000-01-01");
    CHECK(at::iso_date(-719'529) == "-0001-12-31");
    CHECK(at::iso_date(2'932'896) == "9999-12-31");
    CHECK(at::iso_date(2'932'897) == "+10000-01-01");
}

TEST_CASE("time: timestamps as text") {
    CHECK(at::iso_timestamp(0) == "1970-01-01 00:00:00.000000");
    CHECK(at::iso_timestamp(-1) == "1969-12-31 23:59:59.999999");
    CHECK(at::iso_timestamp(day - 1) == "1970-01-01 23:59:59.999999");
    CHECK(at::iso_timestamp(1'709'210'096'123'456) == "2024-02-29 12:34:56.123456");
}

TEST_CASE("time: the calendar is the one of std::chrono") {
    using namespace std::chrono;
    for (std::int32_t days = -800'000; days < 800'000; days += 37) {
        const year_month_day expected{sys_days{std::chrono::days{days}}};
        const at::detail::Civil civil = at::detail::civil_from(days);
        REQUIRE(civil.year == static_cast<int>(expected.year()));
        REQUIRE(civil.month == static_cast<unsigned>(expected.month()));
        REQUIRE(civil.day == static_cast<unsigned>(expected.day()));
        REQUIRE(at::detail::days_from(civil) == days);
    }
}

TEST_CASE("time: every date and every timestamp comes back from its text") {
    for (const std::int32_t days : {Int32::min(), Int32::min() + 1, -1, 0, 1, Int32::max()}) {
        CHECK(at::date_from(at::iso_date(days)) == days);
    }
    for (const std::int64_t us : {Int64::min(), Int64::min() + 1, -day - 1, -day, -day + 1,
             std::int64_t{-1}, std::int64_t{0}, day - 1, day, Int64::max()}) {
        CHECK(at::timestamp_from(at::iso_timestamp(us)) == us);
    }
    std::mt19937_64 random{1};
    for (int i = 0; i < 5000; ++i) {
        const auto us = static_cast<std::int64_t>(random()) >> random() % 64;
        const auto days = static_cast<std::int32_t>(random());
        REQUIRE(at::timestamp_from(at::iso_timestamp(us)) == us);
        REQUIRE(at::date_from(at::iso_date(days)) == days);
    }
}

TEST_CASE("time: one step beyond 64 bits there is nothing") {
    CHECK(at::iso_timestamp(Int64::max()) == "+294247-01-10 04:00:54.775807");
    CHECK_FALSE(at::timestamp_from("+294247-01-10 04:00:54.775808").has_value());
    CHECK(at::iso_timestamp(Int64::min()) == "-290308-12-21 19:59:05.224192");
    CHECK_FALSE(at::timestamp_from("-290308-12-21 19:59:05.224191").has_value());
    CHECK_FALSE(at::timestamp_from("+9999999-12-31 00:00").has_value());
    CHECK_FALSE(at::date_from("+9999999-12-31").has_value());
}

TEST_CASE("time: the spellings that databases and people use") {
    const std::int64_t expected = 1'709'210'096 * second; // 2024-02-29 12:34:56 UTC
    for (const std::string_view text :
        {"2024-02-29 12:34:56", "2024-02-29T12:34:56", "2024-02-29T12:34:56Z",
            "2024-02-29 12:34:56.0", "2024-02-29 12:34:56.000000000Z", "2024-02-29 14:34:56+02:00",
            "2024-02-29 14:34:56+02", "2024-02-29T07:04:56-05:30", "2024-02-29 12:34:56-00:00"}) {
        CAPTURE(text);
        CHECK(at::timestamp_from(text) == expected);
    }
    CHECK(at::timestamp_from("2024-02-29 12:34") == expected - 56 * second);
    CHECK(at::timestamp_from("2024-02-29 12:34Z") == expected - 56 * second);
    CHECK(at::timestamp_from("2024-02-29 12:34:56.5") == expected + 500'000);
    CHECK(at::timestamp_from("2024-02-29 12:34:56.000001") == expected + 1);
    CHECK(at::timestamp_from("1970-01-01 00:30+01:00") == -1'800 * second);
    CHECK(at::timestamp_from("1969-12-31 23:30-01:00") == 1'800 * second);
}

TEST_CASE("time: what isn't a date is nothing") {
    for (const std::string_view text :
        {"", "2024", "2024-02", "2024-02-30", "2023-02-29", "1900-02-29", "2024-00-01",
            "2024-13-01", "2024-01-00", "2024-01-32", "2024-04-31", "24-01-01", "2024-1-1",
            "20240101", "2024/01/01", "2024-01-01 ", " 2024-01-01", "2024-01-01T00:00",
            "12024-01-01", "+024-01-01", "now", "2024-01-0a", "--2024-01-01", "+-2024-01-01"}) {
        CAPTURE(text);
        CHECK_FALSE(at::date_from(text).has_value());
    }
}

TEST_CASE("time: what isn't a timestamp is nothing") {
    for (const std::string_view text : {"", "2024-02-29", "2024-02-29 ", "2024-02-29 12",
             "2024-02-29 12:3", "2024-02-29 24:00", "2024-02-29 12:60", "2024-02-29 12:34:60",
             "2024-02-29 12:34:56.", "2024-02-29 12:34:5", "2024-02-29 12:34:56.0000001",
             "2024-02-29 12:34:56 Z", "2024-02-29 12:34:56z", "2024-02-29 12:34:56+2",
             "2024-02-29 12:34:56+24:00", "2024-02-29 12:34:56+02:60", "2024-02-29 12:34:56+",
             "2024-02-29  12:34", "2024-02-29t12:34", "2024-02-30 12:34", "12:34:56", "2460370.5",
             "2024-02-29 12:34:56.5.5", "2024-02-29 12:34ZZ", "2024-02-29 -1:34"}) {
        CAPTURE(text);
        CHECK_FALSE(at::timestamp_from(text).has_value());
    }
}

TEST_CASE("time: garbage is refused without harm") {
    std::mt19937_64 random{3};
    constexpr std::string_view alphabet = "0123456789-:. TZ+";
    for (int i = 0; i < 20000; ++i) {
        std::string text = "2024-02-29 12:34:56.123456+01:00";
        for (int changes = 0; changes < 3; ++changes) {
            text[random() % text.size()] = alphabet[random() % alphabet.size()];
        }
        text.resize(random() % (text.size() + 1));
        if (const auto us = at::timestamp_from(text)) {
            REQUIRE(at::timestamp_from(at::iso_timestamp(*us)) == *us);
        }
    }
}
