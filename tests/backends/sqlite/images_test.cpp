// SPDX-License-Identifier: MIT
#include <bit>
#include <cmath>
#include <limits>

#include <support/captured.hpp>
#include <support/catch.hpp>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

// C6: images are lossless.

namespace at = aftertouch;
using test::capture_of;
using test::Lab;

namespace {

std::vector<at::Value> adversaries() {
    std::vector<at::Value> values;
    values.emplace_back();
    for (const std::int64_t number :
        {std::int64_t{0}, std::int64_t{-1}, (std::int64_t{1} << 53) + 1,
            std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        values.emplace_back(at::Cell::integer(number));
    }
    for (const double real :
        {-0.0, 0.1, 1.0, 5e-324, std::numeric_limits<double>::max(), 9007199254740993.0,
            std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        values.emplace_back(at::Cell::real(real));
    }
    using namespace std::string_view_literals;
    for (const std::string_view text : {""sv, "a"sv, "\0"sv, "a\0b"sv, "it's \"so\""sv, "1e3"sv,
             "007"sv, "\xf0\x9d\x84\x9e"sv, "\xff\xfe"sv}) {
        values.emplace_back(at::Cell::text(text));
    }
    for (const std::string_view bytes : {""sv, "\0\xff"sv, "text"sv}) {
        values.emplace_back(at::Cell::blob(std::as_bytes(std::span{bytes})));
    }
    return values;
}

struct Sheet {
    std::int64_t id;
    at::Value none;
    at::Value real;
    at::Value integer;
    at::Value text;
    at::Value numeric;
    at::Value blob;

    friend bool operator==(const Sheet&, const Sheet&) = default;
};

} // namespace

TEST_CASE(
    "C6: every value in columns of every affinity comes through images as it is in the table") {
    at::sqlite::Database db{":memory:"};
    db.execute(
        "CREATE TABLE sheet (id INTEGER PRIMARY KEY, none, real REAL, integer INTEGER, text TEXT, "
        "numeric NUMERIC, blob BLOB)");
    std::vector<Sheet> before;
    std::vector<Sheet> after;
    at::Pipeline pipeline{at::source<Sheet>().images(),
        [&](const at::Batch<Sheet>& batch, auto&) {
            for (const at::Change<Sheet>& change : batch.changes()) {
                if (change.before() != nullptr) { before.push_back(*change.before()); }
                if (change.after() != nullptr) { after.push_back(*change.after()); }
            }
        },
        db, {.name = "sheets", .begin = at::Begin::now}};
    pipeline.drain();
    std::int64_t id = 0;
    for (const at::Value& value : adversaries()) {
        db.execute("INSERT INTO sheet VALUES ($1, $2, $2, $2, $2, $2, $2)", ++id, value);
    }
    const std::vector<Sheet> stored = db.query(at::type<Sheet>, "SELECT * FROM sheet ORDER BY id");
    REQUIRE(stored.size() == 26);
    pipeline.drain();
    CHECK(after == stored);
    after.clear();
    db.execute("UPDATE sheet SET none = none");
    pipeline.drain();
    CHECK(before == stored);
    CHECK(after == stored);
    before.clear();
    db.execute("DELETE FROM sheet");
    pipeline.drain();
    CHECK(before == stored);
}

TEST_CASE("C6: NaN is null, as SQLite stores it") {
    at::sqlite::Database db{":memory:"};
    CHECK(db.query(at::type<std::string>, "SELECT typeof($1)",
              std::numeric_limits<double>::quiet_NaN()) == std::vector<std::string>{"null"});
    CHECK(db.query(at::type<std::optional<double>>, "SELECT $1", std::nan("")) ==
          std::vector{std::optional<double>{}});
}

TEST_CASE("C6: images have generated columns as the table computes them") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, v AS (a * 2), s AS (a || 'x') "
            "STORED, u UNIQUE);"
            "CREATE TRIGGER theirs BEFORE UPDATE OF u ON t BEGIN UPDATE t SET a = a + 1 WHERE id = "
            "NEW.id; END;");
    const at::Capture capture = capture_of("t", {"id", "a", "v", "s", "u"}, {"id"}, true);
    lab.install(capture);
    lab.run("INSERT INTO t (id, a, u) VALUES (1, 5, 'p'); UPDATE t SET a = 6; UPDATE t SET u = "
            "'q'; DELETE FROM t;");
    CHECK(lab.text(
              "SELECT a2, a3, a4, a5 FROM aftertouch_image_1 WHERE a1 IS NOT NULL ORDER BY seq") ==
          "5,10,'5x','p' 6,12,'6x','p' 7,14,'7x','p' 7,14,'7x','q'");
    CHECK(lab.text(
              "SELECT b2, b3, b4, b5 FROM aftertouch_image_1 WHERE b1 IS NOT NULL ORDER BY seq") ==
          "5,10,'5x','p' 6,12,'6x','p' 6,12,'6x','p' 7,14,'7x','q'");
}

TEST_CASE("C6: the image of a row that REPLACE removed has a virtual column's type") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE, r REAL, g REAL AS (u));");
    const at::Capture capture = capture_of("t", {"id", "u", "r", "g"}, {"id"}, true);
    lab.install(capture);
    lab.run("INSERT INTO t (id, u, r) VALUES (1, 5, 5), (2, 'word', 'word'); REPLACE INTO t VALUES "
            "(3, 5, 0), (4, 'word', 0)");
    CHECK(lab.text(
              "SELECT typeof(b2), typeof(b3), typeof(b4) FROM aftertouch_image_1 WHERE b1 = 1") ==
          "'integer','real','real'");
    CHECK(lab.text(
              "SELECT typeof(b2), typeof(b3), typeof(b4) FROM aftertouch_image_1 WHERE b1 = 2") ==
          "'text','text','text'");
}

TEST_CASE("C6: an image of rows of one, 900, 901 and 1,801 columns") {
    for (const std::size_t count : {1U, 899U, 900U, 901U, 1800U, 1801U}) {
        std::string columns = "c0 INTEGER PRIMARY KEY";
        std::vector<std::string> names{"c0"};
        for (std::size_t i = 1; i < count; ++i) {
            names.push_back("c" + std::to_string(i));
            columns += ", c" + std::to_string(i) + " DEFAULT " + std::to_string(i);
        }
        Lab lab;
        lab.run("CREATE TABLE t (" + columns + ")");
        const at::Capture capture = capture_of("t", names, {"c0"}, true);
        lab.install(capture);
        lab.run("INSERT INTO t (c0) VALUES (7); UPDATE t SET c0 = c0; UPDATE t SET c0 = 8; DELETE "
                "FROM t;");
        at::sqlite::ChangeLog log{
            lab.connection(), "main", {.capture = 1, .key_parts = 1, .imaged = count}};
        std::string seen;
        const auto read = log.read({}, 100, nullptr, [&](const at::LogRow& row) {
            seen += static_cast<char>(row.operation);
            for (const auto& image : {row.before, row.after}) {
                if (image.empty()) { continue; }
                REQUIRE(image.size() == count);
                CHECK(image.front().as_integer() == row.key[0].as_integer());
                CHECK((count == 1 ||
                       image.back().as_integer() == static_cast<std::int64_t>(count) - 1));
            }
            CHECK(row.before.empty() == (row.operation == at::Operation::inserted));
            CHECK(row.after.empty() == (row.operation == at::Operation::deleted));
            return true;
        });
        INFO(count);
        CHECK(seen == "IUDID");
        CHECK(read.first.seq == 5);
        CHECK_FALSE(read.second);
    }
}
