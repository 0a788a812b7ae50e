// SPDX-License-Identifier: MIT
// F1: a handler whose transaction the server ends for another one's sake has not failed.
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <contract/latch.hpp>
#include <support/catch.hpp>

#include "server.hpp"

using namespace test;
using namespace std::chrono_literals;

namespace deadlocks {

struct Item {
    std::int64_t id = 0;
};

namespace {

void wait_until_somebody_waits(Database& database) {
    while (one<std::int64_t>(database, "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                                       "current_database() AND wait_event_type = 'Lock'") == 0) {
        std::this_thread::sleep_for(1ms);
    }
}

} // namespace

TEST_CASE("F1: a handler that is a deadlock's victim is called again", "[threads]") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY); CREATE TABLE sum (id bigint "
                     "PRIMARY KEY, n bigint); INSERT INTO sum VALUES (1, 0), (2, 0)");
    constexpr auto add = "UPDATE sum SET n = n + 1 WHERE id = $1";
    contract::Latch handler_has_one;
    contract::Latch other_has_two;
    Database watcher{shop.place.open()};
    int calls = 0;
    at::Options options{.name = "sums", .begin = at::Begin::now};
    options.observer = {};
    at::Pipeline pipeline{at::source<Item>(),
        [&](const at::Batch<Item>&, Tx& tx) {
            tx.execute(add, 1);
            if (++calls == 1) {
                handler_has_one.open();
                other_has_two.wait();
                wait_until_somebody_waits(watcher);
            }
            tx.execute(add, 2); // the first time this closes the circle
        },
        database, options};
    pipeline.start();
    std::thread writer{[&] {
        Database other{shop.place.open()};
        other.transaction([&](Tx& tx) {
            tx.execute("SET LOCAL deadlock_timeout = '1min'"); // the other one is to notice
            tx.execute(add, 2);
            handler_has_one.wait();
            other_has_two.open();
            tx.execute(add, 1);
        });
    }};
    database.execute("INSERT INTO item VALUES (1)");
    writer.join();
    CHECK(pipeline.await_idle(60s) == at::Awaited::idle);
    CHECK(pipeline.errors().empty());
    CHECK(calls == 2);
    CHECK(one<std::int64_t>(database, "SELECT sum(n)::bigint FROM sum") == 4);
}

namespace {

/// A pipeline over "item" that tells nobody.
template <class Handler>
[[nodiscard]] auto items(Database& database, Handler handler, std::string name = "sums") {
    return at::Pipeline{at::source<Item>(), std::move(handler), database, named(std::move(name))};
}

constexpr auto conflict = "DO $$ BEGIN RAISE 'my own conflict' USING ERRCODE = '40001'; END $$";

} // namespace

TEST_CASE("F1: a handler whose conflict isn't another one's doing fails in the end", "[threads]") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY); CREATE TABLE sum (id bigint); "
                     "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
                     "'never' USING ERRCODE = '40P01'; END $$; CREATE CONSTRAINT TRIGGER refuse "
                     "AFTER INSERT ON sum DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE "
                     "FUNCTION refuse()");
    std::atomic<int> calls{0};
    std::atomic<int> commits{0};
    auto raises = items(database, [&](const at::Batch<Item>&, Tx& tx) {
        ++calls;
        tx.execute(conflict);
    });
    auto fails_to_commit = items(
        database,
        [&](const at::Batch<Item>&, Tx& tx) {
            ++commits;
            tx.execute("INSERT INTO sum VALUES (1)");
        },
        "commits");
    raises.start();
    fails_to_commit.start();
    database.execute("INSERT INTO item VALUES (1)");
    CHECK(raises.await_idle(60s) == at::Awaited::stopped);
    CHECK(calls == 11);
    REQUIRE(raises.errors().size() == 1);
    CHECK(raises.errors().front().message.find("my own conflict") != std::string::npos);
    CHECK_FALSE(raises.errors().front().event_id.empty());
    CHECK(raises.status().attempts == 1);
    CHECK(fails_to_commit.await_idle(60s) == at::Awaited::stopped);
    CHECK(commits == 11);
    REQUIRE(fails_to_commit.errors().size() == 1);
    CHECK(fails_to_commit.errors().front().message.find("never") != std::string::npos);
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM sum") == 0);
}

TEST_CASE("F1: a conflict that the handler has undone excuses nothing", "[threads]") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY)");
    const bool throws = GENERATE(true, false);
    std::atomic<int> calls{0};
    auto pipeline = items(database, [&](const at::Batch<Item>&, Tx& tx) {
        ++calls;
        tx.execute("SAVEPOINT mine");
        try {
            tx.execute(conflict);
        } catch (const at::Error&) { tx.execute("ROLLBACK TO mine"); }
        if (throws) { throw std::runtime_error{"no more"}; }
        tx.execute("SELECT 1 / 0");
    });
    pipeline.start();
    database.execute("INSERT INTO item VALUES (1)");
    CHECK(pipeline.await_idle(60s) == at::Awaited::stopped);
    CHECK(calls == 1);
}

TEST_CASE("F1: a handler that a conflict has stopped comes again, whatever it says of it") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY)");
    enum class Way { throws_its_own, goes_on, swallows, undoes_and_throws };
    const Way way =
        GENERATE(Way::throws_its_own, Way::goes_on, Way::swallows, Way::undoes_and_throws);
    int calls = 0;
    auto pipeline = items(database, [&](const at::Batch<Item>&, Tx& tx) {
        if (++calls > 1) { return; }
        tx.execute("SAVEPOINT mine");
        try {
            tx.execute(conflict);
        } catch (const at::Error&) {
            if (way == Way::throws_its_own) { throw std::runtime_error{"could not add"}; }
            if (way == Way::goes_on) { tx.execute("SELECT 1"); }
            if (way != Way::undoes_and_throws) { return; }
            tx.execute("ROLLBACK TO mine");
            throw;
        }
    });
    pipeline.start();
    database.execute("INSERT INTO item VALUES (1)");
    CHECK(pipeline.await_idle(60s) == at::Awaited::idle);
    CHECK(calls == 2);
    CHECK(pipeline.errors().empty());
}

TEST_CASE("F1: a handler whose table was changed under its statement is called again") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY); CREATE TABLE rate (now bigint); "
                     "INSERT INTO rate VALUES (1)");
    int calls = 0;
    auto pipeline = items(database, [&](const at::Batch<Item>&, Tx& tx) {
        ++calls;
        tx.execute("SELECT * FROM rate WHERE $1 = 1", 1);
    });
    pipeline.start();
    database.execute("INSERT INTO item VALUES (1)");
    REQUIRE(pipeline.await_idle(60s) == at::Awaited::idle);
    database.execute("ALTER TABLE rate ALTER now TYPE text");
    database.execute("INSERT INTO item VALUES (2)");
    CHECK(pipeline.await_idle(60s) == at::Awaited::idle);
    CHECK(calls == 3);
    CHECK(pipeline.errors().empty());
}

} // namespace deadlocks
