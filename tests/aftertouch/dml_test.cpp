// SPDX-License-Identifier: MIT
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <support/catch.hpp>

#include <aftertouch/dml.hpp>

namespace at = aftertouch;

namespace {

struct Order {
    std::int64_t id;
    std::string customer;
    std::optional<double> amount;
};
/// Every column is a part of the key, in another order.
struct Tag {
    std::string name;
    std::int64_t order;
};
struct Odd {
    std::int64_t id;
    bool flag;
};

constexpr std::string_view declared(at::ColumnType type) {
    switch (type) {
        case at::ColumnType::int64: return "BIGINT";
        case at::ColumnType::text: return "TEXT";
        case at::ColumnType::real64: return "REAL";
        default: return "";
    }
}

} // namespace

template <>
struct aftertouch::EntityTraits<Tag> {
    static constexpr auto key = at::key<&Tag::order, &Tag::name>;
};
template <>
struct aftertouch::EntityTraits<Odd> {
    static constexpr auto schema = "a b";
    static constexpr auto table = "select";
    static constexpr auto columns = at::columns(at::name<&Odd::flag>("it's \"odd\""));
};

TEST_CASE("dml: every statement of a plain table") {
    const at::Table& table = at::table_of<Order>();
    CHECK(at::dml::columns(table) == R"("id", "customer", "amount")");
    CHECK(at::dml::by_key(table) == R"("id" = $1)");
    CHECK(at::dml::select_by_key(table) ==
          R"(SELECT "id", "customer", "amount" FROM "order" WHERE "id" = $1)");
    CHECK(at::dml::erase_by_key(table) == R"(DELETE FROM "order" WHERE "id" = $1)");
    CHECK(at::dml::insert(table) ==
          R"(INSERT INTO "order" ("id", "customer", "amount") VALUES ($1, $2, $3))");
    CHECK(
        at::dml::upsert(table) ==
        R"(INSERT INTO "order" ("id", "customer", "amount") VALUES ($1, $2, $3) ON CONFLICT ("id") DO UPDATE SET "customer" = excluded."customer", "amount" = excluded."amount")");
    CHECK(
        at::dml::create_table(table, declared) ==
        R"(CREATE TABLE IF NOT EXISTS "order" ("id" BIGINT NOT NULL, "customer" TEXT NOT NULL, "amount" REAL, PRIMARY KEY ("id")))");
}

TEST_CASE("dml: a key of several parts is bound in the key's order, and is all that an upsert may "
          "leave") {
    const at::Table& table = at::table_of<Tag>();
    CHECK(at::dml::by_key(table) == R"("order" = $1 AND "name" = $2)");
    CHECK(at::dml::select_by_key(table) ==
          R"(SELECT "name", "order" FROM "tag" WHERE "order" = $1 AND "name" = $2)");
    CHECK(
        at::dml::upsert(table) ==
        R"(INSERT INTO "tag" ("name", "order") VALUES ($1, $2) ON CONFLICT ("order", "name") DO NOTHING)");
    CHECK(
        at::dml::create_table(table, declared) ==
        R"(CREATE TABLE IF NOT EXISTS "tag" ("name" TEXT NOT NULL, "order" BIGINT NOT NULL, PRIMARY KEY ("order", "name")))");
}

TEST_CASE("C8: dml: every identifier is quoted") {
    const at::Table& table = at::table_of<Odd>();
    CHECK(at::dml::insert(table) ==
          R"(INSERT INTO "a b"."select" ("id", "it's ""odd""") VALUES ($1, $2))");
    CHECK(
        at::dml::create_table(table, declared) ==
        R"(CREATE TABLE IF NOT EXISTS "a b"."select" ("id" BIGINT NOT NULL, "it's ""odd""" NOT NULL, PRIMARY KEY ("id")))");
}
