// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/row.hpp>

namespace at = aftertouch;
using at::Cell;

namespace row_test {

struct Total {
    std::string customer;
    double amount = 0.0;
};
struct Order {
    std::int64_t id{};
    std::string customer;
    std::optional<double> amount;
};
struct Line {
    int order{};
    int number{};
};
struct NoColumn {
    int* pointer;
};
struct Money {
    std::int64_t cents = 0;
};
struct Failing {
    int value = 0;
};
struct HoldsFailing {
    int id = 0;
    Failing failing;
};

/// Answers by call instead of by index, as a statement does.
struct Statement {
    std::vector<Cell> cells;
    [[nodiscard]] std::size_t size() const { return cells.size(); }
    [[nodiscard]] Cell operator()(std::size_t i) const { return cells[i]; }
};

} // namespace row_test

using namespace row_test;

template <>
struct aftertouch::EntityTraits<Line> {
    static constexpr auto table = "lines";
    static constexpr auto schema = "shop";
    static constexpr auto key = at::key<&Line::order, &Line::number>;
    static constexpr auto columns = at::columns(at::name<&Line::number>("line number"));
};

template <>
struct aftertouch::Codec<Money> {
    static std::int64_t encode(const Money& money) { return money.cents; }
    static Money decode(const std::int64_t& cents) { return {cents}; }
};

template <>
struct aftertouch::Codec<Failing> {
    static int encode(const Failing& failing) { return failing.value; }
    static Failing decode(const int& value) {
        if (value == 1) {
            throw at::Error{at::Errc::out_of_memory, "the codec has no memory: give it some"};
        }
        throw std::logic_error{"the codec is wrong"};
    }
};

static_assert(at::Row<Total>, "a row needs no key");
static_assert(at::Row<Order>);
static_assert(at::Row<int>);
static_assert(at::Row<std::string>);
static_assert(at::Row<std::optional<double>>);
static_assert(at::Row<Money>, "a codec's type is one column, also when it is a struct");
static_assert(at::Row<std::tuple<int, std::optional<std::string>>>);
static_assert(at::Row<at::Value>);
static_assert(!at::Row<NoColumn>);
static_assert(!at::Row<char>);
static_assert(!at::Row<int*>);
static_assert(!at::Row<void>);
static_assert(!at::Row<const Total>);
static_assert(!at::Row<std::tuple<>>);
static_assert(!at::Row<std::tuple<int, int*>>);
static_assert(!at::Row<std::tuple<Total>>, "a struct is no column");

static_assert(at::row_width<Total> == 2);
static_assert(at::row_width<Money> == 1);
static_assert(at::row_width<std::tuple<int, int, int>> == 3);
static_assert(at::row_width<at::Key<Line>> == 2, "a key can be read, too");

namespace {

at::Error caught(auto&& action) {
    try {
        action();
    } catch (const at::Error& error) { return error; }
    FAIL("nothing was thrown");
    throw std::logic_error{"not reached"};
}

} // namespace

TEST_CASE("row: structs, tuples and single columns are read by position") {
    const std::vector<Cell> cells{Cell::text("ada"), Cell::integer(3)};
    Total total;
    at::decode_row(total, cells);
    CHECK(total.customer == "ada");
    CHECK(total.amount == 3.0);

    std::tuple<std::string, int> pair;
    at::decode_row(pair, cells);
    CHECK(pair == std::tuple{"ada", 3});

    int number = 0;
    at::decode_row(number, std::vector{Cell::integer(5)});
    CHECK(number == 5);

    Money money;
    at::decode_row(money, std::vector{Cell::integer(5)});
    CHECK(money.cents == 5);
}

TEST_CASE("row: cells may come by index or by call") {
    std::tuple<std::string, int> row;
    at::decode_row(row, Statement{{Cell::text("x"), Cell::integer(1)}});
    CHECK(row == std::tuple{"x", 1});
    const Cell cells[] = {Cell::text("y"), Cell::integer(2)};
    at::decode_row(row, std::span<const Cell>{cells});
    CHECK(row == std::tuple{"y", 2});
    const std::vector<at::Value> values{at::Value{Cell::text("z")}, at::Value{Cell::integer(3)}};
    at::decode_row(row, values);
    CHECK(row == std::tuple{"z", 3});
}

TEST_CASE("row: reading again reuses the storage") {
    Total total{std::string(1000, 'x'), 0};
    const char* const storage = total.customer.data();
    at::decode_row(total, std::vector{Cell::text("ada"), Cell::real(1)});
    CHECK(total.customer.data() == storage);
}

TEST_CASE("row: a column that doesn't fit is named by number, and by field if it has one") {
    const std::vector<Cell> cells{Cell::text("ada"), Cell::text("much")};
    Total total;
    const at::Error error = caught([&] { at::decode_row(total, cells); });
    CHECK(error.code() == at::Errc::value_mismatch);
    CHECK(error.where() == "column 2 (amount)");
    CHECK(
        error.what() == std::string{"column 2 (amount) holds text where a real is expected: change "
                                    "the row or the field's type"});
    CHECK(total.customer == "ada"); // what stood before it is read

    std::tuple<std::string, int> pair;
    CHECK(caught([&] { at::decode_row(pair, cells); }).where() == "column 2");
    int number = 0;
    CHECK(caught([&] { at::decode_row(number, std::vector{Cell::null()}); }).where() == "column 1");
}

TEST_CASE("row: an answer of another width is refused before anything is read") {
    Total total{"before", 1.0};
    const at::Error error =
        caught([&] { at::decode_row(total, std::vector{Cell::text("after")}); });
    CHECK(error.code() == at::Errc::value_mismatch);
    CHECK(error.what() == std::string{
                              "the query's answer has 1 columns where 2 are expected: name the "
                              "columns in the query"});
    CHECK(total.customer == "before");
}

TEST_CASE("record: all fields in order, reusing their storage") {
    Order order;
    order.customer = std::string(1000, 'x');
    const char* const storage = order.customer.data();
    const Cell cells[] = {Cell::integer(7), Cell::text("ada"), Cell::null()};
    at::decode_record(cells, order);
    CHECK(order.id == 7);
    CHECK(order.customer == "ada");
    CHECK(order.customer.data() == storage);
    CHECK_FALSE(order.amount.has_value());
}

TEST_CASE("record: a column that doesn't fit is named with its table") {
    Order order;
    const Cell cells[] = {Cell::integer(7), Cell::text("ada"), Cell::text("much")};
    const at::Error error = caught([&] { at::decode_record<Order>(cells, order); });
    CHECK(error.where() == "order.amount");
    CHECK(error.what() == std::string{
                              "order.amount holds text where a real is expected: change the row "
                              "or the field's type"});

    Line line;
    const Cell nulls[] = {Cell::integer(1), Cell::null()};
    CHECK(
        caught([&] { at::decode_record<Line>(nulls, line); }).where() == "shop.lines.line number");
    const at::Error narrow =
        caught([&] { at::decode_record<Line>(std::span<const Cell>{nulls, 1}, line); });
    CHECK(narrow.what() == std::string{
                               "a row of shop.lines has 1 columns where 2 are expected: name the "
                               "columns in the query"});
}

TEST_CASE("record: what else a codec throws comes out as it is") {
    HoldsFailing record;
    const Cell memory[] = {Cell::integer(1), Cell::integer(1)};
    const at::Error error = caught([&] { at::decode_record<HoldsFailing>(memory, record); });
    CHECK(error.code() == at::Errc::out_of_memory);
    CHECK(error.what() == std::string{"the codec has no memory: give it some"});
    const Cell logic[] = {Cell::integer(1), Cell::integer(2)};
    CHECK_THROWS_AS(at::decode_record<HoldsFailing>(logic, record), std::logic_error);
}

TEST_CASE("record: it comes back from the cells of its fields") {
    const Order order{-5, "a\0b", 1e-300};
    std::vector<at::Value> values;
    values.push_back(at::to_value(order.id));
    values.push_back(at::to_value(order.customer));
    values.push_back(at::to_value(order.amount));
    const std::vector<Cell> cells(values.begin(), values.end());
    Order back;
    at::decode_record<Order>(cells, back);
    CHECK(back.id == order.id);
    CHECK(back.customer == order.customer);
    CHECK(back.amount == order.amount);
}

TEST_CASE("record: some of the fields, and a key, are read as the whole is") {
    Order order{1, "before", 2.5};
    const Cell cells[] = {Cell::real(3.5), Cell::integer(9)};
    const std::size_t fields[] = {2, 0};
    at::decode_fields<Order>(cells, fields, order);
    CHECK(order.id == 9);
    CHECK(order.customer == "before");
    CHECK(order.amount == 3.5);

    const Cell bad[] = {Cell::integer(10), Cell::text("much")};
    const std::size_t other_fields[] = {0, 2};
    CHECK(caught([&] { at::decode_fields<Order>(bad, other_fields, order); }).where() ==
          "order.amount");
    CHECK(order.id == 10);
    at::decode_fields<Order>({}, {}, order);

    at::Key<Line> key{};
    const Cell parts[] = {Cell::integer(4), Cell::integer(5)};
    at::decode_key<Line>(parts, key);
    CHECK(key == std::tuple{4, 5});
    const Cell bad_parts[] = {Cell::integer(4), Cell::null()};
    CHECK(
        caught([&] { at::decode_key<Line>(bad_parts, key); }).where() == "shop.lines.line number");
    at::Key<Order> id{};
    at::decode_key<Order>(std::vector{Cell::integer(6)}, id);
    CHECK(id == 6);
}
