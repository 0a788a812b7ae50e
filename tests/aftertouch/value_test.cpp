// SPDX-License-Identifier: MIT
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/value.hpp>

namespace at = aftertouch;
using at::Cell;
using at::Kind;
using at::Value;
using namespace std::string_literals;

static_assert(sizeof(Cell) == 24);
static_assert(std::is_trivially_copyable_v<Cell>);
static_assert(std::is_nothrow_move_constructible_v<Value>);
static_assert(Cell::null().is_null() && Cell{} == Cell::null());
static_assert(Cell::integer(-7).as_integer() == -7);
static_assert(Cell::text("abc").bytes() == "abc");
static_assert(Cell::real(2.5).as_real() == 2.5);

namespace {

using Int64 = std::numeric_limits<std::int64_t>;
using Double = std::numeric_limits<double>;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span{text});
}

/// The corners of every kind, no two the same.
std::vector<Value> corners() {
    std::vector<Value> out;
    const auto add = [&](Cell cell) { out.emplace_back(cell); };
    add(Cell::null());
    add(Cell::boolean(false));
    add(Cell::boolean(true));
    for (const std::int64_t number :
        {Int64::min(), std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, Int64::max()}) {
        add(Cell::integer(number));
        add(Cell::timestamp(number));
    }
    for (const double real :
        {0.0, -0.0, 1.0, -1.5, Double::min(), Double::denorm_min(), Double::max(), Double::lowest(),
            Double::epsilon(), Double::infinity(), -Double::infinity(), Double::quiet_NaN(),
            -Double::quiet_NaN(), std::bit_cast<double>(0x7ff8000000000123ULL)}) {
        add(Cell::real(real));
    }
    for (const std::string& text : {""s, "\0"s, "a\0b"s, "n"s, "i1"s, "caf\u00e9"s, "'\""s,
             "not \xff utf-8"s, std::string(300, 'x')}) {
        add(Cell::text(text));
        add(Cell::blob(bytes_of(text)));
    }
    for (const std::int32_t days : {std::numeric_limits<std::int32_t>::min(), -1, 0,
             std::numeric_limits<std::int32_t>::max()}) {
        add(Cell::date(days));
    }
    add(Cell::uuid(bytes_of("0123456789abcdef"s).first<16>()));
    add(Cell::uuid(bytes_of(std::string(16, '\0')).first<16>()));
    return out;
}

} // namespace

TEST_CASE("cell: each kind answers for itself and gives nothing for the others") {
    const std::string bytes = "0123456789abcdef";
    const std::vector<Cell> cells{Cell::null(), Cell::boolean(true), Cell::integer(5),
        Cell::real(2.5), Cell::text(bytes), Cell::blob(bytes_of(bytes)), Cell::timestamp(5),
        Cell::date(5), Cell::uuid(bytes_of(bytes).first<16>())};
    const std::vector<std::int64_t> integers{0, 1, 5, 0, 0, 0, 5, 5, 0};
    const std::vector<std::size_t> sizes{0, 1, 8, 8, 16, 16, 8, 4, 16};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell cell = cells[i];
        CHECK(cell.kind() == static_cast<Kind>(i));
        CHECK(cell.is_null() == (i == 0));
        CHECK(cell.as_integer() == integers[i]);
        CHECK(cell.as_real() == (cell.kind() == Kind::real ? 2.5 : 0.0));
        CHECK(cell.bytes() == (sizes[i] == 16 ? bytes : ""));
        CHECK(cell.size() == sizes[i]);
    }
}

TEST_CASE("cell: equality is of kind and bits") {
    CHECK(Cell::integer(1) == Cell::integer(1));
    CHECK(Cell::integer(1) != Cell::boolean(true));
    CHECK(Cell::text("") != Cell::null());
    CHECK(Cell::real(0.0) != Cell::real(-0.0));
    CHECK(Cell::real(Double::quiet_NaN()) == Cell::real(Double::quiet_NaN()));
    CHECK(Cell::text("a") != Cell::blob(bytes_of("a"s)));
}

TEST_CASE("cell: every kind has a noun for messages") {
    std::set<std::string_view> nouns;
    for (int kind = 0; kind <= static_cast<int>(Kind::uuid); ++kind) {
        nouns.insert(at::name(static_cast<Kind>(kind)));
    }
    CHECK(nouns.size() == 9);
    CHECK(nouns.count("an integer") == 1);
}

TEST_CASE("value: it holds what the cell showed, also when that is gone") {
    Value value;
    CHECK(value.is_null());
    {
        const std::string text(100, 'x');
        value = Cell::text(text);
    }
    CHECK(value.kind() == Kind::text);
    CHECK(value.cell().bytes() == std::string(100, 'x'));
    const Cell cell = value; // a value is good where a cell is wanted
    CHECK(cell == value.cell());
    value = {};
    CHECK(value.is_null());
    CHECK(value == Value{});
}

TEST_CASE("value: assigning keeps the storage") {
    Value value{Cell::text(std::string(1000, 'x'))};
    const char* const storage = value.cell().bytes().data();
    value = Cell::integer(1);
    value = Cell::text(std::string(900, 'y'));
    CHECK(value.cell().bytes().data() == storage);
    CHECK(value.cell().bytes() == std::string(900, 'y'));
}

TEST_CASE("value: it may be assigned a look at itself") {
    Value value{Cell::text("abcdef")};
    value = value.cell();
    CHECK(value.cell().bytes() == "abcdef");
    value = Cell::text(value.cell().bytes().substr(2));
    CHECK(value.cell().bytes() == "cdef");
}

TEST_CASE("value: a regular type with a total order") {
    const std::vector<Value> values = corners();
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = 0; j < values.size(); ++j) {
            CHECK((values[i] == values[j]) == (i == j));
            CHECK((values[i] < values[j]) == (values[j] > values[i]));
        }
    }
    const std::set<Value> set(values.begin(), values.end());
    CHECK(set.size() == values.size());
    CHECK(Value{Cell::integer(-1)} < Value{Cell::integer(0)});
    CHECK(Value{Cell::text("a")} < Value{Cell::text("b")});
    CHECK(Value{} < Value{Cell::boolean(false)});
}

TEST_CASE("value: the text form is a format") {
    const auto [cell, text] = GENERATE(table<Cell, std::string>({
        {Cell::null(), "n"},
        {Cell::boolean(false), "b0"},
        {Cell::boolean(true), "b1"},
        {Cell::integer(-42), "i-42"},
        {Cell::integer(Int64::min()), "i-9223372036854775808"},
        {Cell::real(1.0), "r3ff0000000000000"},
        {Cell::real(-0.0), "r8000000000000000"},
        {Cell::text(""), "t"},
        {Cell::text("a\xc3\xa9"), "t61c3a9"},
        {Cell::text({"\0", 1}), "t00"},
        {Cell::blob({}), "x"},
        {Cell::timestamp(-1), "m-1"},
        {Cell::date(19000), "d19000"},
    }));
    CHECK(at::to_text(Value{cell}) == text);
    CHECK(at::value_from(text) == Value{cell});
}

TEST_CASE("value: every corner comes back from its text, and no two share one") {
    const std::vector<Value> values = corners();
    std::set<std::string> texts;
    for (const Value& value : values) {
        const std::string text = at::to_text(value);
        CHECK(at::value_from(text) == value);
        CHECK(text.find_first_not_of("-0123456789abcdefghijklmnopqrstuvwxyz") == std::string::npos);
        texts.insert(text);
    }
    CHECK(texts.size() == values.size());
}

TEST_CASE("value: random values come back from their text") {
    std::mt19937_64 random{20240229};
    for (int i = 0; i < 2000; ++i) {
        std::string bytes(random() % 40, '\0');
        for (char& byte : bytes) { byte = static_cast<char>(random()); }
        const auto number = static_cast<std::int64_t>(random() >> random() % 64);
        for (const Value& value : {Value{Cell::integer(number)}, Value{Cell::integer(-number)},
                 Value{Cell::real(std::bit_cast<double>(number))}, Value{Cell::text(bytes)},
                 Value{Cell::blob(bytes_of(bytes))}, Value{Cell::timestamp(number)},
                 Value{Cell::date(static_cast<std::int32_t>(number))}}) {
            REQUIRE(at::value_from(at::to_text(value)) == value);
        }
    }
}

TEST_CASE("value: the parser takes nothing that wasn't written by the writer") {
    for (const std::string_view text : {"", " n", "n ", "nn", "N", "null", "b", "b2", "b-1", "b01",
             "b00", "i", "i+1", "i-0", "i01", "i1 ", "i9223372036854775808", "i1.0", "r", "r0",
             "r3ff000000000000", "r3ff00000000000000", "r3FF0000000000000", "rnan", "t0", "tg0",
             "tAB", "x0", "x0x0", "m", "m1s", "d", "d2147483648", "d-2147483649", "u", "u00",
             "u000102030405060708090a0b0c0d0e", "u000102030405060708090a0b0c0d0e0f10", "z1", "1",
             "-1"}) {
        CAPTURE(text);
        CHECK_FALSE(at::value_from(text).has_value());
    }
    CHECK_FALSE(at::value_from("i1\0"s).has_value());
}

TEST_CASE("value: whatever the parser takes, it gives back to the letter") {
    std::mt19937_64 random{7};
    constexpr std::string_view alphabet = "nbirtxmdu-0123456789abcdef";
    int taken = 0;
    for (int i = 0; i < 50000; ++i) {
        std::string text(1 + random() % 6, '\0');
        for (char& c : text) { c = alphabet[random() % alphabet.size()]; }
        if (const std::optional<Value> value = at::value_from(text)) {
            ++taken;
            REQUIRE(at::to_text(*value) == text);
        }
    }
    CHECK(taken > 1000);
}
