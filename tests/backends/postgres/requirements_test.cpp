// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/uuid.hpp>

#include "server.hpp"

using namespace test;

namespace readable {

/// Two fields that both hold numbers, and one that holds text.
struct Reading {
    std::int64_t id = 0;
    double value = 0;
    std::optional<std::string> note;
};

/// An exact number, kept as its digits.
struct Exact {
    std::string digits;
};

/// What else a column may be declared as while a field holds it.
struct Odd {
    std::int64_t id = 0;
    Exact amount;
    std::string mood;
    std::string tags;
    std::int32_t small = 0;
    std::chrono::year_month_day day{};
    at::Value anything;
};

} // namespace readable

template <>
struct aftertouch::Codec<readable::Exact> {
    static std::string encode(const readable::Exact& exact) { return exact.digits; }
    static readable::Exact decode(const std::string& digits) { return {digits}; }
};

namespace readable {

using at::ColumnType;
using at::postgres::Form;

namespace {

/// A text for each form that as many fields as can be are able to hold.
const std::map<Form, std::vector<std::string_view>> samples{
    {Form::text, {"abc", "2024-01-02", "2024-01-02 03:04:05", "1", "t",
                     "01234567-89ab-cdef-0123-456789abcdef"}},
    {Form::boolean, {"t", "f"}}, {Form::integer, {"0", "1", "-9"}}, {Form::real32, {"1", "0.5"}},
    {Form::real64, {"1", "0.5"}}, {Form::blob, {"\\x", "\\x00112233445566778899aabbccddeeff"}},
    {Form::timestamp, {"2024-01-02 00:00:00", "2024-01-02 03:04:05.5+00"}},
    {Form::date, {"2024-01-02"}}, {Form::uuid, {"01234567-89ab-cdef-0123-456789abcdef"}}};

template <class T>
[[nodiscard]] bool holds_one_of(const std::vector<std::string_view>& texts, Form form) {
    at::postgres::Room room;
    for (const std::string_view text : texts) {
        try {
            T out{};
            at::decode(at::postgres::cell_from(text, form, room), out);
            return true;
        } catch (const at::Error&) {
            // Perhaps the next one.
        }
    }
    return false;
}

template <class... T>
void check_fields() {
    const auto check = [](ColumnType type, Form form, bool holds) {
        INFO("field " << static_cast<int>(type) << ", form " << static_cast<int>(form));
        CHECK(at::postgres::detail::can_hold(type, form) == holds);
    };
    for (const auto& [form, texts] : samples) {
        (check(at::column_type<T>, form, holds_one_of<T>(texts, form)), ...);
    }
}

} // namespace

TEST_CASE("C6: a field is refused a column if and only if it can hold none of its values") {
    check_fields<bool, std::int16_t, std::uint32_t, std::int64_t, float, double, std::string,
        std::vector<std::byte>, at::Timestamp, std::chrono::sys_days, std::chrono::year_month_day,
        boost::uuids::uuid, at::Value, std::optional<std::string>, readable::Exact>();
}

TEST_CASE("C6: start and install name a column that its field can't hold") {
    Shop shop;
    Database& database = shop.database;
    const auto refused = [&](const std::string& columns, const std::string& sentence) {
        INFO(columns);
        database.execute("DROP TABLE IF EXISTS reading; CREATE TABLE reading (" + columns + ')');
        for (const at::Schema schema : {at::Schema::automatic, at::Schema::verify}) {
            CHECK_THROWS_SAYING(
                at::install(database, schema, at::source<Reading>()), at::Error, sentence);
        }
        at::Pipeline pipeline{at::source<Reading>().images(), [](const at::Batch<Reading>&) {},
            database, named("readings")};
        CHECK_THROWS_SAYING(pipeline.start(), at::Error, sentence);
        CHECK(one<bool>(database, "SELECT to_regclass('aftertouch.log') IS NULL"));
    };
    refused("id bigint PRIMARY KEY, value numeric, note text",
        "table reading has a column value of type numeric, which its field, a double, can't hold: "
        "declare the field as std::string, or change the column's type");
    refused("id bigint PRIMARY KEY, value float8, note integer",
        "table reading has a column note of type integer, which its field, a std::string, can't "
        "hold: declare the field as std::int64_t, or change the column's type");
    refused("id text PRIMARY KEY, value float8, note text",
        "a column id of type text, which its field, an integer, can't hold");
    database.execute("CREATE DOMAIN cents AS numeric(12, 2)");
    refused("id bigint PRIMARY KEY, value cents, note text", "a column value of type numeric");
}

TEST_CASE("C6: a printed script that was run by hand is looked at in the same way") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE reading (id bigint PRIMARY KEY, value float8, note text)");
    at::install(database, at::source<Reading>());
    database.execute("ALTER TABLE reading ALTER value TYPE numeric");
    at::Options options = named("readings");
    options.schema = at::Schema::none;
    at::Pipeline pipeline{
        at::source<Reading>(), [](const at::Batch<Reading>&) {}, database, options};
    CHECK_THROWS_SAYING(pipeline.start(), at::Error, "a column value of type numeric");
}

TEST_CASE("C6: domains, enums, arrays and exact numbers are held by what holds their text") {
    Shop shop;
    Database& database = shop.database;
    database.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN small AS smallint CHECK (VALUE > "
        "0); CREATE TABLE odd (id integer PRIMARY KEY, amount numeric(20, 5), mood mood, tags "
        "text[], small small, day text, anything jsonb); INSERT INTO odd VALUES (1, 1.50, 'ok', "
        "'{a,b}', 7, '2024-02-03', '{}'), (2, 2, 'sad', '{}', 8, '2024-02-04', NULL)");
    std::vector<Odd> seen;
    at::Pipeline pipeline{at::source<Odd>().images(),
        [&](const at::Batch<Odd>& batch) {
            for (const at::Change<Odd>& change : batch.changes()) {
                seen.push_back(*change.after());
            }
        },
        database, named("odd", at::Begin::rebuild)};
    pipeline.drain();
    database.execute("UPDATE odd SET amount = 3.25 WHERE id = 2");
    pipeline.drain();
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].amount.digits == "1.50000");
    CHECK(seen[0].mood == "ok");
    CHECK(seen[0].tags == "{a,b}");
    CHECK(seen[0].small == 7);
    CHECK(seen[0].day == std::chrono::year{2024} / 2 / 3);
    CHECK(seen[2].amount.digits == "3.25000");
}

} // namespace readable
