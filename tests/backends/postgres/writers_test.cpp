// SPDX-License-Identifier: MIT
// P1 to P3, with real writers: nothing is lost, nothing comes twice, and each record's changes come
// in the order in which they were committed, whatever transactions overlap.
#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;
using namespace std::chrono_literals;

namespace writers {

/// Each committed update raises the version by one, under the row's lock.
struct Item {
    std::int64_t id = 0;
    std::int64_t version = 0;
};

struct Busy {
    std::int64_t id = 0;
    std::int64_t version = 0;
};

namespace {

constexpr std::int64_t items = 12;

/// Writes in transactions of every kind that PostgreSQL has.
void write(const fixture::Place& place, unsigned seed, int transactions) {
    Database database{place.open()};
    std::mt19937 random{seed};
    const auto any = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
    const auto raise = [&] {
        // In the order of the keys, so that writers wait for each other and never deadlock.
        return "UPDATE item SET version = version + 1 WHERE id IN (SELECT id FROM item WHERE id "
               "% " +
               std::to_string(any(4) + 1) + " = 0 ORDER BY id FOR UPDATE)";
    };
    for (int i = 0; i < transactions; ++i) {
        const std::string name = "t" + std::to_string(seed) + '_' + std::to_string(i);
        std::string sql = "BEGIN";
        if (any(3) == 0) { sql += "; SELECT pg_current_xact_id()"; } // long before the first change
        database.execute(sql);
        std::this_thread::sleep_for(std::chrono::milliseconds{any(8)});
        database.execute(raise());
        switch (any(6)) {
            case 0: // what is rolled back leaves a gap in the numbers
                database.execute("ROLLBACK");
                break;
            case 1:
                database.execute(
                    "SAVEPOINT a; UPDATE item SET version = -1 WHERE id % 5 = 0 AND id IN "
                    "(SELECT id FROM item WHERE id % 5 = 0 ORDER BY id FOR UPDATE SKIP "
                    "LOCKED); ROLLBACK TO a; RELEASE a; COMMIT");
                break;
            case 2: // an open transaction holds up nobody but itself
                std::this_thread::sleep_for(std::chrono::milliseconds{any(60)});
                database.execute("COMMIT");
                break;
            case 3:
                database.execute("PREPARE TRANSACTION '" + name + "'");
                std::this_thread::sleep_for(std::chrono::milliseconds{any(20)});
                database.execute(
                    (any(3) == 0 ? "ROLLBACK PREPARED '" : "COMMIT PREPARED '") + name + "'");
                break;
            default: database.execute("COMMIT");
        }
    }
}

/// What a handler over images sees: each change must begin where the one before ended.
struct Follower {
    std::map<std::int64_t, std::int64_t> versions;
    std::string fault;
    std::int64_t changes = 0;

    void follow(const at::Batch<Item>& batch) {
        for (const at::Change<Item>& change : batch.changes()) {
            std::int64_t& version = versions[change.key()];
            if (change.operation() == at::Operation::present) {
                version = change.after()->version;
                continue;
            }
            ++changes;
            const bool fits =
                change.before()->version == version && change.after()->version == version + 1;
            if (!fits && fault.empty()) {
                fault = "item " + std::to_string(change.key()) + " stood at " +
                        std::to_string(version) + " and is said to go from " +
                        std::to_string(change.before()->version) + " to " +
                        std::to_string(change.after()->version);
            }
            version = change.after()->version;
        }
    }
};

/// The handler's own view is rolled back with its batch.
template <class Options>
auto pipeline_of(
    Database& database, Follower& committed, std::atomic<int>& calls, Options options) {
    return at::Pipeline{at::source<Item>().images(),
        [&](const at::Batch<Item>& batch, auto& tx) {
            Follower tried = committed;
            tried.follow(batch);
            if (++calls % 7 == 0) { throw std::runtime_error{"every seventh time"}; }
            tx.execute("UPDATE seen SET changes = $1", tried.changes);
            committed = std::move(tried);
        },
        database, options};
}

} // namespace

TEST_CASE(
    "P1, P2, P3: overlapping transactions of every kind, followed while they run", "[threads]") {
    Shop shop;
    Database& database = shop.database;
    database.execute(
        "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL); CREATE TABLE "
        "seen (changes bigint); INSERT INTO seen VALUES (0)");
    database.execute(
        "INSERT INTO item SELECT i, 0 FROM generate_series(1, $1::bigint) AS i", items);
    at::Options options;
    options.name = "follower";
    options.observer = {};
    options.batch_size = 20;
    Follower follower;
    std::atomic<int> calls{0};
    auto pipeline = pipeline_of(database, follower, calls, options);
    const auto turn = [&] {
        try {
            return pipeline.run_once();
        } catch (const std::runtime_error& error) {
            if (std::string{error.what()} != "every seventh time") { throw; }
            return true;
        }
    };
    turn();

    // A transaction that began before everything and ends behind everything.
    Database bystander{shop.place.open()};
    bystander.execute("BEGIN; SELECT pg_current_xact_id()");

    std::vector<std::thread> threads;
    std::vector<std::string> errors(8);
    std::atomic<std::size_t> running{errors.size()};
    for (unsigned i = 0; i < errors.size(); ++i) {
        threads.emplace_back([&, i] {
            try {
                write(shop.place, i, 40);
            } catch (const std::exception& error) { errors[i] = error.what(); }
            --running;
        });
    }
    while (running != 0) { turn(); }
    for (std::thread& thread : threads) { thread.join(); }
    for (const std::string& error : errors) { CHECK(error.empty()); }
    while (turn()) {}
    bystander.execute("COMMIT");
    while (turn()) {}

    CHECK(follower.fault.empty());
    CHECK(follower.changes > 500);
    CHECK(one<std::int64_t>(database, "SELECT changes FROM seen") == follower.changes);
    for (const auto& [id, version] : database.query(
             at::type<std::tuple<std::int64_t, std::int64_t>>, "SELECT id, version FROM item")) {
        INFO("item " << id);
        CHECK(follower.versions[id] == version);
    }
}

TEST_CASE("P1: a lower number that is committed later isn't stepped over") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL)");
    std::vector<std::int64_t> seen;
    at::Options options;
    options.name = "p";
    options.begin = at::Begin::now;
    at::Pipeline pipeline{at::source<Item>(),
        [&](const at::Batch<Item>& batch) {
            seen.insert(seen.end(), batch.ids().begin(), batch.ids().end());
        },
        database, options};
    pipeline.drain();
    Database first{shop.place.open()};
    Database second{shop.place.open()};
    first.execute("BEGIN; INSERT INTO item VALUES (1, 0)");
    second.execute("INSERT INTO item VALUES (2, 0)");
    pipeline.drain();
    CHECK(seen == std::vector<std::int64_t>{2});
    database.execute("INSERT INTO item VALUES (3, 0)"); // the window moves on over it
    pipeline.drain();
    first.execute("COMMIT");
    pipeline.drain();
    CHECK(seen == std::vector<std::int64_t>{2, 3, 1});
}

TEST_CASE("P2: a bystander's open transaction doesn't turn a record's changes round") {
    Shop shop;
    Database& database = shop.database;
    database.execute(
        "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL); INSERT INTO item "
        "VALUES (1, 0)");
    std::vector<std::int64_t> versions;
    at::Options options;
    options.name = "p";
    options.begin = at::Begin::now;
    at::Pipeline pipeline{at::source<Item>().images(),
        [&](const at::Batch<Item>& batch) {
            for (const auto& change : batch.changes()) {
                versions.push_back(change.after()->version);
            }
        },
        database, options};
    pipeline.drain();
    Database a{shop.place.open()};
    Database bystander{shop.place.open()};
    Database b{shop.place.open()};
    a.execute("BEGIN; SELECT pg_current_xact_id()");
    bystander.execute("BEGIN; SELECT pg_current_xact_id()");
    b.execute("BEGIN; SELECT pg_current_xact_id(); UPDATE item SET version = 1; COMMIT");
    a.execute("UPDATE item SET version = 2; COMMIT");
    pipeline.drain();
    bystander.execute("COMMIT");
    pipeline.drain();
    CHECK(versions == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("P3: a prepared transaction that nobody ends delays only its own changes") {
    Shop shop;
    Database& database = shop.database;
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL)");
    std::vector<std::int64_t> seen;
    at::Options options;
    options.name = "p";
    options.begin = at::Begin::now;
    at::Pipeline pipeline{at::source<Item>(),
        [&](const at::Batch<Item>& batch) {
            seen.insert(seen.end(), batch.ids().begin(), batch.ids().end());
        },
        database, options};
    pipeline.drain();
    const std::string name = "forgotten_" + std::to_string(getpid());
    database.execute("BEGIN; INSERT INTO item VALUES (1, 0); PREPARE TRANSACTION '" + name + "'");
    for (std::int64_t id = 2; id <= 40; ++id) {
        database.execute("INSERT INTO item VALUES ($1, 0)", id);
        pipeline.drain();
    }
    CHECK(seen.size() == 39);
    database.execute("COMMIT PREPARED '" + name + "'");
    pipeline.drain();
    REQUIRE(seen.size() == 40);
    CHECK(seen.back() == 1);
}

TEST_CASE("K6: a connection that is cut loses nothing, and is no failure", "[threads]") {
    Shop shop;
    Database& database = shop.database;
    database.execute(
        "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL); CREATE TABLE sum "
        "(n bigint); INSERT INTO sum VALUES (0)");
    at::Options options;
    options.name = "p";
    options.observer = {};
    options.batch_size = 3;
    at::Pipeline pipeline{at::source<Item>(),
        [&](const at::Batch<Item>& batch, auto& tx) {
            tx.execute(
                "UPDATE sum SET n = n + $1", static_cast<std::int64_t>(batch.changes().size()));
        },
        database, options};
    pipeline.start();
    for (std::int64_t id = 1; id <= 200; ++id) {
        database.execute("INSERT INTO item VALUES ($1, 0)", id);
        if (id % 10 == 0) {
            database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                "current_database() AND pid <> pg_backend_pid()");
        }
    }
    REQUIRE(pipeline.await_idle(60s) == at::Awaited::idle);
    CHECK(pipeline.errors().empty());
    CHECK(one<std::int64_t>(database, "SELECT n FROM sum") == 200);
}

TEST_CASE("P1: a quiet pipeline beside a busy one looks at no more than a second of its changes") {
    Shop shop;
    Database& database = shop.database;
    database.execute(
        "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL); CREATE TABLE busy "
        "(id bigint PRIMARY KEY, version bigint NOT NULL)");
    at::Options options;
    options.name = "quiet";
    options.begin = at::Begin::now;
    std::int64_t seen = 0;
    at::Pipeline quiet{at::source<Item>(),
        [&](const at::Batch<Item>& batch) {
            seen += static_cast<std::int64_t>(batch.ids().size());
        },
        database, options};
    quiet.drain();
    at::install(database, at::source<writers::Busy>());
    const auto marks = [&] {
        return one<std::string>(
            database, "SELECT marks FROM aftertouch.checkpoint WHERE pipeline = 'quiet'");
    };
    const std::string before = marks();
    std::this_thread::sleep_for(1100ms);
    for (std::int64_t id = 1; id <= 30; ++id) {
        database.execute("INSERT INTO busy VALUES ($1, 0)", id);
        quiet.drain();
    }
    CHECK(seen == 0);
    CHECK(marks() != before); // its searches begin there now
    database.execute("INSERT INTO item VALUES (1, 0)");
    quiet.drain();
    CHECK(seen == 1);
}

} // namespace writers
