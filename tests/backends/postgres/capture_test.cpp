// SPDX-License-Identifier: MIT
// C1 to C9, O3, O5: what triggers capture, what they leave alone, and what verify finds.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "notes.hpp"

using namespace test;

namespace captured {

struct Fixed {
    std::string name;
    double price = 0;
};
struct Line {
    std::int64_t order = 0;
    std::string sku;
    std::chrono::sys_days day;
    std::int32_t written = 0; // as a variable of the triggers is called
};

} // namespace captured

template <>
struct aftertouch::EntityTraits<captured::Fixed> {
    static constexpr auto table = "item";
    static constexpr auto key = aftertouch::key<&captured::Fixed::name>;
};
template <>
struct aftertouch::EntityTraits<captured::Line> {
    static constexpr auto key =
        aftertouch::key<&captured::Line::order, &captured::Line::sku, &captured::Line::day>;
};

namespace captured {

TEST_CASE("C3: every way to change rows of a plain table is captured") {
    Captured db;
    db.check("INSERT INTO item VALUES (1, 'a', 1), (2, 'b', NULL)", {"I1", "I2"}, {"I1+a", "I2+b"});
    db.check("UPDATE item SET name = name || 'x'", {"U1", "U2"}, {"U1-a+ax", "U2-b+bx"});
    db.check("UPDATE item SET name = 'none' WHERE false", {}, {});
    db.check("UPDATE item SET id = id + 10 WHERE id = 2", {"D2", "I12"}, {"D2-bx", "I12+bx"});
    db.check(
        "INSERT INTO item VALUES (1, 'c', 1), (3, 'd', 1) ON CONFLICT (id) DO UPDATE SET name = "
        "excluded.name",
        {"U1", "I3"}, {"U1-ax+c", "I3+d"});
    db.check("INSERT INTO item VALUES (1, 'e', 1) ON CONFLICT DO NOTHING", {}, {});
    db.check(
        "MERGE INTO item USING (VALUES (1, 'm'), (4, 'n')) AS v(id, name) ON item.id = v.id WHEN "
        "MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.name, NULL)",
        {"D1", "I4"}, {"D1-c", "I4+n"});
    db.check("WITH gone AS (DELETE FROM item WHERE id = 4 RETURNING *) INSERT INTO item SELECT 5, "
             "name, price FROM gone",
        {"D4", "I5"}, {"D4-n", "I5+n"});
    db.check("DELETE FROM item WHERE id = 3", {"D3"}, {"D3-d"});
    db.check("BEGIN; INSERT INTO item VALUES (6, 'f', 1); ROLLBACK", {}, {});
    db.check(
        "BEGIN; SAVEPOINT a; INSERT INTO item VALUES (6, 'f', 1); ROLLBACK TO a; INSERT INTO item "
        "VALUES (7, 'g', 1); COMMIT",
        {"I7"}, {"I7+g"});
}

TEST_CASE("C3: cascades of a foreign key are captured") {
    Captured db{
        "CREATE TABLE parent (id bigint PRIMARY KEY); CREATE TABLE item (id bigint PRIMARY "
        "KEY REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, name text, price float8)"};
    db.check("INSERT INTO parent VALUES (1), (2); INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 1)",
        {"I1", "I2"}, {"I1+a", "I2+b"});
    db.check("UPDATE parent SET id = 3 WHERE id = 2", {"D2", "I3"}, {"D2-b", "I3+b"});
    db.check("DELETE FROM parent WHERE id = 1", {"D1"}, {"D1-a"});
}

TEST_CASE("C4: keys that change places in one statement, more than eight of them") {
    Captured db;
    db.database.execute("INSERT INTO item SELECT i, i::text, 0 FROM generate_series(1, 20) AS i");
    db.touches.take();
    db.images.take();
    // One statement may not pass through a key that is taken: far away first.
    db.database.execute("UPDATE item SET id = CASE id WHEN 1 THEN 100 ELSE id END, price = 1");
    Texts expected{"D1", "I100"};
    for (int i = 2; i <= 20; ++i) { expected.push_back("U" + std::to_string(i)); }
    CHECK(db.touches.take() == expected);
    CHECK(db.images.take().size() == 21);
}

TEST_CASE("K3: a large statement comes as pods, and in batches") {
    Captured db;
    db.database.execute("INSERT INTO item SELECT i, '', 0 FROM generate_series(1, 2345) AS i");
    CHECK(one<std::int64_t>(db.database,
              "SELECT count(*) FROM aftertouch.log WHERE keys IS NOT NULL AND capture = 1") == 5);
    const Texts touched = db.touches.take();
    REQUIRE(touched.size() == 2345);
    for (std::size_t i = 0; i < touched.size(); ++i) {
        REQUIRE(touched[i] == "I" + std::to_string(i + 1));
    }
    db.database.execute("DELETE FROM item WHERE id <= 508");
    CHECK(db.touches.take().size() == 508);
    CHECK(db.images.take().size() == 2345 + 508);
}

TEST_CASE("P2: rows of one change and of many come in order, whatever the batches' size") {
    Captured db;
    Texts expected;
    const auto insert = [&](int from, int count) {
        db.database.execute("INSERT INTO item SELECT i, '', 0 FROM generate_series(" +
                            std::to_string(from) + ", " + std::to_string(from + count - 1) +
                            ") AS i");
        for (int i = from; i < from + count; ++i) { expected.push_back("I" + std::to_string(i)); }
    };
    int next = 1;
    for (const int count : {1, 1, 1, 12, 1, 700, 1, 1, 9, 8, 1, 1, 1, 30, 1500, 20, 21, 22, 500}) {
        insert(next, count);
        next += count;
    }
    for (int i = 0; i < 40; ++i) { insert(next++, 1); }
    for (const std::size_t size : {1U, 2U, 7U, 100U, 500U}) {
        CAPTURE(size);
        Texts told;
        std::size_t batches = 0;
        at::Options options{.name = "sized", .begin = at::Begin::now, .batch_size = size};
        at::Pipeline pipeline{at::source<Item>(),
            [&](const at::Batch<Item>& batch, Tx&) {
                CHECK(batch.changes().size() <= size);
                ++batches;
                for (const at::Change<Item>& change : batch.changes()) {
                    told.push_back(
                        static_cast<char>(change.operation()) + std::to_string(change.key()));
                }
            },
            db.database, options};
        pipeline.run_once();
        pipeline.rewind(at::Timestamp{});
        pipeline.drain();
        CHECK(told == expected);
        CHECK(batches == (expected.size() + size - 1) / size); // all but the last are full
    }
}

TEST_CASE("K3: images that are too large for one read come whole, and in order") {
    Captured db;
    constexpr int megabytes = 3;
    for (int i = 1; i <= 9; ++i) {
        db.database.execute("INSERT INTO item VALUES ($1, repeat('x', $2::integer) || $3, 0)", i,
            megabytes * 1'000'000, std::to_string(i));
    }
    const Texts told = db.images.take();
    REQUIRE(told.size() == 9);
    for (std::size_t i = 0; i < told.size(); ++i) {
        CHECK(told[i].size() == 4 + megabytes * 1'000'000);
        CHECK(told[i].substr(0, 3) == "I" + std::to_string(i + 1) + '+');
        CHECK(told[i].back() == static_cast<char>('1' + i));
    }
}

TEST_CASE(
    "C2: a writer that owns nothing, under a hostile search path, is captured and unhindered") {
    Captured db;
    db.database.execute("CREATE ROLE writer_" + std::to_string(getpid()) +
                        "; GRANT SELECT, INSERT, UPDATE, DELETE ON item TO writer_" +
                        std::to_string(getpid()) + "; GRANT TEMPORARY ON DATABASE " +
                        one<std::string>(db.database, "SELECT current_database()") + " TO writer_" +
                        std::to_string(getpid()));
    const std::string as_writer = "BEGIN; SET LOCAL ROLE writer_" + std::to_string(getpid()) + "; ";
    db.database.execute(
        "CREATE FUNCTION public.concat(bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'stolen' $$; "
        "CREATE FUNCTION public.stolen(bigint, integer) RETURNS boolean LANGUAGE sql AS $$ SELECT "
        "false $$; CREATE OPERATOR public.= (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = "
        "public.stolen)");
    db.check(
        as_writer +
            "CREATE TEMP TABLE log (LIKE item) ON COMMIT DROP; SET LOCAL search_path = pg_temp, "
            "public, pg_catalog; INSERT INTO item VALUES (1, 'a', 1); COMMIT",
        {"I1"}, {"I1+a"});
    db.check(as_writer + "SET LOCAL search_path = ''; UPDATE public.item SET name = 'b'; COMMIT",
        {"U1"}, {"U1-a+b"});
    CHECK_THROWS_AS(
        db.database.execute(as_writer + "DELETE FROM aftertouch.log; COMMIT"), at::Error);
    db.database.execute("ROLLBACK");
    CHECK_THROWS_AS(
        db.database.execute(
            as_writer + "CREATE TEMP TABLE mine (id bigint); CREATE TRIGGER t AFTER INSERT ON mine "
                        "REFERENCING NEW TABLE AS aftertouch_new EXECUTE FUNCTION "
                        "aftertouch.capture_1_insert(); COMMIT"),
        at::Error);
    db.database.execute("ROLLBACK; DROP OWNED BY writer_" + std::to_string(getpid()) +
                        "; DROP ROLE writer_" + std::to_string(getpid()));
}

TEST_CASE("C2: what is done to a table under the triggers doesn't fail its writers") {
    Captured db;
    db.check("INSERT INTO item VALUES (1, 'a', 1)", {"I1"}, {"I1+a"});
    db.check("ALTER TABLE item ADD COLUMN extra text DEFAULT 'e'; UPDATE item SET extra = 'f'",
        {"U1"}, {"U1-a+a"});
    db.check(
        "ALTER TABLE item ALTER price TYPE numeric; UPDATE item SET price = 2", {"U1"}, {"U1-a+a"});
    db.check("ALTER TABLE item DROP COLUMN extra; DELETE FROM item", {"D1"}, {"D1-a"});
}

TEST_CASE("C5, C6: keys and images don't depend on the writer's session") {
    Shop shop;
    shop.database.execute(
        "CREATE TABLE line (\"order\" bigint, sku text, day date, written integer, "
        "PRIMARY KEY (\"order\", sku, day))");
    std::vector<std::tuple<std::int64_t, std::string, std::chrono::sys_days>> keys;
    at::Options options;
    options.name = "lines";
    options.begin = at::Begin::now;
    at::Pipeline pipeline{at::source<Line>(),
        [&](const at::Batch<Line>& batch) {
            for (const auto& change : batch.changes()) { keys.push_back(change.key()); }
            CHECK(batch.records().size() == batch.ids().size());
        },
        shop.database, options};
    pipeline.drain();
    shop.database.execute("SET datestyle = 'SQL, DMY'; INSERT INTO line SELECT i, 'a,\"b\\(' || i, "
                          "'2024-02-03', 1 FROM "
                          "generate_series(1, 12) AS i; SET datestyle = 'ISO, YMD'");
    pipeline.drain();
    REQUIRE(keys.size() == 12);
    const std::chrono::sys_days day = std::chrono::year{2024} / 2 / 3;
    for (std::int64_t i = 1; i <= 12; ++i) {
        CHECK(keys[static_cast<std::size_t>(i) - 1] ==
              std::tuple{i, "a,\"b\\(" + std::to_string(i), day});
    }
}

TEST_CASE("C6: images keep every bit, whatever the writer's session writes") {
    Shop shop;
    shop.database.create_table<Item>();
    std::vector<Item> seen;
    at::Options options;
    options.name = "items";
    options.begin = at::Begin::now;
    at::Pipeline pipeline{at::source<Item>().images(),
        [&](const at::Batch<Item>& batch) {
            for (const auto& change : batch.changes()) { seen.push_back(*change.after()); }
        },
        shop.database, options};
    pipeline.drain();
    const std::vector<Item> all{{1, "", 0.1 + 0.2}, {2, "a)(b,\"c\"\\ \n", -0.0},
        {3, "null", std::nullopt}, {4, " ", 5e-324}};
    shop.database.execute("SET extra_float_digits = -5");
    shop.database.transaction([&](Tx& tx) {
        for (const Item& item : all) { tx.insert(item); }
    });
    shop.database.execute("SET extra_float_digits = 1");
    pipeline.drain();
    CHECK(seen == all);
    CHECK(std::signbit(*seen[1].price));
}

TEST_CASE("C3: partitions are captured, through the parent, directly, and when rows move") {
    Captured db{
        "CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8) PARTITION BY RANGE "
        "(id); CREATE TABLE low PARTITION OF item FOR VALUES FROM (0) TO (100); CREATE TABLE "
        "high PARTITION OF item FOR VALUES FROM (100) TO (200)"};
    db.check(
        "INSERT INTO item VALUES (1, 'a', 1), (101, 'b', 1)", {"I1", "I101"}, {"I1+a", "I101+b"});
    db.check(
        "INSERT INTO low VALUES (2, 'c', 1); DELETE FROM high", {"I2", "D101"}, {"I2+c", "D101-b"});
    db.check("UPDATE item SET id = 102 WHERE id = 1", {"D1", "I102"}, {"D1-a", "I102+a"});
    db.check("UPDATE item SET name = 'd' WHERE id = 2", {"U2"}, {"U2-c+d"});
    db.check("MERGE INTO item USING (VALUES (2)) AS v(id) ON item.id = v.id WHEN MATCHED THEN "
             "UPDATE SET "
             "id = 150",
        {"D2", "I150"}, {"D2-d", "I150+d"});
    // A partition that comes later has the row triggers, and wants one for TRUNCATE.
    db.database.execute(
        "CREATE TABLE more PARTITION OF item FOR VALUES FROM (200) TO (300); INSERT INTO "
        "more VALUES (201, 'e', 1)");
    CHECK(
        at::to_text(at::verify(db.database, at::source<Item>()))
            .find("trigger !aftertouch_1_truncate on public.more is missing") != std::string::npos);
}

TEST_CASE("C3: a truncation leads to a rebuild, or stops a handler that couldn't learn of it") {
    Captured db;
    Texts told;
    at::Options options;
    options.name = "sweeping";
    options.observer = {};
    at::Pipeline pipeline{at::source<Item>(),
        at::handle(at::on_batch([&](const at::Batch<Item>& batch) {
            for (const at::Change<Item>& change : batch.changes()) {
                told.push_back(
                    static_cast<char>(change.operation()) + std::to_string(change.key()));
            }
        }),
            at::on_rebuild_started([&](std::int64_t) { told.emplace_back("started"); })),
        db.database, options};
    pipeline.drain();
    db.database.execute("INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 1)");
    db.database.execute(
        "INSERT INTO item VALUES (3, 'c', 1); TRUNCATE item; INSERT INTO item VALUES "
        "(4, 'd', 1)");
    pipeline.drain();
    CHECK(told == Texts{"started", "I1", "I2", "I3", "started", "P4"});
    CHECK(pipeline.drain() == 0);

    CHECK_THROWS_SAYING(db.touches.take(), at::Error, "was truncated");
    CHECK(db.touches.told == Texts{"I1", "I2", "I3"});
    db.touches.pipeline.rebuild();
    CHECK(db.touches.take() == Texts{"P4+d"});
    CHECK(db.touches.take().empty());
}

TEST_CASE("O3: verify names what isn't as it should be, and installing mends it") {
    Captured db;
    const auto differs = [&](const std::string& sql, const std::string& sentence) {
        INFO(sql);
        db.database.execute(sql);
        const std::string found = at::to_text(at::verify(db.database, at::source<Item>()));
        CHECK_THAT(found, Catch::Matchers::ContainsSubstring(sentence));
        at::Options options;
        options.name = "strict";
        options.schema = at::Schema::verify;
        options.observer = {};
        at::Pipeline strict{
            at::source<Item>(), [](const at::Batch<Item>&) {}, db.database, options};
        CHECK_THROWS_SAYING(strict.drain(), at::Error, sentence);
        CHECK(at::install(db.database, at::source<Item>()));
        CHECK(at::verify(db.database, at::source<Item>()).empty());
        CHECK(!at::install(db.database, at::source<Item>()));
    };
    differs("DROP TRIGGER \"!aftertouch_1_update\" ON item", "trigger !aftertouch_1_update on "
                                                             "public.item is missing");
    differs("ALTER TABLE item DISABLE TRIGGER \"!aftertouch_1_insert\"", "is switched off");
    differs(
        "CREATE OR REPLACE FUNCTION aftertouch.capture_1_delete() RETURNS trigger LANGUAGE plpgsql "
        "SECURITY DEFINER AS 'BEGIN RETURN NULL; END'",
        "function aftertouch.capture_1_delete isn't as it should be");
    differs("GRANT EXECUTE ON FUNCTION aftertouch.capture_1_insert() TO PUBLIC",
        "function aftertouch.capture_1_insert isn't as it should be");
    differs("ALTER FUNCTION aftertouch.capture_1_insert() SET search_path = public",
        "function aftertouch.capture_1_insert isn't as it should be");
    differs("DROP TRIGGER \"!aftertouch_1_update\" ON item; CREATE TRIGGER "
            "\"!aftertouch_1_update\" AFTER "
            "UPDATE OF name ON item EXECUTE FUNCTION aftertouch.capture_1_update()",
        "trigger !aftertouch_1_update on public.item isn't as it should be");

    db.database.execute("ALTER TABLE aftertouch.log ALTER seq SET CACHE 20");
    CHECK_THROWS_SAYING(at::verify(db.database, at::source<Item>()), at::Error, "CACHE");
    db.database.execute(
        "ALTER TABLE aftertouch.log ALTER seq SET CACHE 1; ALTER TABLE aftertouch.log "
        "ENABLE ROW LEVEL SECURITY");
    CHECK_THROWS_SAYING(at::verify(db.database, at::source<Item>()), at::Error, "row security");
}

TEST_CASE("O3: a running pipeline finds drift, mends it, and rebuilds") {
    Captured db;
    db.check("INSERT INTO item VALUES (1, 'a', 1)", {"I1"}, {"I1+a"});
    db.database.execute(
        "DROP TRIGGER \"!aftertouch_1_update\" ON item; UPDATE item SET name = 'unseen'");
    std::this_thread::sleep_for(std::chrono::milliseconds{1100}); // it looks once a second
    db.database.execute("INSERT INTO item VALUES (2, 'b', 1)");
    CHECK(db.touches.take() == Texts{"P1+unseen", "P2+b"});
    CHECK(at::verify(db.database, at::source<Item>()).empty());
}

TEST_CASE("C5: tables that can't be captured are refused in words") {
    Shop shop;
    const auto refused = [&](const std::string& sql, const std::string& sentence) {
        INFO(sql);
        shop.database.execute("DROP TABLE IF EXISTS item CASCADE");
        shop.database.execute(sql);
        CHECK_THROWS_SAYING(at::install(shop.database, at::source<Item>()), at::Error, sentence);
    };
    refused("SELECT 1", "isn't there");
    refused("CREATE TABLE item (id bigint PRIMARY KEY, name text)", "has no column price");
    refused("CREATE TABLE item (id bigint NOT NULL, name text, price float8)", "no primary key");
    refused("CREATE TABLE item (id bigint, name text, price float8)", "no primary key");
    refused("CREATE TABLE item (id numeric, name text, price float8)", "no primary key");
    refused("CREATE TABLE item (id bigint UNIQUE, name text, price float8)", "may be null");
    refused("CREATE TABLE item (id bigint PRIMARY KEY DEFERRABLE, name text, price float8)",
        "isn't deferrable");
    refused("CREATE TABLE item (id numeric PRIMARY KEY, name text, price float8)", "several texts");
    refused("CREATE UNLOGGED TABLE item (id bigint PRIMARY KEY, name text, price float8)",
        "isn't logged");
    refused("CREATE TEMP TABLE item (id bigint PRIMARY KEY, name text, price float8)",
        "is a temporary one");
    shop.database.execute("DROP TABLE item; CREATE FOREIGN DATA WRAPPER far; CREATE SERVER there "
                          "FOREIGN DATA WRAPPER far");
    const std::string columns = "AS SELECT 1::bigint AS id, ''::text AS name, 1::float8 AS price";
    for (const auto& [kind, columns_of_it] :
        {std::pair{"VIEW", columns}, {"MATERIALIZED VIEW", columns},
            {"FOREIGN TABLE", "(id bigint NOT NULL, name text, price float8) SERVER there"}}) {
        INFO(kind);
        shop.database.execute(std::string{"CREATE "} + kind + " item " + columns_of_it);
        CHECK_THROWS_SAYING(
            at::install(shop.database, at::source<Item>()), at::Error, "is no table of its own");
        shop.database.execute(std::string{"DROP "} + kind + " item");
    }
    refused(
        "CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8); CREATE TABLE child () "
        "INHERITS (item)",
        "inherit from it");
    refused(
        "DROP TABLE IF EXISTS parts; CREATE TABLE parts (id bigint PRIMARY KEY, name text, price "
        "float8) PARTITION BY RANGE (id); CREATE TABLE item PARTITION OF parts DEFAULT",
        "is a partition");
    refused(
        "CREATE COLLATION IF NOT EXISTS blind (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false); CREATE TABLE item (id text COLLATE blind PRIMARY KEY, name text, "
        "price float8)",
        "calls different texts equal");
}

TEST_CASE("C5: text keys of a fixed length, and keys under another collation") {
    Shop shop;
    Database& database = shop.database;
    database.execute(
        "CREATE TABLE item (name character(6) COLLATE \"C\" PRIMARY KEY, price float8 NOT "
        "NULL); INSERT INTO item VALUES ('ab', 1), ('B', 1), ('a', 1), ('C', 1)");
    Texts names;
    at::Options options;
    options.name = "fixed";
    options.batch_size = 2;
    at::Pipeline pipeline{at::source<Fixed>(),
        [&](const at::Batch<Fixed>& batch) {
            for (const at::Change<Fixed>& change : batch.changes()) {
                names.push_back(static_cast<char>(change.operation()) + change.key());
            }
            CHECK(batch.records().size() == batch.ids().size());
        },
        database, options};
    pipeline.run_once();
    pipeline.run_once();
    database.execute("UPDATE item SET price = 2");
    pipeline.drain();
    // By the column's own collation; only what the rebuild had reached comes as a change.
    CHECK(names == Texts{"PB     ", "PC     ", "UB     ", "UC     ", "Pa     ", "Pab    "});
}

TEST_CASE("C8: names of every kind work") {
    Shop shop;
    shop.database.execute(
        "CREATE SCHEMA \"Odd \"\"schema\"\" $1\"; SET search_path = \"Odd \"\"schema\"\" "
        "$1\"; CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)");
    struct Odd {};
    at::Options options;
    options.name = "odd";
    const auto source = at::source<Item>().named("$aftertouch$ 'quoted' \xc3\xa4");
    CHECK(at::install(shop.database, source));
    CHECK(at::verify(shop.database, source).empty());
    shop.database.execute("INSERT INTO item VALUES (1, 'a', 1)");
    CHECK(one<std::int64_t>(shop.database, "SELECT count(*) FROM aftertouch.log") == 1);
    at::remove(shop.database, source);
}

TEST_CASE("O5: remove takes off what is ours and nothing else") {
    Shop shop;
    const auto schema = [&] {
        return one<std::string>(shop.database,
            "SELECT coalesce(string_agg(x, E'\\n' ORDER BY x), '') FROM (SELECT 'relation ' || "
            "oid::regclass::text FROM pg_class WHERE relnamespace::regnamespace::text !~ "
            "'^pg_|inform' "
            "UNION ALL SELECT 'function ' || oid::regprocedure::text FROM pg_proc WHERE "
            "pronamespace::regnamespace::text !~ '^pg_|inform' UNION ALL SELECT 'trigger ' || "
            "tgname "
            "FROM pg_trigger WHERE NOT tgisinternal UNION ALL SELECT 'schema ' || nspname FROM "
            "pg_namespace) AS x(x)");
    };
    shop.database.execute("CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)");
    const std::string before = schema();
    at::install(shop.database, at::source<Item>());
    const std::string with_touch = schema();
    at::install(shop.database, at::source<Item>().images());
    shop.database.execute("INSERT INTO item VALUES (1, 'a', 1)");
    at::remove(shop.database, at::source<Item>().images());
    CHECK(schema() == with_touch);
    CHECK(one<std::int64_t>(shop.database, "SELECT count(*) FROM aftertouch.log") == 1);
    at::remove(shop.database, at::source<Item>());
    CHECK(schema() == before);
}

TEST_CASE("C7: installing gives up on a lock, says so, and holds up nobody for long") {
    Shop shop;
    shop.database.execute("CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)");
    Database other{shop.place.open()};
    other.execute("BEGIN; INSERT INTO item VALUES (1, 'a', 1)");
    Database impatient{shop.place.open(std::chrono::milliseconds{50})};
    try {
        at::install(impatient, at::source<Item>());
        FAIL("it didn't wait for the writer");
    } catch (const at::Error& error) { CHECK(error.code() == at::Errc::busy); }
    other.execute("COMMIT");
    CHECK(at::install(impatient, at::source<Item>()));
}

TEST_CASE("C7: programs that install at the same time don't fail each other", "[threads]") {
    Shop shop;
    shop.database.execute("CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)");
    std::vector<std::string> errors(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < errors.size(); ++i) {
        threads.emplace_back([&, i] {
            try {
                Database database{shop.place.open()};
                at::install(database, at::source<Item>());
            } catch (const std::exception& error) { errors[i] = error.what(); }
        });
    }
    for (std::thread& thread : threads) { thread.join(); }
    for (const std::string& error : errors) { CHECK(error.empty()); }
    CHECK(at::verify(shop.database, at::source<Item>()).empty());
}

} // namespace captured
