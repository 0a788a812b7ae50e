// SPDX-License-Identifier: MIT
// C5, C6: keys and images are what the table holds, whatever the settings of the session that
// writes; and names of every kind.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <support/catch.hpp>

#include "notes.hpp"
#include "sessions.hpp"

using namespace test;

namespace rendering {

/// A column of every type whose text depends on a session, and some whose text doesn't.
struct Wide {
    std::int64_t id = 0;
    std::chrono::sys_time<std::chrono::microseconds> moment;
    std::chrono::sys_time<std::chrono::microseconds> local;
    std::chrono::sys_days day;
    std::string span;
    std::vector<std::byte> bytes;
    double real = 0;
    float single_ = 0;
    std::string exact;
    std::string price;
    std::string json;
    std::string moments;
    std::string range;
    std::string reals;
    std::string mood;
    std::string pair;
    std::string clock;
    std::string address;
    std::string words;
    friend bool operator==(const Wide&, const Wide&) = default;
};

/// A key of every type that has several texts.
struct Keyed {
    std::chrono::sys_time<std::chrono::microseconds> moment;
    std::chrono::sys_days day;
    std::vector<std::byte> bytes;
    std::string word;
    std::int16_t small = 0;
};

/// Columns that are called as the triggers call their own.
struct Names {
    std::int64_t a = 0;
    std::int64_t i = 0;
    std::int64_t r = 0;
    std::int64_t n = 0;
    std::int64_t o = 0;
    std::string e;
    std::string key;
    std::string keys;
    std::string op;
    std::string capture;
    std::string image;
    std::string written;
    std::string pod;
    std::string rest;
    std::string part;
    std::string tg_op;
    std::string new_;
    std::string old_;
    friend bool operator==(const Names&, const Names&) = default;
};

/// Names of 63 bytes, the most that PostgreSQL takes.
struct Long {
    std::int64_t id = 0;
    std::string word;
};
struct TooLong {
    std::int64_t id = 0;
};

} // namespace rendering

#define TEXT_57 "a b\"c'd$e\\f.g;h--i/*j\xc3\xa4kaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
template <>
struct aftertouch::EntityTraits<rendering::Keyed> {
    static constexpr auto key = aftertouch::key<&rendering::Keyed::moment, &rendering::Keyed::day,
        &rendering::Keyed::bytes, &rendering::Keyed::word, &rendering::Keyed::small>;
};
template <>
struct aftertouch::EntityTraits<rendering::Names> {
    static constexpr auto key = aftertouch::key<&rendering::Names::a, &rendering::Names::i,
        &rendering::Names::r, &rendering::Names::n, &rendering::Names::o, &rendering::Names::key,
        &rendering::Names::keys, &rendering::Names::written>;
    static constexpr auto columns =
        aftertouch::columns(aftertouch::name<&rendering::Names::new_>("new"),
            aftertouch::name<&rendering::Names::old_>("old"));
};
template <>
struct aftertouch::EntityTraits<rendering::Long> {
    static constexpr auto table = TEXT_57 "-table";
    static constexpr auto schema = TEXT_57 "schema";
    static constexpr auto columns =
        aftertouch::columns(aftertouch::name<&rendering::Long::id>(TEXT_57 "column"),
            aftertouch::name<&rendering::Long::word>(TEXT_57 "select"));
};
template <>
struct aftertouch::EntityTraits<rendering::TooLong> {
    static constexpr auto table = "item_" TEXT_57 "-table";
};

namespace rendering {

namespace {

/// A session of somebody who likes other forms.
constexpr const char* strange =
    "SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Kolkata'; SET intervalstyle = "
    "'sql_standard'; "
    "SET bytea_output = 'escape'; SET extra_float_digits = -15; SET xmlbinary = hex; SET "
    "standard_conforming_strings = off; SET escape_string_warning = off; SET array_nulls = off; "
    "SET "
    "quote_all_identifiers = on; SET transform_null_equals = on; SET plpgsql.extra_errors = 'all'; "
    "SET plpgsql.variable_conflict = 'error'; SET lc_monetary = 'C.utf8'; SET search_path = ''; "
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET work_mem "
    "= 64; SET default_transaction_isolation = 'serializable'; SET client_encoding = 'LATIN1'; SET "
    "row_security = off; SET jit_above_cost = 0; SET xmloption = document; SET "
    "default_toast_compression = lz4";

template <class T>
at::Options options_of(const char* name) {
    at::Options options;
    options.name = name;
    options.begin = at::Begin::now;
    options.observer = {};
    return options;
}

} // namespace

TEST_CASE("C6: an image is the row, of whatever types, whatever the writer's session") {
    Shop shop;
    Session writer{shop, "writer"};
    writer.run(
        "CREATE TYPE mood AS ENUM ('so, so', 'great'); CREATE TYPE pair AS (a timestamptz, b "
        "float8); CREATE TABLE wide (id bigint PRIMARY KEY, moment timestamptz, local timestamp, "
        "day date, span interval, bytes bytea, \"real\" float8, single_ float4, exact numeric, "
        "price money, json jsonb, moments timestamptz[], range tstzrange, reals float8[], mood "
        "mood, pair pair, clock timetz, address inet, words text[])");
    std::vector<Wide> images;
    std::size_t compared = 0;
    at::Pipeline pipeline{at::source<Wide>().images(),
        [&](const at::Batch<Wide>& batch) {
            const auto records = batch.records();
            REQUIRE(records.size() == batch.changes().size());
            std::size_t i = 0;
            for (const auto& change : batch.changes()) {
                CHECK(*change.after() == records[i++]);
                images.push_back(*change.after());
                ++compared;
            }
        },
        shop.database, options_of<Wide>("wide")};
    pipeline.drain();
    writer.run(strange);
    writer.run("INSERT INTO public.wide SELECT i, '2024-03-04 05:06:07.000008+00'::timestamptz + i "
               "* interval '1 day', '0044-03-15 01:02:03 BC', '03/04/2024', '1 year -2 days "
               "03:04:05.000006', '\\\\x00ff5c27', 0.1::float8 + 0.2::float8, 0.1::float4 + i, "
               "'12345678901234567890.1234567890123456789', '-1234567.89', '{\"a\": [1.10, null, "
               "\"x\"]}', ARRAY['2024-03-04 05:06:07+00'::timestamptz, NULL], '[2024-03-04 "
               "05:06:07+00,)', ARRAY[0.1::float8 + 0.2::float8, 'NaN', '-Infinity'], 'so, so', "
               "'(2024-03-04 05:06:07+00,1e-300)', '05:06:07.000008+05:30', '::1/64', ARRAY['a,b', "
               "'\"', NULL, 'NULL', '', E'\\\\\\\\', E'\\\\n'] FROM generate_series(1, 12) AS i");
    pipeline.drain();
    writer.run("UPDATE public.wide SET single_ = 1e-45, \"real\" = 5e-324, exact = 'NaN', span = "
               "'-1 mons +2 days -00:00:00.000001'");
    pipeline.drain();
    CHECK(compared == 24);
    const Wide& first = images.front();
    CHECK(first.real == 0.1 + 0.2);
    CHECK(first.exact == "12345678901234567890.1234567890123456789");
    CHECK(first.price == "-$1,234,567.89");
    CHECK(first.span == "1 year -2 days +03:04:05.000006");
    CHECK(first.bytes ==
          std::vector{std::byte{0}, std::byte{0xff}, std::byte{0x5c}, std::byte{0x27}});
    CHECK(first.day == std::chrono::year{2024} / 4 / 3);
    CHECK(first.range == "[\"2024-03-04 05:06:07+00\",)");
    CHECK(first.reals == "{0.30000000000000004,NaN,-Infinity}");
    CHECK(images.back().real == 5e-324);
}

TEST_CASE(
    "C5: keys of every type are what the table holds, row by row and in pods, in any session") {
    for (const std::string table : {"", " PARTITION BY HASH (small)"}) {
        Shop shop;
        Session writer{shop, "writer"};
        writer.run(
            "CREATE TABLE keyed (moment timestamptz, day date, bytes bytea, word varchar(9), "
            "small int2, PRIMARY KEY (moment, day, bytes, word, small))" +
            table);
        if (!table.empty()) {
            writer.run("CREATE TABLE all_of_it PARTITION OF keyed FOR VALUES WITH (MODULUS 1, "
                       "REMAINDER 0)");
        }
        std::size_t seen = 0;
        at::Pipeline pipeline{at::source<Keyed>(),
            [&](const at::Batch<Keyed>& batch) {
                seen += batch.changes().size();
                CHECK(batch.missing().empty()); // each key finds its row
                CHECK(batch.records().size() == batch.ids().size());
            },
            shop.database, options_of<Keyed>("keyed")};
        pipeline.drain();
        writer.run(strange);
        writer.run(
            "INSERT INTO public.keyed SELECT '2024-03-04 05:06:07+00'::timestamptz + i * "
            "interval '1.000001 hours', '03/04/2024'::date + i, decode(to_hex(i % 200 + 16) "
            "|| '5c', 'hex'), CASE WHEN i % 7 = 0 THEN '' ELSE E'a\\\\\"{,' || i END, i FROM "
            "generate_series(1, 40) AS i");
        pipeline.drain();
        CHECK(seen == 40);
        writer.run("UPDATE public.keyed SET day = day WHERE small < 5");
        pipeline.drain();
        CHECK(seen == 44);
    }
}

TEST_CASE("C8: columns that are called as what the triggers use themselves") {
    for (const bool partitioned : {false, true}) {
        Shop shop;
        Session writer{shop, "writer"};
        writer.run(
            "CREATE TABLE names (a bigint, i bigint, r bigint, n bigint, o bigint, e text, key "
            "text, "
            "keys text, op text, capture text, image text, written text, pod text, rest text, part "
            "text, tg_op text, \"new\" text, \"old\" text, PRIMARY KEY (a, i, r, n, o, key, keys, "
            "written))" +
            std::string{partitioned ? " PARTITION BY HASH (a); CREATE TABLE all_names PARTITION OF "
                                      "names FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
                                    : ""});
        std::size_t touched = 0;
        at::Pipeline touches{at::source<Names>(),
            [&](const at::Batch<Names>& batch) {
                touched += batch.changes().size();
                CHECK(batch.missing().empty());
            },
            shop.database, options_of<Names>("touches")};
        std::size_t imaged = 0;
        at::Pipeline images{at::source<Names>().images(),
            [&](const at::Batch<Names>& batch) {
                for (const auto& change : batch.changes()) {
                    CHECK(change.after()->old_ == "18");
                    CHECK(change.after()->e == "6");
                    ++imaged;
                }
            },
            shop.database, options_of<Names>("images")};
        touches.drain();
        images.drain();
        const std::string values =
            ", 2, 3, 4, 5, '6', '7', '8', '9', '10', '11', '12', '13', '14', "
            "'15', '16', '17', '18'";
        writer.run("INSERT INTO names SELECT x" + values +
                   " FROM generate_series(1, 30) AS x; UPDATE names SET op = 'U'; UPDATE names SET "
                   "\"new\" = 'N' WHERE a = 1");
        touches.drain();
        images.drain();
        CHECK(touched == 61);
        CHECK(imaged == 61);
    }
}

TEST_CASE(
    "C8: names of 63 bytes, with everything in them that needs quoting; longer ones are refused") {
    Shop shop;
    shop.database.execute("CREATE SCHEMA " + at::quoted(TEXT_57 "schema"));
    shop.database.create_table<Long>();
    std::vector<std::string> words;
    at::Pipeline pipeline{at::source<Long>().images(),
        [&](const at::Batch<Long>& batch) {
            for (const auto& change : batch.changes()) { words.push_back(change.after()->word); }
            CHECK(batch.records().size() == batch.ids().size());
        },
        shop.database, options_of<Long>("long")};
    pipeline.drain();
    shop.database.transaction([](Tx& tx) { tx.insert(Long{1, "a"}); });
    pipeline.drain();
    CHECK(words == std::vector<std::string>{"a"});
    CHECK(at::verify(shop.database, at::source<Long>().images()).empty());
    at::remove(shop.database, at::source<Long>().images());

    // PostgreSQL would take the table whose name are the first 63 bytes.
    shop.database.execute(
        "CREATE TABLE " + at::quoted("item_" TEXT_57 "-table") + " (id bigint PRIMARY KEY)");
    CHECK_THROWS_SAYING(
        at::install(shop.database, at::source<TooLong>()), at::Error, "more than 63 bytes");
}

TEST_CASE("C2: a table of 1,600 columns is captured, with images too, and when keys change") {
    std::string columns;
    for (int i = 4; i <= 1600; ++i) { columns += ", c" + std::to_string(i) + " int"; }
    Captured db{
        "CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8" + columns + ")"};
    db.check("INSERT INTO item (id, name) SELECT i, 'a' FROM generate_series(1, 2) AS i",
        {"I1", "I2"}, {"I1+a", "I2+a"});
    db.check("UPDATE item SET id = id + 10, c1600 = 1", {"D1", "I11", "D2", "I12"},
        {"D1-a", "I11+a", "D2-a", "I12+a"});
    db.check("DELETE FROM item", {"D11", "D12"}, {"D11-a", "D12-a"});
}

} // namespace rendering
