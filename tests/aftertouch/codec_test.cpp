// SPDX-License-Identifier: MIT
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <ratio>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/codec.hpp>
#include <aftertouch/error.hpp>

namespace at = aftertouch;
using at::Cell;
using at::ColumnType;
using at::Value;
using namespace std::string_literals;
using namespace std::chrono_literals;

namespace {

enum class State : std::uint8_t { open, paid };
enum class Letter : char { a = 'a', high = -100 };
enum class Flag : bool { off, on };
enum Plain : int { first, second };

struct Money {
    std::int64_t cents = 0;
    friend bool operator==(const Money&, const Money&) = default;
};

/// Stored as text, although it is an enum.
enum class Color { red, green };

/// Stored as what is itself stored by a codec.
struct Price {
    Money money;
};

/// Null stands for "unknown".
struct Unknowable {
    int value = -1;
};

struct Unmapped {
    int a, b;
};

struct Halfway {
    int value = 0;
};

} // namespace

template <>
struct aftertouch::Codec<Money> {
    static std::int64_t encode(const Money& money) { return money.cents; }
    static Money decode(const std::int64_t& cents) { return {cents}; }
};

template <>
struct aftertouch::Codec<Color> {
    static std::string encode(const Color& color) { return color == Color::red ? "red" : "green"; }
    static Color decode(const std::string& text) {
        if (text != "red" && text != "green") {
            throw at::Error{
                at::Errc::value_mismatch, "holds text that is no color: correct the row"};
        }
        return text == "red" ? Color::red : Color::green;
    }
};

template <>
struct aftertouch::Codec<Price> {
    static Money encode(const Price& price) { return price.money; }
    static Price decode(const Money& money) { return {money}; }
};

template <>
struct aftertouch::Codec<Unknowable> {
    static std::optional<int> encode(const Unknowable& u) {
        return u.value < 0 ? std::nullopt : std::optional{u.value};
    }
    static Unknowable decode(const std::optional<int>& value) { return {value.value_or(-1)}; }
};

template <>
struct aftertouch::Codec<Halfway> { // can be written, but not read
    static int encode(const Halfway& half) { return half.value; }
};

// --- what can be a column ------------------------------------------------------------------------

template <class... T>
constexpr bool all_mapped = (at::Mapped<T> && ...);
template <class... T>
constexpr bool none_mapped = (!at::Mapped<T> && ...);
template <class... T>
constexpr bool all_keys = (at::KeyPart<T> && ...);
template <class... T>
constexpr bool none_keys = (!at::KeyPart<T> && ...);

using Bytes = std::vector<std::byte>;
using Octets = std::vector<std::uint8_t>;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;
using Clock = std::chrono::system_clock;
using Micros = std::chrono::sys_time<std::chrono::microseconds>;
using Nanos = std::chrono::sys_time<std::chrono::nanoseconds>;

static_assert(all_mapped<signed char, unsigned char, short, unsigned short, int, unsigned, long,
    unsigned long, long long, unsigned long long>);
static_assert(all_mapped<bool, float, double, std::string, Bytes, Octets, Value>);
static_assert(all_mapped<State, Letter, Plain, Color, Money, Price, Unknowable>);
static_assert(all_mapped<Clock::time_point, Micros, sys_seconds, sys_days, year_month_day>);
static_assert(all_mapped<std::optional<int>, std::optional<std::string>, std::optional<Money>>);

static_assert(none_mapped<char, wchar_t, char8_t, char16_t, char32_t, long double>);
static_assert(none_mapped<const char*, std::string_view, char[4], void, int*, int&, const int>);
static_assert(none_mapped<Unmapped, Halfway, Flag, std::map<int, int>, std::vector<int>>);
static_assert(none_mapped<std::vector<char>, std::vector<bool>, std::wstring>);
static_assert(none_mapped<std::optional<Unmapped>, std::optional<std::optional<int>>>);
static_assert(none_mapped<std::optional<Value>, std::optional<Unknowable>>);
static_assert(none_mapped<std::chrono::steady_clock::time_point, std::chrono::seconds>);
static_assert(none_mapped<std::chrono::sys_time<std::chrono::duration<double>>>);

static_assert(all_keys<int, std::uint64_t, State, std::string, Bytes, Octets, Money, Price, Color>);
static_assert(all_keys<Clock::time_point, sys_days, year_month_day>);
static_assert(none_keys<bool, float, double, Value, std::optional<int>, Unknowable, Unmapped>);

static_assert(at::column_type<std::int8_t> == ColumnType::int16);
static_assert(at::column_type<std::uint8_t> == ColumnType::int16);
static_assert(at::column_type<std::uint16_t> == ColumnType::int32);
static_assert(at::column_type<std::int32_t> == ColumnType::int32);
static_assert(at::column_type<std::uint32_t> == ColumnType::int64);
static_assert(at::column_type<std::uint64_t> == ColumnType::int64);
static_assert(at::column_type<State> == ColumnType::int16);
static_assert(at::column_type<Color> == ColumnType::text);
static_assert(at::column_type<Price> == ColumnType::int64);
static_assert(at::column_type<float> == ColumnType::real32);
static_assert(at::column_type<std::optional<double>> == ColumnType::real64);
static_assert(at::column_type<sys_days> == ColumnType::date);
static_assert(at::column_type<sys_seconds> == ColumnType::timestamp);
static_assert(at::column_type<Value> == ColumnType::any);

static_assert(at::nullable<std::optional<int>> && at::nullable<Value> && at::nullable<Unknowable>);
static_assert(!at::nullable<int> && !at::nullable<std::string> && !at::nullable<Money>);

namespace {

template <class T>
T decoded(Cell cell) {
    T out{};
    at::decode(cell, out);
    return out;
}

/// Whether a value comes back from its cell and from a copy of it.
template <class T>
bool comes_back(const T& value) {
    const Value copy = at::to_value(value);
    return at::with_cell(value, [](Cell cell) { return decoded<T>(cell); }) == value &&
           decoded<T>(copy) == value;
}

template <class T>
std::string refusal(Cell cell) {
    T out{};
    try {
        at::decode(cell, out);
    } catch (const at::Error& error) {
        CHECK(error.code() == at::Errc::value_mismatch);
        return error.what();
    }
    return "nothing was refused";
}

template <class Int>
void check_both_ends() {
    using Limits = std::numeric_limits<Int>;
    CHECK(comes_back<Int>(Limits::min()));
    CHECK(comes_back<Int>(Limits::max()));
    CHECK(comes_back<Int>(0));
    CHECK(refusal<Int>(Cell::integer(std::int64_t{Limits::max()} + 1))
            .starts_with("holds an integer that isn't within"));
    CHECK(refusal<Int>(Cell::integer(std::int64_t{Limits::min()} - 1))
            .starts_with("holds an integer that isn't within"));
}

} // namespace

TEST_CASE("codec: integers come back from both ends of every width, and go no further") {
    check_both_ends<std::int8_t>();
    check_both_ends<std::uint8_t>();
    check_both_ends<std::int16_t>();
    check_both_ends<std::uint16_t>();
    check_both_ends<std::int32_t>();
    check_both_ends<std::uint32_t>();
    CHECK(comes_back(std::numeric_limits<std::int64_t>::min()));
    CHECK(comes_back(std::numeric_limits<std::int64_t>::max()));
    CHECK(comes_back(std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
    CHECK(refusal<std::uint64_t>(Cell::integer(-1)).starts_with("holds an integer that isn't"));
}

TEST_CASE("codec: an unsigned integer above the largest signed one can't be written") {
    CHECK_THROWS_SAYING(at::to_value(std::uint64_t{1} << 63), at::Error, "2^63-1");
    CHECK_THROWS_AS(at::to_value(~std::uint64_t{0}), at::Error);
    CHECK_THROWS_AS(at::to_value(std::optional{~std::uint64_t{0}}), at::Error);
}

TEST_CASE("codec: an integer is read from an integral real and from a boolean, exactly") {
    CHECK(decoded<int>(Cell::real(7.0)) == 7);
    CHECK(decoded<int>(Cell::real(-0.0)) == 0);
    CHECK(decoded<int>(Cell::boolean(true)) == 1);
    CHECK(decoded<std::int64_t>(Cell::real(-9223372036854775808.0)) ==
          std::numeric_limits<std::int64_t>::min());
    CHECK(decoded<std::int64_t>(Cell::real(9223372036854774784.0)) == 9223372036854774784);
    for (const double real : {0.5, -1.25, 1e300, 9223372036854775808.0, -9223372036854777856.0,
             std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
             std::numeric_limits<double>::denorm_min()}) {
        CHECK(refusal<std::int64_t>(Cell::real(real)) ==
              "holds a real that isn't an integer of 64 bits: change the row or the field's type");
    }
    CHECK(refusal<std::int8_t>(Cell::real(128.0)).starts_with("holds a real that isn't within"));
    CHECK(refusal<int>(Cell::text("7")) ==
          "holds text where an integer is expected: change the row or the field's type");
    CHECK(refusal<int>(Cell::timestamp(7)).starts_with("holds a timestamp where an integer"));
}

TEST_CASE("codec: booleans are 0 and 1") {
    CHECK(comes_back(true));
    CHECK(comes_back(false));
    CHECK(decoded<bool>(Cell::integer(1)));
    CHECK_FALSE(decoded<bool>(Cell::integer(0)));
    CHECK(refusal<bool>(Cell::integer(2)).starts_with("holds an integer that isn't a boolean"));
    CHECK(refusal<bool>(Cell::real(1.0)).starts_with("holds a real where a boolean"));
    CHECK(refusal<bool>(Cell::text("t")).starts_with("holds text where a boolean"));
}

TEST_CASE("codec: every double comes back bit for bit") {
    using Limits = std::numeric_limits<double>;
    std::mt19937_64 random{5};
    std::vector<double> reals{0.0, -0.0, Limits::min(), Limits::max(), Limits::lowest(),
        Limits::denorm_min(), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), 0.1,
        1e-300};
    for (int i = 0; i < 1000; ++i) { reals.push_back(std::bit_cast<double>(random())); }
    for (const double real : reals) {
        const auto back = decoded<double>(at::to_value(real));
        REQUIRE(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(real));
    }
}

TEST_CASE("codec: a double is read from an integer that it holds exactly") {
    constexpr std::int64_t limit = std::int64_t{1} << 53;
    CHECK(decoded<double>(Cell::integer(limit)) == 9007199254740992.0);
    CHECK(decoded<double>(Cell::integer(-limit)) == -9007199254740992.0);
    CHECK(
        refusal<double>(Cell::integer(limit + 1)).starts_with("holds an integer that isn't exact"));
    CHECK(refusal<double>(Cell::integer(-limit - 1))
            .starts_with("holds an integer that isn't exact"));
    CHECK(refusal<double>(Cell::text("1.5")).starts_with("holds text where a real"));
    CHECK(refusal<double>(Cell::boolean(true)).starts_with("holds a boolean where a real"));
}

TEST_CASE("codec: a float takes a rounded double, but none beyond its range") {
    using Limits = std::numeric_limits<float>;
    for (const float real : {0.0F, -0.0F, 0.1F, Limits::max(), Limits::lowest(), Limits::min(),
             Limits::denorm_min(), Limits::infinity(), -Limits::infinity()}) {
        CHECK(comes_back(real));
    }
    CHECK(std::isnan(decoded<float>(at::to_value(Limits::quiet_NaN()))));
    CHECK(decoded<float>(Cell::real(0.1)) == 0.1F);
    CHECK(refusal<float>(Cell::real(1e39)).starts_with("holds a real that isn't within"));
    CHECK(refusal<float>(Cell::real(-1e39)).starts_with("holds a real that isn't within"));
}

TEST_CASE("codec: text is bytes, and not null when empty") {
    for (const std::string& text :
        {""s, "\0"s, "a\0b"s, "caf\u00e9"s, "\xff\xfe"s, std::string(5000, 'x')}) {
        CHECK(comes_back(text));
        CHECK(comes_back(std::optional{text}));
    }
    CHECK(at::to_value(""s) == Value{Cell::text("")});
    CHECK(at::to_value(std::optional<std::string>{}) == Value{});
    CHECK(decoded<std::optional<std::string>>(Cell::text("")) == std::optional{""s});
    CHECK(refusal<std::string>(Cell::integer(1)).starts_with("holds an integer where text"));
    CHECK(refusal<std::string>(Cell::blob({})).starts_with("holds a blob where text"));
}

TEST_CASE("codec: blobs are bytes, and not text") {
    Bytes bytes;
    Octets octets;
    for (int i = 0; i < 256; ++i) {
        bytes.push_back(static_cast<std::byte>(i));
        octets.push_back(static_cast<std::uint8_t>(i));
    }
    CHECK(comes_back(bytes));
    CHECK(comes_back(octets));
    CHECK(comes_back(Bytes{}));
    CHECK(at::to_value(bytes) == at::to_value(octets));
    CHECK(refusal<Bytes>(Cell::text("a")).starts_with("holds text where a blob"));
    CHECK(refusal<Octets>(Cell::null()).starts_with("holds null where a blob"));
}

TEST_CASE("codec: null goes into an optional and nowhere else") {
    std::optional<int> number = 5;
    at::decode(Cell::null(), number);
    CHECK_FALSE(number.has_value());
    at::decode(Cell::integer(7), number);
    CHECK(number == 7);
    CHECK(refusal<int>(Cell::null()) ==
          "holds null where an integer is expected: declare the field "
          "as std::optional or forbid null in the column");
    CHECK(refusal<double>(Cell::null()).find("std::optional") != std::string::npos);
    CHECK(refusal<std::string>(Cell::null()).find("std::optional") != std::string::npos);
    CHECK(refusal<sys_days>(Cell::null()).find("std::optional") != std::string::npos);
    CHECK(refusal<sys_seconds>(Cell::null()).find("std::optional") != std::string::npos);
    CHECK(refusal<Money>(Cell::null()).find("std::optional") != std::string::npos);
}

TEST_CASE("codec: what is refused leaves the object as it was") {
    std::string text = "before";
    CHECK_THROWS(at::decode(Cell::integer(1), text));
    CHECK(text == "before");
    std::optional<int> number = 5;
    CHECK_THROWS(at::decode(Cell::text("x"), number));
    CHECK(number == 5);
    std::optional<int> nothing;
    CHECK_THROWS(at::decode(Cell::text("x"), nothing));
    CHECK_FALSE(nothing.has_value());
    Color color = Color::green;
    CHECK_THROWS(at::decode(Cell::text("blue"), color));
    CHECK(color == Color::green);
}

TEST_CASE("codec: reading into an object reuses its storage") {
    std::string text(1000, 'x');
    const char* const storage = text.data();
    at::decode(Cell::text("short"), text);
    CHECK(text == "short");
    CHECK(text.data() == storage);

    std::optional<std::string> maybe = std::string(1000, 'x');
    const char* const maybe_storage = maybe->data();
    at::decode(Cell::text(std::string(900, 'y')), maybe);
    CHECK(maybe->data() == maybe_storage);

    Bytes bytes(1000);
    const std::byte* const bytes_storage = bytes.data();
    at::decode(Cell::blob({}), bytes);
    at::decode(Cell::blob(Bytes(900)), bytes);
    CHECK(bytes.data() == bytes_storage);
}

TEST_CASE("codec: a cell looks at the value itself, nothing is copied") {
    const std::string text(1000, 'x');
    at::with_cell(text, [&](Cell cell) { CHECK(cell.bytes().data() == text.data()); });
    const std::optional<std::string> maybe = text;
    at::with_cell(maybe, [&](Cell cell) { CHECK(cell.bytes().data() == maybe->data()); });
    const Bytes bytes(10);
    at::with_cell(bytes,
        [&](Cell cell) { CHECK(static_cast<const void*>(cell.bytes().data()) == bytes.data()); });
    const Value value{Cell::text(text)};
    at::with_cell(
        value, [&](Cell cell) { CHECK(cell.bytes().data() == value.cell().bytes().data()); });
}

TEST_CASE("codec: with_cell hands on what the function returns") {
    int number = 0;
    int& reference = at::with_cell(5, [&](Cell) -> int& { return number; });
    CHECK(&reference == &number);
    CHECK(at::with_cell(std::optional<int>{}, [](Cell cell) { return cell.is_null(); }));
    CHECK(at::with_cell(Color::red, [](Cell cell) { return std::string{cell.bytes()}; }) == "red");
}

TEST_CASE("codec: enums are their numbers, unless a codec says otherwise") {
    CHECK(comes_back(State::paid));
    CHECK(comes_back(Letter::high));
    CHECK(comes_back(second));
    CHECK(at::to_value(Letter::a) == Value{Cell::integer('a')});
    CHECK(refusal<State>(Cell::integer(256)).starts_with("holds an integer that isn't within"));
    CHECK(refusal<State>(Cell::text("paid")).starts_with("holds text where an integer"));
    CHECK(comes_back(Color::green));
    CHECK(at::to_value(Color::green) == Value{Cell::text("green")});
    CHECK(refusal<Color>(Cell::text("blue")) == "holds text that is no color: correct the row");
}

TEST_CASE("codec: codecs may stand on codecs, and on optionals") {
    CHECK(comes_back(Money{-5}));
    CHECK(comes_back(std::optional{Money{7}}));
    CHECK(at::to_value(Price{{9}}) == Value{Cell::integer(9)});
    CHECK(decoded<Price>(Cell::integer(9)).money.cents == 9);
    CHECK(at::to_value(Unknowable{}) == Value{});
    CHECK(decoded<Unknowable>(Cell::null()).value == -1);
    CHECK(decoded<Unknowable>(Cell::integer(3)).value == 3);
}

TEST_CASE("codec: a Value takes whatever there is") {
    for (const Cell cell : {Cell::null(), Cell::integer(1), Cell::real(1), Cell::text("x"),
             Cell::timestamp(1), Cell::date(1), Cell::boolean(true)}) {
        CHECK(decoded<Value>(cell).cell() == cell);
        CHECK(comes_back(Value{cell}));
    }
}

TEST_CASE("codec: time points are microseconds") {
    CHECK(at::to_value(Micros{1us}) == Value{Cell::timestamp(1)});
    CHECK(at::to_value(sys_seconds{-1s}) == Value{Cell::timestamp(-1'000'000)});
    CHECK(comes_back(sys_seconds{1'709'210'096s}));
    CHECK(comes_back(Micros{Micros::duration::min()}));
    CHECK(comes_back(Micros{Micros::duration::max()}));
    CHECK(comes_back(std::chrono::floor<std::chrono::microseconds>(Clock::now())));
    CHECK(
        comes_back(std::chrono::sys_time<std::chrono::duration<std::int32_t, std::ratio<3600>>>{}));
}

TEST_CASE("codec: nanoseconds are cut off towards the past") {
    CHECK(at::to_value(Nanos{1'999ns}) == Value{Cell::timestamp(1)});
    CHECK(at::to_value(Nanos{-1ns}) == Value{Cell::timestamp(-1)});
    CHECK(decoded<Nanos>(Cell::timestamp(-1)) == Nanos{-1us});
    CHECK(refusal<Nanos>(Cell::timestamp(std::numeric_limits<std::int64_t>::max()))
            .starts_with("holds a time that the field's duration can't hold"));
}

TEST_CASE("codec: a time that the other side can't count is refused") {
    using Years = std::chrono::sys_time<std::chrono::years>;
    using Short = std::chrono::sys_time<std::chrono::duration<std::int16_t>>;
    CHECK_THROWS_SAYING(
        at::to_value(Years{std::chrono::years{300'000}}), at::Error, "holds a time beyond");
    CHECK_THROWS_SAYING(
        at::to_value(sys_seconds{sys_seconds::duration::max()}), at::Error, "holds a time beyond");
    CHECK_THROWS_SAYING(
        at::to_value(sys_seconds{sys_seconds::duration::min()}), at::Error, "holds a time beyond");
    CHECK(refusal<sys_seconds>(Cell::timestamp(1)).find("without loss") != std::string::npos);
    CHECK(
        refusal<Short>(Cell::timestamp(32'768'000'000)).find("without loss") != std::string::npos);
    CHECK(decoded<Short>(Cell::timestamp(-32'768'000'000)) == Short{Short::duration{-32'768}});
}

TEST_CASE("codec: a time point is read from the forms that SQLite's manual names") {
    const Micros expected{
        std::chrono::sys_days{std::chrono::year{2024} / 2 / 29} + 12h + 34min + 56s};
    CHECK(decoded<Micros>(Cell::text("2024-02-29 12:34:56")) == expected);
    CHECK(decoded<Micros>(Cell::text("2024-02-29T14:34:56.000+02:00")) == expected);
    CHECK(decoded<Micros>(Cell::integer(1'709'210'096)) == expected);
    CHECK(decoded<Micros>(Cell::real(2460370.0242592594)) == expected); // julianday() of it
    CHECK(decoded<Micros>(Cell::real(2440587.5)) == Micros{});
    CHECK(decoded<Micros>(Cell::real(0.0)) == Micros{-210'866'760'000s});
    CHECK(decoded<Micros>(Cell::integer(-1)) == Micros{-1s});
    for (const Cell cell : {Cell::text("yesterday"), Cell::text("2024-02-29"), Cell::real(-1.0),
             Cell::real(5373484.5), Cell::real(std::numeric_limits<double>::quiet_NaN()),
             Cell::integer(std::numeric_limits<std::int64_t>::max()),
             Cell::integer(std::numeric_limits<std::int64_t>::min())}) {
        CHECK(refusal<Micros>(cell).find("isn't a timestamp") != std::string::npos);
    }
    CHECK(refusal<Micros>(Cell::boolean(true)).starts_with("holds a boolean where a timestamp"));
    CHECK(refusal<Micros>(Cell::date(1)).starts_with("holds a date where a timestamp"));
}

TEST_CASE("codec: a clock with an odd period counts to both of its ends") {
    using Thirds = std::chrono::sys_time<std::chrono::duration<std::int64_t, std::ratio<1, 3>>>;
    using Limits = std::numeric_limits<std::int64_t>;
    CHECK(at::to_value(Thirds{Thirds::duration{-1}}) == Value{Cell::timestamp(-333'334)});
    CHECK(comes_back(Thirds{Thirds::duration{-3}}));
    CHECK_THROWS_AS(at::to_value(Thirds{Thirds::duration{Limits::min()}}), at::Error);
    CHECK_THROWS_AS(at::to_value(Thirds{Thirds::duration{Limits::max()}}), at::Error);
    CHECK(
        refusal<Thirds>(Cell::timestamp(Limits::min())).find("without loss") != std::string::npos);
    CHECK(refusal<Thirds>(Cell::timestamp(1)).find("without loss") != std::string::npos);
}

TEST_CASE("codec: dates are days") {
    const year_month_day leap = std::chrono::year{2024} / 2 / 29;
    CHECK(comes_back(leap));
    CHECK(comes_back(sys_days{leap}));
    CHECK(at::to_value(leap) == at::to_value(sys_days{leap}));
    CHECK(decoded<year_month_day>(Cell::text("2024-02-29")) == leap);
    CHECK(comes_back(sys_days{std::chrono::days{std::numeric_limits<std::int32_t>::min()}}));
    CHECK(comes_back(year_month_day{std::chrono::year::min() / 1 / 1}));
    CHECK(comes_back(year_month_day{std::chrono::year::max() / 12 / 31}));
    CHECK(refusal<year_month_day>(Cell::date(2'000'000'000))
            .starts_with("holds a date that isn't within the years"));
    CHECK(refusal<sys_days>(Cell::text("2024-02-30")).starts_with("holds text that isn't a date"));
    CHECK(refusal<sys_days>(Cell::timestamp(0)).starts_with("holds a timestamp where a date"));
    CHECK(refusal<sys_days>(Cell::integer(0)).starts_with("holds an integer where a date"));
    CHECK_THROWS_SAYING(at::to_value(year_month_day{std::chrono::year{2023} / 2 / 29}), at::Error,
        "holds a date that no calendar has");
    CHECK_THROWS_SAYING(
        at::to_value(sys_days{std::chrono::days{3'000'000'000}}), at::Error, "holds a date beyond");
}

TEST_CASE("codec: no refusal repeats the value") {
    CHECK(refusal<int>(Cell::text("secret")).find("secret") == std::string::npos);
    CHECK(refusal<sys_days>(Cell::text("secret")).find("secret") == std::string::npos);
    CHECK(refusal<std::int8_t>(Cell::integer(31415)).find("31415") == std::string::npos);
}
