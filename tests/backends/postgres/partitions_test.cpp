// SPDX-License-Identifier: MIT
// C3, O3: partitioned tables of every shape, and what happens to their partitions.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include <support/catch.hpp>

#include "notes.hpp"
#include "sessions.hpp"

using namespace test;

namespace partitions {

namespace {

/// Two levels: low (0 to 99), high (100 to 199: lower, upper), and the rest.
constexpr const char* tree =
    "CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8) PARTITION BY RANGE (id); "
    "CREATE TABLE low PARTITION OF item FOR VALUES FROM (0) TO (100); CREATE TABLE high PARTITION "
    "OF item FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id); CREATE TABLE lower PARTITION "
    "OF high FOR VALUES FROM (100) TO (150); CREATE TABLE upper PARTITION OF high FOR VALUES FROM "
    "(150) TO (200); CREATE TABLE rest PARTITION OF item DEFAULT";

std::string found(Captured& db) { return at::to_text(at::verify(db.database, at::source<Item>())); }

/// A pipeline that keeps a copy of the table, and rebuilds it where it must.
struct Copy {
    Database& database;
    at::Pipeline<at::Source<Item>, std::function<void(const at::Batch<Item>&, Tx&)>, Database>
        pipeline;

    explicit Copy(Database& of)
        : database{of},
          pipeline{at::source<Item>(),
              [](const at::Batch<Item>& batch, Tx& tx) {
                  for (const std::int64_t id : batch.missing()) {
                      tx.execute("DELETE FROM copy WHERE id = $1", id);
                  }
                  for (const Item& item : batch.records()) {
                      tx.execute("INSERT INTO copy VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET "
                                 "name = excluded.name",
                          item.id, item.name);
                  }
              },
              of,
              [] {
                  at::Options options;
                  options.name = "copy";
                  options.observer = {};
                  return options;
              }()} {
        database.execute("CREATE TABLE copy (id bigint PRIMARY KEY, name text)");
        pipeline.drain();
    }
    /// The copy, once what the catalogs say has been looked at.
    std::string after_a_look() {
        std::this_thread::sleep_for(std::chrono::milliseconds{1100}); // it looks once a second
        database.execute("INSERT INTO item VALUES (99, 'look', 0) ON CONFLICT (id) DO UPDATE SET "
                         "price = 1");
        pipeline.drain();
        return one<std::string>(database,
            "SELECT coalesce(string_agg(id || name, ' ' ORDER BY id), '') FROM copy WHERE id <> "
            "99");
    }
};

} // namespace

TEST_CASE("C3: partitions of partitions are captured at every level, and between them") {
    Captured db{tree};
    db.check("INSERT INTO item VALUES (1, 'a', 1), (101, 'b', 1), (151, 'c', 1), (500, 'd', 1)",
        {"I1", "I101", "I151", "I500"}, {"I1+a", "I101+b", "I151+c", "I500+d"});
    db.check("INSERT INTO high VALUES (102, 'e', 1); INSERT INTO upper VALUES (152, 'f', 1); "
             "INSERT INTO rest VALUES (501, 'g', 1)",
        {"I102", "I152", "I501"}, {"I102+e", "I152+f", "I501+g"});
    db.check("UPDATE high SET id = 153 WHERE id = 102", {"D102", "I153"}, {"D102-e", "I153+e"});
    db.check("UPDATE item SET id = 2 WHERE id = 153", {"D153", "I2"}, {"D153-e", "I2+e"});
    db.check("UPDATE upper SET name = 'h' WHERE id = 152; DELETE FROM rest WHERE id = 501",
        {"U152", "D501"}, {"U152-f+h", "D501-g"});
    db.check("INSERT INTO item VALUES (1, 'up', 1), (3, 'new', 1) ON CONFLICT (id) DO UPDATE SET "
             "name = excluded.name",
        {"U1", "I3"}, {"U1-a+up", "I3+new"});
    db.check("MERGE INTO item USING (VALUES (1), (2), (900)) AS v(id) ON item.id = v.id WHEN "
             "MATCHED AND v.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET id = 154 WHEN NOT "
             "MATCHED THEN INSERT VALUES (v.id, 'm', 1)",
        {"D1", "D2", "I154", "I900"}, {"D1-up", "D2-e", "I154+e", "I900+m"});
    Session writer{db.shop, "writer"};
    writer.copy_in("COPY item FROM STDIN", "4\tx\t1\n160\ty\t1\n");
    writer.copy_in("COPY lower FROM STDIN", "110\tz\t1\n");
    CHECK(db.touches.take() == Texts{"I4", "I160", "I110"});
}

TEST_CASE("C3: a TRUNCATE of any part is an event") {
    Shop shop;
    Session writer{shop, "writer"};
    writer.run(tree);
    at::install(shop.database, at::source<Item>());
    for (const char* table : {"item", "low", "high", "lower", "rest"}) {
        INFO(table);
        writer.run(std::string{"TRUNCATE "} + table);
        CHECK(writer
                  .run("WITH gone AS (DELETE FROM aftertouch.log RETURNING op) SELECT count(*) > 0 "
                       "AND bool_and(op = 'X') FROM gone")
                  .value() == "t");
    }
}

TEST_CASE("C3: partitions whose columns lie otherwise are captured alike") {
    Captured db{
        "CREATE TABLE item (gone int, id bigint PRIMARY KEY, name text, price float8) PARTITION BY "
        "RANGE (id); ALTER TABLE item DROP COLUMN gone; CREATE TABLE low (price float8, lost int, "
        "name text, id bigint NOT NULL); ALTER TABLE low DROP COLUMN lost; ALTER TABLE item ATTACH "
        "PARTITION low FOR VALUES FROM (0) TO (100); CREATE TABLE rest PARTITION OF item DEFAULT"};
    db.check("INSERT INTO item VALUES (1, 'a', 2.5); UPDATE low SET name = 'b'", {"I1", "U1"},
        {"I1+a", "U1-a+b"});
    db.check("UPDATE item SET id = 100", {"D1", "I100"}, {"D1-b", "I100+b"});
}

TEST_CASE("O3: a row trigger that is switched off on one partition is found, and mended") {
    Captured db{tree};
    db.database.execute("ALTER TABLE upper DISABLE TRIGGER \"!aftertouch_1_insert\"");
    CHECK_THAT(found(db), Catch::Matchers::ContainsSubstring(
                              "trigger !aftertouch_1_insert on public.upper is switched off"));
    CHECK(at::install(db.database, at::source<Item>()));
    CHECK(found(db).empty());
    db.database.execute("ALTER TABLE low DISABLE TRIGGER ALL");
    CHECK_THAT(found(db), Catch::Matchers::ContainsSubstring("on public.low is switched off"));
    CHECK(at::install(db.database, at::source<Item>()));
    CHECK(at::install(db.database, at::source<Item>().images()));
    db.check("INSERT INTO low VALUES (1, 'a', 1); INSERT INTO upper VALUES (160, 'b', 1)",
        {"P1+a", "P160+b"}, {"P1+a", "P160+b"});
}

TEST_CASE("O3: rows that come with a partition, or leave with one, lead to a rebuild") {
    Shop shop;
    Database& database = shop.database;
    database.execute(tree);
    database.execute("INSERT INTO item VALUES (1, 'a', 1), (101, 'b', 1)");
    Copy copy{database};
    CHECK(copy.after_a_look() == "1a 101b");

    database.execute("CREATE TABLE more (id bigint PRIMARY KEY, name text, price float8); INSERT "
                     "INTO more VALUES (201, 'c', 1); ALTER TABLE item ATTACH PARTITION more FOR "
                     "VALUES FROM (200) TO (300)");
    CHECK(at::to_text(at::verify(database, at::source<Item>())).find("on public.more is missing") !=
          std::string::npos);
    CHECK(copy.after_a_look() == "1a 101b 201c");

    database.execute("ALTER TABLE item DETACH PARTITION more; INSERT INTO more VALUES (202, 'd', "
                     "1); TRUNCATE more");
    CHECK(at::to_text(at::verify(database, at::source<Item>()))
              .find("is on public.more, which is no part of public.item") != std::string::npos);
    copy.after_a_look();
    CHECK(at::verify(database, at::source<Item>()).empty());
    database.execute("TRUNCATE more");
    CHECK(one<std::int64_t>(
              database, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'more'::regclass") == 0);
}

TEST_CASE(
    "C3: a partition that was made empty leads to no rebuild, whatever was written to it since") {
    Captured db{tree};
    const auto incarnations = [&] {
        return one<std::string>(
            db.database, "SELECT string_agg(incarnation, ' ' ORDER BY id) FROM aftertouch.capture");
    };
    std::string before = incarnations();
    const auto missed = [&](const std::string& sql) {
        INFO(sql);
        db.database.execute(sql);
        CHECK(at::install(db.database, at::source<Item>()));
        CHECK(at::install(db.database, at::source<Item>().images()));
        const std::string after = incarnations();
        const bool changed = after != before;
        before = after;
        return changed;
    };
    db.database.execute("ALTER TABLE item DETACH PARTITION rest; DROP TABLE rest");
    CHECK(!missed("CREATE TABLE y1 PARTITION OF item FOR VALUES FROM (200) TO (300)"));
    db.database.execute("CREATE TABLE y2 PARTITION OF item FOR VALUES FROM (300) TO (400)");
    CHECK(
        !missed("INSERT INTO item VALUES (301, 'a', 1); DELETE FROM item; INSERT INTO item VALUES "
                "(302, 'a', 1)"));
    CHECK(!missed("CREATE TABLE y3 PARTITION OF item FOR VALUES FROM (400) TO (500) PARTITION BY "
                  "RANGE (id); CREATE TABLE y4 PARTITION OF y3 DEFAULT"));
    db.database.execute("CREATE TABLE y5 PARTITION OF item FOR VALUES FROM (500) TO (600)");
    CHECK(missed("INSERT INTO item VALUES (501, 'b', 1); TRUNCATE y5"));
    db.database.execute("CREATE TABLE y6 (id bigint PRIMARY KEY, name text, price float8); INSERT "
                        "INTO y6 VALUES (601, 'a', 1)");
    CHECK(missed("ALTER TABLE item ATTACH PARTITION y6 FOR VALUES FROM (600) TO (700)"));
    // Rows written into a partition of a tree that is attached as a whole.
    db.database.execute(
        "CREATE TABLE y7 (id bigint PRIMARY KEY, name text, price float8) PARTITION "
        "BY RANGE (id); CREATE TABLE y8 PARTITION OF y7 DEFAULT");
    db.database.execute("INSERT INTO y7 VALUES (701, 'a', 1)");
    CHECK(missed("ALTER TABLE item ATTACH PARTITION y7 FOR VALUES FROM (700) TO (800)"));
    CHECK(
        missed("BEGIN; CREATE TABLE y9 (id bigint PRIMARY KEY, name text, price float8); INSERT "
               "INTO y9 VALUES (801, 'a', 1); ALTER TABLE item ATTACH PARTITION y9 FOR VALUES FROM "
               "(800) TO (900); COMMIT"));
}

TEST_CASE("O5: what was detached or renamed is left without a trigger of ours") {
    Captured db{tree};
    db.database.execute("ALTER TABLE item DETACH PARTITION low; ALTER TABLE item RENAME TO thing");
    at::remove(db.database, at::source<Item>().images());
    at::remove(db.database, at::source<Item>());
    CHECK(one<bool>(db.database,
        "SELECT to_regnamespace('aftertouch') IS NULL AND NOT EXISTS (SELECT 1 FROM pg_trigger "
        "WHERE NOT tgisinternal)"));
}

TEST_CASE("O3: a captured table that becomes a part of another is refused in words") {
    Captured db;
    db.database.execute("CREATE TABLE parts (id bigint PRIMARY KEY, name text, price float8) "
                        "PARTITION BY RANGE (id); ALTER TABLE parts ATTACH PARTITION item DEFAULT");
    CHECK_THROWS_SAYING(found(db), at::Error, "is a partition");
    db.database.execute("ALTER TABLE parts DETACH PARTITION item; CREATE TABLE parent (id bigint, "
                        "name text, price float8); ALTER TABLE item INHERIT parent");
    CHECK_THROWS_SAYING(found(db), at::Error, "inherits");
    db.database.execute("ALTER TABLE item NO INHERIT parent; CREATE TABLE child () INHERITS "
                        "(item)");
    CHECK_THROWS_SAYING(found(db), at::Error, "tables that inherit from it");
    db.database.execute("DROP TABLE child");
    CHECK(found(db).empty());
}

} // namespace partitions
