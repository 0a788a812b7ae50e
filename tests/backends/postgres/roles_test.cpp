// SPDX-License-Identifier: MIT
// C2, C9: each role of sql/postgres/README.md does its work with the grants written there, and no
// more than that.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;

namespace roles {

struct Account {
    std::int64_t id = 0;
    std::string owner;
    double balance = 0;
    std::optional<std::string> note;
};
struct Copy {
    std::int64_t id = 0;
    std::string owner;
};

} // namespace roles

template <>
struct aftertouch::EntityTraits<roles::Copy> {
    static constexpr auto table = "account_copy";
};

namespace roles {

namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
        text.replace(at, what.size(), by);
    }
    return text;
}

/// The SQL in the README behind a heading, up to the next heading.
std::string documented(const std::string& heading) {
    const std::filesystem::path path =
        std::filesystem::path{AFTERTOUCH_SOURCE_DIR} / "sql/postgres/README.md";
    std::ifstream in{path, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const std::size_t section = text.find("\n### " + heading + "\n");
    const std::size_t begin = text.find("```sql\n", section);
    const std::size_t end = text.find("\n```", begin);
    if (section == std::string::npos || end == std::string::npos ||
        text.find("\n#", section + 1) < begin) {
        throw std::runtime_error{"the README has no SQL behind " + heading};
    }
    return text.substr(begin + 7, end - begin - 7);
}

/// A database where everybody has the rights that the README gives them, and no other. Roles
/// belong to the server, not to a database: their names end with a number of their own.
class Company {
public:
    Company() {
        run("CREATE ROLE shop_owner LOGIN; CREATE TABLE account (id bigint PRIMARY KEY, owner text "
            "NOT NULL, balance double precision NOT NULL, note text); CREATE TABLE account_copy "
            "(id bigint PRIMARY KEY, owner text NOT NULL); ALTER TABLE account OWNER TO "
            "shop_owner");
        run(documented("Before installing"));
        run("SET ROLE aftertouch_owner");
        at::install(shop.database, touch, images);
        run("RESET ROLE");
        run(documented("Installing"));
        run(documented("The program with the pipelines"));
        run(documented("Programs that write"));
        run(documented("Whoever looks after the log"));
    }
    ~Company() {
        try {
            for (const char* role : names) { drop(role); }
        } catch (const at::Error&) {
            // A test that fails says why itself.
        }
    }

    void run(const std::string& sql) { shop.database.execute(in_this_database(sql)); }

    [[nodiscard]] std::string in_this_database(std::string sql) const {
        for (const char* role : names) { sql = replaced(sql, role, role + suffix_); }
        return replaced(sql, "DATABASE shop ", "DATABASE " + name_ + ' ');
    }

    [[nodiscard]] Database as(const std::string& role) const {
        at::postgres::Parameters parameters = shop.place.parameters();
        parameters.emplace_back("user", role + suffix_);
        return Database{parameters};
    }

    /// Which of some statements a role may run, all of them separated by line ends.
    [[nodiscard]] std::string allowed(
        Database& database, const std::vector<std::string>& statements) const {
        std::string found;
        for (const std::string& sql : statements) {
            try {
                database.execute("BEGIN; " + in_this_database(sql));
                found += sql + '\n';
            } catch (const at::Error& error) {
                INFO(sql);
                INFO(error.what());
                CHECK(error.native_code() == at::postgres::detail::packed("42501"));
            }
            database.execute("ROLLBACK");
        }
        return found;
    }

    static constexpr const char* names[] = {"shop_owner", "shop_follower", "shop_writer",
        "aftertouch_owner", "aftertouch_capture", "aftertouch_keeper"};

    const at::Source<Account> touch = at::source<Account>();
    const at::Source<Account, at::CaptureMode::images> images =
        at::source<Account>().images().exclude<&Account::note>();
    Shop shop;

private:
    void drop(const std::string& role) {
        const std::string name = in_this_database(role);
        if (!one<bool>(shop.database, "SELECT to_regrole('" + name + "') IS NOT NULL")) { return; }
        shop.database.execute("DROP OWNED BY " + name + " CASCADE; DROP ROLE " + name);
    }

    [[nodiscard]] static std::string unused_suffix() {
        static std::atomic<int> number{0};
        return '_' + std::to_string(getpid()) + '_' + std::to_string(++number);
    }

    std::string suffix_ = unused_suffix();
    std::string name_ = one<std::string>(shop.database, "SELECT current_database()::text");
};

const std::vector<std::string> on_the_log = {
    "INSERT INTO aftertouch.log (capture, op, key) VALUES (1, 'I', '1')",
    "UPDATE aftertouch.log SET key = '2'", "DELETE FROM aftertouch.log", "TRUNCATE aftertouch.log",
    "DROP TABLE aftertouch.log", "SELECT nextval('aftertouch.log_seq_seq')",
    "SELECT setval('aftertouch.log_seq_seq', 1)", "ALTER SEQUENCE aftertouch.log_seq_seq CACHE 20",
    "CREATE RULE forget AS ON INSERT TO aftertouch.log DO INSTEAD NOTHING"};

const std::vector<std::string> on_the_rest = {"UPDATE aftertouch.meta SET log_id = 'x'",
    "DELETE FROM aftertouch.meta", "UPDATE aftertouch.capture SET definition = 'x'",
    "DELETE FROM aftertouch.capture", "DELETE FROM aftertouch.checkpoint",
    "CREATE TABLE aftertouch.mine ()", "DROP SCHEMA aftertouch CASCADE",
    "CREATE OR REPLACE FUNCTION aftertouch.capture_1_insert() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN RETURN NULL; END'",
    "CREATE TEMP TABLE mine (id bigint); CREATE TRIGGER forge AFTER INSERT ON mine FOR EACH ROW "
    "EXECUTE FUNCTION aftertouch.capture_1_insert()"};

const std::vector<std::string> to_read = {"SELECT FROM aftertouch.log",
    "SELECT FROM aftertouch.meta", "SELECT FROM aftertouch.capture",
    "SELECT FROM aftertouch.checkpoint", "SELECT FROM aftertouch.dead_letter",
    "SELECT FROM aftertouch.own_change"};

const std::vector<std::string> on_the_triggers = {
    "ALTER TABLE account DISABLE TRIGGER \"!aftertouch_1_insert\"",
    "DROP TRIGGER \"!aftertouch_1_insert\" ON account", "DROP TABLE account",
    "CREATE TRIGGER mine AFTER INSERT ON account FOR EACH ROW EXECUTE FUNCTION "
    "suppress_redundant_updates_trigger()",
    "SET session_replication_role = replica"};

std::vector<std::string> all_of(const std::vector<std::vector<std::string>>& lists) {
    std::vector<std::string> all;
    for (const auto& list : lists) { all.insert(all.end(), list.begin(), list.end()); }
    return all;
}

// What a program with the consumer's rights does.
template <class Source>
auto copying(Database& database, const Source& source, std::string name, at::Schema schema) {
    at::Options options;
    options.name = std::move(name);
    options.schema = schema;
    options.lanes = 3;
    options.skip_own_changes = true;
    options.observer = {};
    return at::Pipeline{source,
        [](const at::Batch<Account>& batch, auto& tx) {
            for (const Account& now : batch.records()) { tx.upsert(Copy{now.id, now.owner}); }
            for (const std::int64_t gone : batch.missing()) { tx.erase(at::type<Copy>, gone); }
        },
        database, options};
}

constexpr std::string_view copied =
    "SELECT coalesce(string_agg(id || owner, ' ' ORDER BY id), '') FROM account_copy";

} // namespace

TEST_CASE("C9: every role does its work with the grants of the README alone") {
    Company company;
    Database writer = company.as("shop_writer");
    Database follower = company.as("shop_follower");
    writer.execute("INSERT INTO account VALUES (1, 'ada', 1, NULL)");
    for (const at::Schema schema : {at::Schema::verify, at::Schema::automatic, at::Schema::none}) {
        const std::string number = std::to_string(static_cast<int>(schema));
        auto touches = copying(follower, company.touch, "touches" + number, schema);
        auto images = copying(follower, company.images, "images" + number, schema);
        touches.drain();
        images.drain();
        CHECK(one<std::string>(follower, copied) == "1ada");
        writer.execute("INSERT INTO account SELECT i, 'bob', 2, 'x' FROM generate_series(2, 30) AS "
                       "i; UPDATE account SET owner = 'eve' WHERE id = 2; UPDATE account SET id = "
                       "31 WHERE id = 3; DELETE FROM account WHERE id > 3");
        CHECK(touches.status().lag->records == 29 + 1 + 2 + 27 + 1);
        touches.drain();
        CHECK(one<std::string>(follower, copied) == "1ada 2eve");
        images.drain();
        touches.rewind(at::Timestamp{std::chrono::seconds{1}});
        touches.drain();
        CHECK(one<std::string>(follower, copied) == "1ada 2eve");
        writer.execute("DELETE FROM account; INSERT INTO account VALUES (1, 'ada', 1, NULL)");
        follower.execute("DELETE FROM account_copy");
    }
}

TEST_CASE("O2: who looks after the log sees the lag and prunes, and can't read what is captured") {
    Company company;
    Database writer = company.as("shop_writer");
    Database follower = company.as("shop_follower");
    Database keeper = company.as("aftertouch_keeper");
    auto copies = copying(follower, company.touch, "copies", at::Schema::verify);
    copies.drain();
    writer.execute("INSERT INTO account VALUES (1, 'ada', 1, NULL), (2, 'bob', 1, NULL)");
    const at::Script status = at::status_script(keeper);
    const std::string lag =
        "SELECT lag_records::bigint FROM (" + status.statements()[0].sql + ") AS s";
    const std::string who = "SELECT coalesce(string_agg(open_transaction, ' '), '') FROM (" +
                            status.statements()[1].sql + ") AS s";
    CHECK(one<std::int64_t>(keeper, lag) == 2);
    writer.execute("BEGIN; UPDATE account SET balance = 2");
    CHECK(one<std::string>(keeper, who).find(company.in_this_database("shop_writer")) !=
          std::string::npos);
    writer.execute("COMMIT");
    CHECK(keeper.prune() == 0);
    copies.drain();
    CHECK(keeper.prune() == 4 + 4); // with those of the other capture
    CHECK(one<std::int64_t>(keeper, lag) == 0);
    CHECK(company
            .allowed(keeper,
                all_of({on_the_triggers,
                    {"SELECT FROM account", "DELETE FROM account",
                        "INSERT INTO aftertouch.log (capture, op) VALUES (1, 'X')",
                        "UPDATE aftertouch.log SET key = '2'", "TRUNCATE aftertouch.log",
                        "DROP TABLE aftertouch.log", "UPDATE aftertouch.checkpoint SET version = 1",
                        "SELECT setval('aftertouch.log_seq_seq', 1)"}}))
            .empty());
}

TEST_CASE(
    "C2: writers and the table's owner need no right in the schema aftertouch, and have none") {
    Company company;
    for (const char* role : {"shop_writer", "shop_owner"}) {
        INFO(role);
        Database writer = company.as(role);
        writer.execute("INSERT INTO account VALUES (1, 'ada', 1, NULL); UPDATE account SET id = 2; "
                       "DELETE FROM account");
        CHECK(one<std::int64_t>(company.shop.database,
                  "SELECT count(*) FROM aftertouch.log WHERE capture = 1") == 4);
        company.run("DELETE FROM aftertouch.log");
        CHECK(company.allowed(writer, all_of({on_the_log, on_the_rest, to_read})).empty());
    }
    Database writer = company.as("shop_writer");
    CHECK(company.allowed(writer, on_the_triggers).empty());
    CHECK(company.allowed(writer, {"TRUNCATE account"}).empty());
    Database owner = company.as("shop_owner");
    owner.execute("TRUNCATE account");
    CHECK(one<std::int64_t>(company.shop.database, "SELECT count(*) FROM aftertouch.log") == 2);
    CHECK(company.allowed(owner, {"SET session_replication_role = replica"}).empty());
}

TEST_CASE("C9: the program with the pipelines can't write the log, nor what it follows") {
    Company company;
    company.run("INSERT INTO account VALUES (1, 'ada', 1, NULL)");
    Database follower = company.as("shop_follower");
    CHECK(company.allowed(follower, all_of({on_the_log, on_the_rest, on_the_triggers})).empty());
    CHECK(company
            .allowed(follower,
                {"INSERT INTO account VALUES (2, 'bob', 1, NULL)",
                    "UPDATE account SET owner = 'eve'", "DELETE FROM account", "TRUNCATE account",
                    "UPDATE aftertouch.own_change SET pipeline "
                    "= 'x'"})
            .empty());
    CHECK_THROWS_SAYING(at::remove(follower, company.touch), at::Error, "lacks a right");
}

TEST_CASE("C9: the role that the functions run as can't read nor write what is captured") {
    Company company;
    Database& database = company.shop.database;
    company.run("INSERT INTO account VALUES (1, 'ada', 1, NULL); SET ROLE aftertouch_owner");
    CHECK(company
            .allowed(database,
                all_of({on_the_triggers, {"SELECT FROM account", "DELETE FROM account",
                                             "INSERT INTO account VALUES (2, 'bob', 1, NULL)",
                                             "CREATE SCHEMA mine", "CREATE TABLE public.mine ()"}}))
            .empty());
    company.run("RESET ROLE");
    CHECK(one<bool>(
        database, company.in_this_database(
                      "SELECT bool_and(proowner = 'aftertouch_owner'::regrole "
                      "AND prosecdef) FROM pg_proc WHERE "
                      "pronamespace = 'aftertouch'::regnamespace AND proname ~ '^capture_'")));
    // Of its own it has the schema aftertouch, and nothing else.
    CHECK(one<bool>(database,
        company.in_this_database("SELECT bool_and(relnamespace IN ('aftertouch'::regnamespace, "
                                 "'pg_toast'::regnamespace)) "
                                 "FROM pg_class WHERE relowner = 'aftertouch_owner'::regrole")));
}

TEST_CASE("C9: functions of a role of their own need nothing but INSERT on the log") {
    Company company;
    Database& database = company.shop.database;
    company.run(documented("Functions of a role of their own"));
    company.as("shop_writer")
        .execute("INSERT INTO account SELECT i, 'ada', 1, NULL FROM generate_series(1, 40) AS i; "
                 "UPDATE account SET id = id + 100; DELETE FROM account");
    company.as("shop_owner").execute("TRUNCATE account");
    CHECK(one<std::int64_t>(database, "SELECT sum(coalesce(keys, 1)) FROM aftertouch.log WHERE "
                                      "capture = 1") == 40 + 80 + 40 + 1);
    Database follower = company.as("shop_follower");
    CHECK(at::verify(follower, company.touch).empty());
    company.run("SET ROLE aftertouch_capture");
    // It owns the function, so it may call it: nobody logs in as this role.
    CHECK(company.allowed(database, all_of({to_read, on_the_rest, on_the_triggers})) ==
          on_the_rest.back() + '\n');
    CHECK(company.allowed(database, on_the_log) == on_the_log.front() + '\n');
    company.run("RESET ROLE");
}

TEST_CASE("O3: the capture's owner mends its triggers with the right TRIGGER alone") {
    Company company;
    Database& database = company.shop.database;
    company.as("shop_owner")
        .execute("ALTER TABLE account DISABLE TRIGGER \"!aftertouch_1_insert\"; "
                 "DROP TRIGGER \"!aftertouch_1_delete\" ON account");
    company.run("SET ROLE aftertouch_owner");
    CHECK(at::verify(database, company.touch).size() == 2);
    CHECK_THROWS_SAYING(at::install(database, company.touch), at::Error, "lacks a right");
    company.run(
        "RESET ROLE; " +
        documented("Before installing").substr(documented("Before installing").find("GRANT")) +
        "; SET ROLE aftertouch_owner");
    CHECK(at::install(database, company.touch));
    CHECK(at::verify(database, company.touch, company.images).empty());
    company.run("RESET ROLE");
    company.as("shop_writer")
        .execute("INSERT INTO account VALUES (1, 'ada', 1, NULL); DELETE FROM account");
    CHECK(
        one<std::int64_t>(database, "SELECT count(*) FROM aftertouch.log WHERE capture = 1") == 2);
}

TEST_CASE("O3: a grant that is missing is told with what to do") {
    Company company;
    Database follower = company.as("shop_follower");
    for (const char* right :
        {"SELECT ON aftertouch.log", "SELECT ON aftertouch.capture", "SELECT ON aftertouch.meta",
            "UPDATE ON aftertouch.checkpoint", "INSERT ON aftertouch.checkpoint",
            "SELECT ON aftertouch.dead_letter", "SELECT ON SEQUENCE aftertouch.log_seq_seq",
            "USAGE ON SCHEMA aftertouch", "SELECT ON account"}) {
        INFO(right);
        company.run(
            "DELETE FROM account; INSERT INTO account VALUES (1, 'ada', 1, NULL); DELETE FROM "
            "aftertouch.checkpoint");
        auto pipeline = copying(follower, company.touch, "p", at::Schema::verify);
        if (std::string_view{right}.starts_with("UPDATE")) { pipeline.run_once(); }
        company.run("REVOKE " + std::string{right} + " FROM shop_follower");
        CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "sql/postgres/README.md");
        company.run("GRANT " + std::string{right} + " TO shop_follower");
        CHECK_NOTHROW(pipeline.drain());
    }
    company.run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
    auto pipeline = copying(follower, company.touch, "p", at::Schema::verify);
    CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "pg_control_system");
    company.run("GRANT EXECUTE ON FUNCTION pg_control_system() TO shop_follower");
    CHECK_NOTHROW(pipeline.drain());
}

} // namespace roles
