// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/table.hpp>

namespace at = aftertouch;
using at::ColumnType;

namespace table_test {

enum class State : std::uint8_t { open, paid };

struct Order {
    std::int64_t id{};
    std::string customer;
    std::optional<double> amount;
    State state{};
    std::vector<std::byte> photo;
    bool paid{};
    std::chrono::sys_days day;
    std::optional<std::chrono::sys_seconds> shipped;
    at::Value anything;
    float weight{};
    std::int16_t pieces{};
};

struct Line {
    std::string sku;
    int number{};
    int order{};
};

} // namespace table_test

using namespace table_test;

template <>
struct aftertouch::EntityTraits<Line> {
    static constexpr auto table = "lines";
    static constexpr auto schema = "shop";
    static constexpr auto key = at::key<&Line::order, &Line::number>;
    static constexpr auto columns = at::columns(at::name<&Line::order>("order_id"));
};

TEST_CASE("table: columns in the order of the fields, with type and nullability") {
    const at::Table& table = at::table_of<Order>();
    CHECK(table.name == at::TableName{"", "order"});
    CHECK(table.key == std::vector<std::size_t>{0});

    struct Expected {
        std::string name;
        ColumnType type;
        bool nullable;
    };
    const std::vector<Expected> expected{
        {"id", ColumnType::int64, false},
        {"customer", ColumnType::text, false},
        {"amount", ColumnType::real64, true},
        {"state", ColumnType::int16, false},
        {"photo", ColumnType::blob, false},
        {"paid", ColumnType::boolean, false},
        {"day", ColumnType::date, false},
        {"shipped", ColumnType::timestamp, true},
        {"anything", ColumnType::any, true},
        {"weight", ColumnType::real32, false},
        {"pieces", ColumnType::int16, false},
    };
    REQUIRE(table.columns.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(table.columns[i].name == expected[i].name);
        CHECK(table.columns[i].type == expected[i].type);
        CHECK(table.columns[i].nullable == expected[i].nullable);
        CHECK(table.columns[i].key_part == (i == 0 ? 1 : 0));
    }
}

TEST_CASE("table: a key of several columns has its own order") {
    const at::Table& table = at::table_of<Line>();
    CHECK(table.name == at::TableName{"shop", "lines"});
    REQUIRE(table.columns.size() == 3);
    CHECK(table.columns[0].key_part == 0);
    CHECK(table.columns[1].key_part == 2);
    CHECK(table.columns[2].key_part == 1);
    CHECK(table.columns[2].name == "order_id");
    CHECK(table.key == std::vector<std::size_t>{2, 1});
}

TEST_CASE("table: it is made once") { CHECK(&at::table_of<Order>() == &at::table_of<Order>()); }
