// SPDX-License-Identifier: MIT
// O3: what is done to a captured table, or to the log, while programs run: verify names it, a
// pipeline finds it, and writers are left alone.
#include <string>

#include <support/catch.hpp>

#include "notes.hpp"
#include "sessions.hpp"

using namespace test;

namespace drift {

namespace {

std::string found(Database& database) {
    return at::to_text(at::verify(database, at::source<Item>()));
}

/// A captured table, and somebody who writes it.
struct Drift {
    Shop shop;
    Database& database = shop.database;
    Session owner{shop, "owner"};

    Drift() {
        owner.run("CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)");
        at::install(database, at::source<Item>());
    }
    /// No script may mend it: verify refuses, install too.
    void refused(const std::string& sql, const std::string& sentence, const std::string& undo) {
        INFO(sql);
        owner.run(sql);
        CHECK_THROWS_SAYING(found(database), at::Error, sentence);
        CHECK_THROWS_SAYING(at::install(database, at::source<Item>()), at::Error, sentence);
        owner.run(undo);
        CHECK(found(database).empty());
    }
    /// Verify names it, and installing mends it.
    void mended(const std::string& sql, const std::string& sentence) {
        INFO(sql);
        owner.run(sql);
        CHECK_THAT(found(database), Catch::Matchers::ContainsSubstring(sentence));
        CHECK(at::install(database, at::source<Item>()));
        CHECK(found(database).empty());
    }
    std::string logged() {
        return owner
            .run("WITH gone AS (DELETE FROM aftertouch.log RETURNING seq, op, key) SELECT "
                 "coalesce(string_agg(op::text || coalesce(key, ''), ' ' ORDER BY seq), '') FROM "
                 "gone")
            .value();
    }
};

} // namespace

TEST_CASE("O3: a log that would lose changes or fail writers is refused in words") {
    Drift drift;
    const auto log = [&](const std::string& change, const std::string& sentence,
                         const std::string& undo) {
        drift.refused(
            "ALTER TABLE aftertouch.log " + change, sentence, "ALTER TABLE aftertouch.log " + undo);
    };
    log("SET UNLOGGED", "it is unlogged", "SET LOGGED");
    log("ENABLE ROW LEVEL SECURITY", "row security", "DISABLE ROW LEVEL SECURITY");
    log("ADD CONSTRAINT no CHECK (capture > 1)", "constraints", "DROP CONSTRAINT no");
    log("ADD CONSTRAINT no UNIQUE (key)", "unique indexes", "DROP CONSTRAINT no");
    log("ALTER seq SET CACHE 20", "CACHE", "ALTER seq SET CACHE 1");
    log("ALTER seq SET INCREMENT 2", "INCREMENT", "ALTER seq SET INCREMENT 1");
    log("ALTER seq SET CYCLE", "CYCLE", "ALTER seq SET NO CYCLE");
    log("ALTER seq SET MAXVALUE 1000", "MAXVALUE", "ALTER seq SET NO MAXVALUE");
    drift.refused("CREATE RULE no AS ON INSERT TO aftertouch.log DO INSTEAD NOTHING", "rules",
        "DROP RULE no ON aftertouch.log");
    drift.refused("CREATE UNIQUE INDEX no ON aftertouch.log (key)", "unique indexes",
        "DROP INDEX aftertouch.no");
    drift.refused(
        "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
        "CREATE TRIGGER no BEFORE INSERT ON aftertouch.log FOR EACH ROW EXECUTE FUNCTION nothing()",
        "triggers", "DROP TRIGGER no ON aftertouch.log");
}

TEST_CASE("O3: a log that may have been truncated leads to a rebuild") {
    Drift drift;
    CHECK(drift.owner.try_to("TRUNCATE aftertouch.log").state == "P0001");
    const std::string id = "SELECT log_id FROM aftertouch.meta";
    const std::string before = drift.owner.run(id).value();
    drift.mended("ALTER TABLE aftertouch.log DISABLE TRIGGER USER", "is missing or switched off");
    CHECK(drift.owner.run(id).value() != before);
    drift.mended(
        "DROP TRIGGER log_is_pruned_by_delete ON aftertouch.log", "is missing or switched off");
    CHECK(drift.owner.try_to("TRUNCATE aftertouch.log").state == "P0001");
}

TEST_CASE("O3: a role that may no longer append is named, and may again") {
    Drift drift;
    const std::string role = "definer_" + std::to_string(getpid());
    drift.owner.run("CREATE ROLE " + role + "; GRANT USAGE, CREATE ON SCHEMA aftertouch TO " +
                    role + "; GRANT INSERT ON aftertouch.log TO " + role);
    for (const char* moment : {"insert", "update", "delete", "truncate"}) {
        drift.owner.run(
            std::string{"ALTER FUNCTION aftertouch.capture_1_"} + moment + " OWNER TO " + role);
    }
    CHECK(found(drift.database).empty());
    drift.owner.run("INSERT INTO item VALUES (1, 'a', 1)");
    drift.mended("REVOKE INSERT ON aftertouch.log FROM " + role,
        "role " + role + ", which owns function aftertouch.capture_1_insert, may not append");
    drift.mended("REVOKE USAGE ON SCHEMA aftertouch FROM " + role, "may not append");
    drift.owner.run("INSERT INTO item VALUES (2, 'a', 1)");
    CHECK(drift.logged() == "I1 I2");
    at::remove(drift.database, at::source<Item>());
    drift.owner.run("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_CASE("O3: a table that can't be followed any more is refused in words") {
    Drift drift;
    drift.refused("ALTER TABLE item SET UNLOGGED", "isn't logged", "ALTER TABLE item SET LOGGED");
    drift.refused("ALTER TABLE item DROP CONSTRAINT item_pkey", "no primary key",
        "ALTER TABLE item ADD PRIMARY KEY (id)");
    drift.refused("ALTER TABLE item ALTER id TYPE numeric", "several texts",
        "ALTER TABLE item ALTER id TYPE bigint");
    drift.refused("ALTER TABLE item RENAME price TO cost", "has no column price",
        "ALTER TABLE item RENAME cost TO price");
    drift.refused(
        "ALTER TABLE item RENAME TO thing", "isn't there", "ALTER TABLE thing RENAME TO item");
    drift.refused("ALTER TABLE item RENAME TO thing; CREATE VIEW item AS SELECT * FROM thing",
        "is no table of its own", "DROP VIEW item; ALTER TABLE thing RENAME TO item");
}

TEST_CASE("C2, C3: a table that is renamed, moved or rewritten is captured as before") {
    Drift drift;
    const auto still = [&](const std::string& sql, const std::string& table) {
        INFO(sql);
        drift.owner.run(sql);
        drift.owner.run("INSERT INTO " + table + " VALUES (1, 'a', 1); UPDATE " + table +
                        " SET name = 'b'; DELETE FROM " + table);
        CHECK(drift.logged() == "I1 U1 D1");
    };
    still("ALTER TABLE item RENAME TO thing", "thing");
    still("CREATE SCHEMA other; ALTER TABLE thing SET SCHEMA other", "other.thing");
    still("ALTER TABLE other.thing SET SCHEMA public; ALTER TABLE thing RENAME TO item", "item");
    still("VACUUM FULL item", "item");
    still("CLUSTER item USING item_pkey", "item");
    still("ALTER TABLE item ALTER price TYPE numeric USING price * 2", "item");
    still("ALTER TABLE item ADD COLUMN extra uuid DEFAULT gen_random_uuid()", "item");
    still("ALTER TABLE item RENAME extra TO other", "item");
    still("ALTER TABLE item DROP COLUMN other", "item");
    still("ALTER TABLE item RENAME name TO label; ALTER TABLE item RENAME label TO name", "item");
    still("ALTER TABLE item RENAME CONSTRAINT item_pkey TO key", "item");
}

TEST_CASE("O3: a table in another's place is captured, and the other one no more") {
    Drift drift;
    drift.owner.run(
        "ALTER TABLE item RENAME TO old; CREATE TABLE item (id bigint PRIMARY KEY, name "
        "text, price float8)");
    const std::string differences = found(drift.database);
    CHECK_THAT(differences, Catch::Matchers::ContainsSubstring(
                                "!aftertouch_1_insert is on public.old, which is no part of "
                                "public.item"));
    CHECK_THAT(differences, Catch::Matchers::ContainsSubstring(
                                "trigger !aftertouch_1_insert on public.item is missing"));
    CHECK(at::install(drift.database, at::source<Item>()));
    drift.owner.run("INSERT INTO old VALUES (1, 'a', 1); INSERT INTO item VALUES (2, 'b', 1)");
    CHECK(drift.logged() == "I2");

    drift.mended("DROP TABLE item; CREATE TABLE item (id bigint PRIMARY KEY, name text, price "
                 "float8)",
        "trigger !aftertouch_1_insert on public.item is missing");
    drift.mended("DROP FUNCTION aftertouch.capture_1_update() CASCADE",
        "function aftertouch.capture_1_update is missing");
}

TEST_CASE("O3: triggers that are made to wait, to run for replicas only, or with a condition") {
    Drift drift;
    drift.mended("ALTER TABLE item DISABLE TRIGGER USER", "is switched off");
    drift.mended("ALTER TABLE item DISABLE TRIGGER ALL", "is switched off");
    drift.mended(
        "ALTER TABLE item ENABLE REPLICA TRIGGER \"!aftertouch_1_insert\"", "is switched off");
    drift.mended("DROP TRIGGER \"!aftertouch_1_delete\" ON item; CREATE CONSTRAINT TRIGGER "
                 "\"!aftertouch_1_delete\" AFTER DELETE ON item DEFERRABLE FOR EACH ROW EXECUTE "
                 "FUNCTION aftertouch.capture_1_delete()",
        "trigger !aftertouch_1_delete on public.item isn't as it should be");
    drift.mended("DROP TRIGGER \"!aftertouch_1_update\" ON item; CREATE TRIGGER "
                 "\"!aftertouch_1_update\" AFTER UPDATE ON item REFERENCING OLD TABLE AS "
                 "aftertouch_old NEW TABLE AS aftertouch_new WHEN (current_user <> 'nobody') "
                 "EXECUTE FUNCTION aftertouch.capture_1_update()",
        "trigger !aftertouch_1_update on public.item isn't as it should be");
    drift.mended("ALTER FUNCTION aftertouch.capture_1_insert() SECURITY INVOKER",
        "function aftertouch.capture_1_insert isn't as it should be");
}

TEST_CASE(
    "O3: a schema that is gone leaves writers alone; a pipeline makes it anew, and rebuilds") {
    Drift drift;
    Texts told;
    at::Options options;
    options.name = "p";
    options.observer = {};
    at::Pipeline pipeline{at::source<Item>(),
        [&](const at::Batch<Item>& batch) {
            for (const at::Change<Item>& change : batch.changes()) {
                told.push_back(
                    static_cast<char>(change.operation()) + std::to_string(change.key()));
            }
        },
        drift.database, options};
    pipeline.drain();
    drift.owner.run("INSERT INTO item VALUES (1, 'a', 1)");
    pipeline.drain();
    drift.owner.run("DROP SCHEMA aftertouch CASCADE; INSERT INTO item VALUES (2, 'b', 1)");
    pipeline.drain();
    CHECK(told == Texts{"I1", "P1", "P2"});
    drift.owner.run("UPDATE item SET name = 'c' WHERE id = 2");
    pipeline.drain();
    CHECK(told == Texts{"I1", "P1", "P2", "U2"});
}

TEST_CASE("C2: a captured column that is renamed or dropped fails writers until it is mended") {
    Drift drift;
    drift.owner.run("ALTER TABLE item RENAME id TO number");
    CHECK(drift.owner.try_to("INSERT INTO item VALUES (1, 'a', 1)").state == "42703");
    CHECK_THROWS_SAYING(found(drift.database), at::Error, "has no column id");
    at::remove(drift.database, at::source<Item>()); // the way out without the old name
    drift.owner.run("INSERT INTO item VALUES (1, 'a', 1)");
}

} // namespace drift
