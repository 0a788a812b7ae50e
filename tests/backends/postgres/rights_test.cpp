// SPDX-License-Identifier: MIT
// C2, C9: who may do what. The triggers run as their owner, on behalf of anybody: nothing that a
// writer or the owner of a table brings along runs as that role.
#include <string>

#include <support/catch.hpp>

#include "notes.hpp"
#include "sessions.hpp"

using namespace test;

namespace rights {

struct Trap {
    std::int64_t id = 0;
    std::string state;
    std::string pair;
    std::string label;
};
/// The same, with the trap's own type as its key.
struct Labelled {
    std::string label;
    std::int64_t id = 0;
};

} // namespace rights

template <>
struct aftertouch::EntityTraits<rights::Labelled> {
    static constexpr auto table = "trap";
    static constexpr auto key = aftertouch::key<&rights::Labelled::label>;
};

namespace rights {

namespace {

/// Roles of this process, gone with this object: whoever installs, owns tables, or writes.
class Roles {
public:
    explicit Roles(const Shop& shop) : session_{shop, "roles"} {
        for (const char* role : {"installer", "keeper", "writer", "mallory"}) {
            session_.run("CREATE ROLE " + name(role) + " LOGIN");
        }
        const std::string database = session_.run("SELECT current_database()").value();
        session_.run("GRANT CREATE ON DATABASE " + database + " TO " + name("installer") +
                     "; GRANT TEMPORARY ON DATABASE " + database +
                     " TO PUBLIC; GRANT CREATE ON "
                     "SCHEMA public TO " +
                     name("keeper") + ", " + name("mallory"));
    }
    Roles(const Roles&) = delete;
    Roles& operator=(const Roles&) = delete;
    ~Roles() {
        for (const char* role : {"installer", "keeper", "writer", "mallory"}) {
            session_.try_to("DROP OWNED BY " + name(role) + " CASCADE; DROP ROLE " + name(role));
        }
    }

    [[nodiscard]] static std::string name(const std::string& role) {
        return role + '_' + std::to_string(getpid());
    }
    [[nodiscard]] static at::postgres::Parameters as(const std::string& role) {
        return {{"user", name(role)}};
    }
    [[nodiscard]] static Database open(const Shop& shop, const std::string& role) {
        at::postgres::Parameters parameters = shop.place.parameters();
        parameters.emplace_back("user", name(role));
        return Database{parameters};
    }

private:
    Session session_;
};

/// A table of the keeper's, captured by an installer that owns nothing of it.
struct Estate {
    Shop shop;
    Roles roles{shop};
    Session keeper{shop, "keeper", Roles::as("keeper")};
    Session writer{shop, "writer", Roles::as("writer")};
    Session mallory{shop, "mallory", Roles::as("mallory")};
    Database installer{Roles::open(shop, "installer")};

    explicit Estate(const std::string& sql) {
        keeper.run(sql);
        keeper.run("GRANT SELECT, TRIGGER ON ALL TABLES IN SCHEMA public TO " +
                   Roles::name("installer") +
                   "; GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA "
                   "public TO " +
                   Roles::name("writer"));
    }
};

/// Whatever the keeper's code does notes in whose name it runs.
constexpr const char* traps =
    "CREATE TABLE caller (role name, what text); CREATE FUNCTION caught(what text) RETURNS boolean "
    "LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.caller VALUES (current_user, what); RETURN "
    "true; END $$; GRANT INSERT ON caller TO PUBLIC; "
    "CREATE TYPE state AS ENUM ('on', 'off'); CREATE FUNCTION state_text(state) RETURNS text "
    "LANGUAGE sql AS $$ SELECT 'cast' FROM public.caught('cast of an enum') $$; CREATE CAST (state "
    "AS text) WITH FUNCTION state_text(state) AS IMPLICIT; "
    "CREATE TYPE pair AS (a int, b int); CREATE FUNCTION pair_text(pair) RETURNS text LANGUAGE sql "
    "AS $$ SELECT 'cast' FROM public.caught('cast of a pair') $$; CREATE CAST (pair AS text) WITH "
    "FUNCTION pair_text(pair) AS ASSIGNMENT; CREATE FUNCTION pair_json(pair) RETURNS json LANGUAGE "
    "sql AS $$ SELECT '1'::json FROM public.caught('json of a pair') $$; CREATE CAST (pair AS "
    "json) "
    "WITH FUNCTION pair_json(pair); "
    "CREATE FUNCTION pair_equal(pair, pair) RETURNS boolean LANGUAGE sql AS $$ SELECT "
    "public.caught("
    "'equality of pairs') $$; CREATE OPERATOR = (LEFTARG = pair, RIGHTARG = pair, FUNCTION = "
    "pair_equal); "
    "CREATE DOMAIN label AS varchar(20) CHECK (public.caught('check of a domain')); CREATE "
    "FUNCTION "
    "concat(label) RETURNS text LANGUAGE sql AS $$ SELECT 'own' FROM public.caught('concat') $$; "
    "CREATE FUNCTION concat(bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'own' FROM "
    "public.caught('concat') $$; CREATE FUNCTION array_agg_step(bigint[], bigint) RETURNS bigint[] "
    "LANGUAGE sql AS $$ SELECT '{1}'::bigint[] FROM public.caught('aggregate') $$; CREATE "
    "AGGREGATE "
    "array_agg(bigint) (SFUNC = array_agg_step, STYPE = bigint[]); CREATE FUNCTION "
    "caught_int(bigint,"
    " integer) RETURNS boolean LANGUAGE sql AS $$ SELECT public.caught('operator') $$; CREATE "
    "OPERATOR = (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = caught_int); CREATE FUNCTION "
    "caught_bigint(bigint, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT public.caught("
    "'operator') $$; CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = "
    "caught_bigint); CREATE FUNCTION generate_series(int, int, int) RETURNS SETOF int LANGUAGE sql "
    "AS $$ SELECT 1 FROM public.caught('series') $$; CREATE FUNCTION cardinality(anyarray) RETURNS "
    "int LANGUAGE sql AS $$ SELECT 1 FROM public.caught('cardinality') $$; "
    "CREATE TABLE trap (id bigint PRIMARY KEY, state state, pair pair, label label NOT NULL "
    "UNIQUE)";

constexpr const char* hostile_path = "SET search_path = public, pg_catalog; ";

void write_traps(Session& writer) {
    writer.run(std::string{hostile_path} +
               "INSERT INTO trap SELECT i, 'on', ('(' || i || ',1)')::pair, 'l' || i FROM "
               "generate_series(1, 20) AS i; UPDATE trap SET state = 'off', pair.b = 2; UPDATE "
               "trap SET id = id + 100, label = label || 'x'; DELETE FROM trap WHERE id "
               "OPERATOR(pg_catalog.>) 110; TRUNCATE trap");
}

} // namespace

TEST_CASE("C9: no code of a table's owner runs as the owner of the triggers") {
    Estate estate{traps};
    at::install(estate.installer, at::source<Trap>());
    at::install(estate.installer, at::source<Trap>().images());
    at::install(estate.installer, at::source<Labelled>().named("labelled"));
    at::install(estate.installer, at::source<Labelled>().images().named("labelled_images"));
    write_traps(estate.writer);
    CHECK(estate.keeper.run("SELECT count(*) > 0 FROM caller").value() == "t");
    CHECK(estate.keeper
            .run("SELECT coalesce(string_agg(DISTINCT what, ', '), '') FROM caller WHERE role = '" +
                 Roles::name("installer") + "'")
            .value()
            .empty());
    Session all{estate.shop, "all"};
    CHECK(
        all.run("SELECT bool_and(key NOT IN ('own', 'cast')) AND count(DISTINCT capture) = 4 FROM "
                "aftertouch.log WHERE key IS NOT NULL")
            .value() == "t");
    CHECK(
        all.run("SELECT count(*) FROM aftertouch.log WHERE capture = 2 AND op = 'U' AND image LIKE "
                "'%,off,\"(5,2)\",l5)'")
            .value() == "1");
}

TEST_CASE("C9: the same row by row, on a partitioned table") {
    std::string sql{traps};
    const std::string table = "CREATE TABLE trap (";
    sql = sql.substr(0, sql.find(table)) +
          "CREATE TABLE trap (id bigint, state state, pair pair, label label NOT NULL, PRIMARY KEY "
          "(id)) PARTITION BY HASH (id); CREATE TABLE traps PARTITION OF trap FOR VALUES WITH "
          "(MODULUS 1, REMAINDER 0)";
    Estate estate{sql};
    at::install(estate.installer, at::source<Trap>());
    at::install(estate.installer, at::source<Trap>().images());
    write_traps(estate.writer);
    CHECK(estate.keeper
            .run("SELECT coalesce(string_agg(DISTINCT what, ', '), '') FROM caller WHERE role = '" +
                 Roles::name("installer") + "'")
            .value()
            .empty());
}

TEST_CASE("C2, C9: what a writer's temporary objects shadow is of no use to it") {
    Estate estate{"CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)"};
    at::install(estate.installer, at::source<Item>());
    at::install(estate.installer, at::source<Item>().images());
    Session& writer = estate.writer;
    writer.run("CREATE TEMP TABLE log (LIKE item); CREATE TEMP TABLE aftertouch_new (LIKE item); "
               "CREATE TEMP TABLE aftertouch_old (LIKE item); CREATE TEMP TABLE r (a int); CREATE "
               "TEMP TABLE rest (a int); CREATE TEMP TABLE item (LIKE public.item); CREATE DOMAIN "
               "pg_temp.text AS pg_catalog.text CHECK (false); CREATE DOMAIN pg_temp.bigint AS "
               "pg_catalog.int8 CHECK (false); CREATE DOMAIN pg_temp.int8 AS pg_catalog.int8 CHECK "
               "(false); CREATE DOMAIN pg_temp.\"char\" AS pg_catalog.\"char\" CHECK (false); "
               "CREATE FUNCTION pg_temp.concat(bigint) RETURNS pg_catalog.text LANGUAGE sql AS "
               "$$ SELECT 'stolen' $$; SET search_path = pg_temp, public, pg_catalog");
    writer.run("INSERT INTO public.item SELECT i, 'a', 1 FROM generate_series(1, 20) AS i; UPDATE "
               "public.item SET name = 'b' WHERE id = 1; UPDATE public.item SET id = 100 WHERE id "
               "= 1; DELETE FROM public.item WHERE id = 100");
    Session all{estate.shop, "all"};
    CHECK(all.run("SELECT string_agg(op::text || coalesce(keys::text, key), ' ' ORDER BY seq) FROM "
                  "aftertouch.log WHERE capture = 1")
              .value() == "I1 I2 I3 I4 I5 I6 I7 I8 I12 U1 D1 I100 D100");
    CHECK(all.run("SELECT count(*) FROM aftertouch.log WHERE capture = 2").value() == "24");
}

TEST_CASE("C9: nobody but its owner reads or forges the log, whatever rights on tables it has") {
    Estate estate{"CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)"};
    at::install(estate.installer, at::source<Item>());
    for (Session* session : {&estate.writer, &estate.keeper, &estate.mallory}) {
        INFO(session->name());
        for (const char* sql :
            {"INSERT INTO aftertouch.log (capture, op, key) VALUES (1, 'I', '1')",
                "SELECT * FROM aftertouch.log", "DELETE FROM aftertouch.log",
                "TRUNCATE aftertouch.log", "UPDATE aftertouch.checkpoint SET version = 0",
                "SELECT aftertouch.capture_1_insert()", "SELECT nextval('aftertouch.log_seq_seq')",
                "SELECT setval('aftertouch.log_seq_seq', 1)",
                "DO $$ BEGIN LOCK TABLE aftertouch.log; END $$",
                "CREATE FUNCTION aftertouch.capture_1_insert(int) RETURNS int LANGUAGE sql AS "
                "'SELECT 1'"}) {
            INFO(sql);
            CHECK(session->try_to(sql).state == "42501");
        }
        // A trigger of its own that calls ours would forge changes of the captured table.
        session->run("CREATE TEMP TABLE mine (id bigint, name text, price float8)");
        CHECK(session
                  ->try_to("CREATE TRIGGER t AFTER INSERT ON mine REFERENCING NEW TABLE AS "
                           "aftertouch_new EXECUTE FUNCTION aftertouch.capture_1_insert()")
                  .state == "42501");
    }
    for (const char* sql :
        {"ALTER TABLE item DISABLE TRIGGER ALL", "SET session_replication_role = replica",
            "DROP TRIGGER \"!aftertouch_1_insert\" ON "
            "item",
            "CREATE RULE r AS ON INSERT TO item DO INSTEAD NOTHING"}) {
        INFO(sql);
        CHECK(estate.writer.try_to(sql).state == "42501");
    }
}

TEST_CASE("C7: a role that owns nothing of a table installs, follows and removes") {
    Estate estate{"CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)"};
    Texts told;
    at::Options options;
    options.name = "p";
    options.begin = at::Begin::now;
    at::Pipeline pipeline{at::source<Item>().images(),
        [&](const at::Batch<Item>& batch) {
            for (const auto& change : batch.changes()) { told.push_back(change.after()->name); }
        },
        estate.installer, options};
    pipeline.drain();
    estate.writer.run("INSERT INTO item VALUES (1, 'a', 1)");
    estate.keeper.run("INSERT INTO item VALUES (2, 'b', 1)");
    pipeline.drain();
    CHECK(told == Texts{"a", "b"});
    // The definer may append to the log, and its own rights on the table end there.
    CHECK(
        estate.keeper
            .run("SELECT has_table_privilege('" + Roles::name("installer") + "', 'item', 'INSERT')")
            .value() == "f");
    estate.keeper.run("REVOKE TRIGGER ON item FROM " + Roles::name("installer"));
    CHECK(at::verify(estate.installer, at::source<Item>().images()).empty());
    estate.writer.run("INSERT INTO item VALUES (3, 'c', 1)");
    pipeline.drain();
    CHECK(told == Texts{"a", "b", "c"});
}

TEST_CASE("C9: an owner that puts a view or a policy in the table's place doesn't get far") {
    Estate estate{traps};
    at::install(estate.installer, at::source<Trap>());
    estate.keeper.run("ALTER TABLE trap RENAME TO hidden; CREATE VIEW trap AS SELECT * FROM hidden "
                      "WHERE caught('a view')");
    CHECK_THROWS_SAYING(
        at::verify(estate.installer, at::source<Trap>()), at::Error, "is no table of its own");
    estate.keeper.run("DROP VIEW trap; ALTER TABLE hidden RENAME TO trap; ALTER TABLE trap ENABLE "
                      "ROW LEVEL SECURITY; CREATE POLICY p ON trap USING (caught('a policy'))");
    CHECK_THROWS_SAYING(
        at::verify(estate.installer, at::source<Trap>()), at::Error, "row security");
    CHECK(estate.keeper
              .run("SELECT count(*) FROM caller WHERE role = '" + Roles::name("installer") + "'")
              .value() == "0");
}

} // namespace rights
