// SPDX-License-Identifier: MIT
// K1, F1: what a handler's own SQL can do to the batch's transaction and connection.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;
using namespace std::chrono_literals;

namespace statements {

struct Item {
    std::int64_t id = 0;
};
struct Label {
    std::int64_t id = 0;
    std::string text;
};

namespace {

/// A pipeline whose handler is a test's.
struct Following {
    Shop shop;
    Database& database = shop.database;
    std::function<void(Tx&)> handle;
    at::Pipeline<at::Source<Item>, std::function<void(const at::Batch<Item>&, Tx&)>, Database>
        pipeline{at::source<Item>(), [this](const at::Batch<Item>&, Tx& tx) { handle(tx); },
            database, named("sql")};

    Following() {
        database.execute("CREATE TABLE item (id bigint PRIMARY KEY); CREATE TABLE note (t text)");
        pipeline.drain();
    }
    void change() {
        database.execute("INSERT INTO item SELECT coalesce(max(id), 0) + 1 FROM item");
    }
    [[nodiscard]] std::vector<std::string> notes() {
        return database.query(at::type<std::string>, "SELECT t FROM note ORDER BY t");
    }
};

constexpr auto note = "INSERT INTO note VALUES ($1)";
const std::string with_nul{"a\0b", 3};

} // namespace

TEST_CASE("F1: COPY in a handler is refused, as its first statement too") {
    Following it;
    const char* const sql = GENERATE("COPY item TO STDOUT", "COPY item FROM STDIN");
    bool first = GENERATE(true, false);
    it.handle = [&](Tx& tx) {
        if (!first) { tx.execute(note, std::string{"x"}); }
        static_cast<void>(tx.query(at::type<std::string>, sql));
    };
    it.change();
    CHECK_THROWS_SAYING(it.pipeline.drain(), at::Error, "COPY");
    CHECK(it.notes().empty());
}

TEST_CASE("F1: an error at COMMIT isn't taken for another process that was faster", "[threads]") {
    Following it;
    it.database.execute(
        "CREATE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM 1 / 0; RETURN "
        "NULL; END'; CREATE CONSTRAINT TRIGGER boom AFTER INSERT ON note DEFERRABLE INITIALLY "
        "DEFERRED FOR EACH ROW EXECUTE FUNCTION boom()");
    it.handle = [](Tx& tx) { tx.execute(note, std::string{"x"}); };
    it.change();
    it.pipeline.start();
    CHECK(it.pipeline.await_idle(60s) == at::Awaited::stopped);
    REQUIRE(it.pipeline.errors().size() == 1);
    CHECK(it.pipeline.errors().front().message.find("division by zero") == std::string::npos);
    CHECK(it.notes().empty());
}

TEST_CASE("K1: a handle that a handler kept can't end another batch's transaction unseen") {
    Following it;
    PGconn* kept = nullptr;
    it.handle = [&](Tx& tx) { kept = tx.native(); };
    it.change();
    it.pipeline.drain();
    it.handle = [&](Tx&) {
        for (const char* sql : {"INSERT INTO note VALUES ('lost')", "COMMIT", "BEGIN"}) {
            PQclear(PQexec(kept, sql));
        }
    };
    it.change();
    CHECK_THROWS_SAYING(it.pipeline.drain(), at::Error, "ended the batch's transaction");
}

TEST_CASE("F1: what is refused before it is sent does a transaction no harm") {
    Following it;
    it.handle = [&](Tx& tx) {
        CHECK_THROWS_AS(tx.execute(note, with_nul), at::Error);
        CHECK_THROWS_AS(tx.execute(std::string{"SELECT 1\0", 9}), at::Error);
        tx.execute(note, std::string{"kept"});
    };
    it.change();
    it.pipeline.drain();
    CHECK(it.notes() == std::vector<std::string>{"kept"});
}

TEST_CASE("F1: a savepoint guards a statement that fails") {
    Following it;
    it.handle = [](Tx& tx) {
        tx.execute("SAVEPOINT a");
        CHECK_THROWS_AS(tx.execute("SELECT 1 / 0"), at::Error);
        tx.execute("ROLLBACK TO a");
        tx.execute(note, std::string{"kept"});
    };
    it.change();
    it.pipeline.drain();
    CHECK(it.notes() == std::vector<std::string>{"kept"});
    it.database.transaction(it.handle);
    CHECK(it.notes().size() == 2);
}

TEST_CASE("F1: rows that are refused or fail together leave a guarded transaction as it was") {
    Following it;
    it.database.execute(
        "CREATE TABLE label (id bigint PRIMARY KEY, text text NOT NULL CHECK (text <> 'no'))");
    it.handle = [](Tx& tx) {
        const std::vector<Label> unsendable{{1, "one"}, {2, with_nul}};
        CHECK_THROWS_AS(tx.upsert_all(unsendable), at::Error);
        CHECK_FALSE(tx.get(at::type<Label>, 1).has_value());
        tx.execute("SAVEPOINT a");
        const std::vector<Label> wrong{{1, "one"}, {2, "no"}, {3, "three"}};
        CHECK_THROWS_SAYING(tx.upsert_all(wrong), at::Error, "23514");
        tx.execute("ROLLBACK TO a");
        tx.upsert_all(std::vector<Label>{{3, "three"}, {4, "four"}});
        CHECK(tx.erase_all(at::type<Label>, std::vector<std::int64_t>{4, 5}) == 1);
    };
    it.change();
    it.pipeline.drain();
    CHECK(it.database.query(at::type<std::string>, "SELECT text FROM label") ==
          std::vector<std::string>{"three"});
}

TEST_CASE("F1: a handler that lets many rows fail and goes on without a savepoint fails itself") {
    Following it;
    it.database.execute(
        "CREATE TABLE label (id bigint PRIMARY KEY, text text NOT NULL CHECK (text <> 'no'))");
    it.handle = [](Tx& tx) {
        CHECK_THROWS_AS(tx.upsert_all(std::vector<Label>{{1, "one"}, {2, "no"}}), at::Error);
    };
    it.change();
    CHECK_THROWS_SAYING(it.pipeline.drain(), at::Error, "ended the batch's transaction");
    CHECK(one<std::int64_t>(it.database, "SELECT count(*) FROM label") == 0);
}

TEST_CASE("postgres: a borrowed connection stays its owner's, whatever is refused") {
    Shop shop;
    const Own own = connect(shop.place.parameters());
    Database database = Database::borrow(own.get());
    CHECK_THROWS_AS(database.query(at::type<std::string>, "SELECT $1::text", with_nul), at::Error);
    CHECK_THROWS_AS(
        database.query(at::type<std::string>, "COPY pg_namespace TO STDOUT"), at::Error);
    CHECK(PQpipelineStatus(own.get()) == PQ_PIPELINE_OFF);
    CHECK(one<std::int64_t>(database, "SELECT 5::bigint") == 5);
    CHECK(PQtransactionStatus(own.get()) == PQTRANS_IDLE);
}

} // namespace statements
