// SPDX-License-Identifier: MIT
// O1, O2, P3: pruning takes what every pipeline has handled and nothing else; who holds a
// transaction open is named.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <support/catch.hpp>
#include <support/soak.hpp>

#include "server.hpp"

using namespace test;

namespace kept {

struct Item {
    std::int64_t id = 0;
    std::int64_t version = 0;
};

struct Other {
    std::int64_t id = 0;
};

namespace {

struct Following {
    std::atomic<std::int64_t> changes{0};
    std::atomic<std::int64_t> rebuilt{0};

    auto pipeline(Database& database, std::string name) {
        return at::Pipeline{at::source<Item>().images(),
            [this](const at::Batch<Item>& batch, Tx&) {
                for (const auto& change : batch.changes()) {
                    ++(change.operation() == at::Operation::present ? rebuilt : changes);
                }
            },
            database, named(std::move(name))};
    }
};

std::int64_t log_rows(Database& database) {
    return one<std::int64_t>(database, "SELECT count(*) FROM aftertouch.log");
}

} // namespace

TEST_CASE("O2: pruning keeps what a pipeline hasn't handled, and what isn't committed") {
    Shop shop;
    Database& database = shop.database;
    CHECK(database.prune() == 0); // nothing is installed
    database.create_table<Item>();
    Following fast;
    Following slow;
    auto first = fast.pipeline(database, "fast");
    auto second = slow.pipeline(database, "slow");
    first.drain();
    second.drain();
    Database other{shop.place.open()};
    other.execute("BEGIN; INSERT INTO item VALUES (100, 1)");
    database.execute("INSERT INTO item SELECT i, 1 FROM generate_series(1, 50) AS i");
    first.drain();
    CHECK(database.prune() == 0); // the slow one has seen nothing yet
    second.run_once();
    CHECK(database.prune() == 50);
    database.execute("INSERT INTO item SELECT i, 1 FROM generate_series(51, 60) AS i");
    first.drain();
    CHECK(database.prune() == 0);
    other.execute("COMMIT");
    second.drain();
    CHECK(database.prune() == 10); // the fast one hasn't seen what was committed last
    first.drain();
    CHECK(database.prune() == 1);
    CHECK(log_rows(database) == 0);
    CHECK(database.prune() == 0);
    database.execute("UPDATE item SET version = 2");
    first.drain();
    second.drain();
    CHECK(fast.changes == 50 + 11 + 61);
    CHECK(slow.changes == 50 + 11 + 61);
    CHECK(fast.rebuilt + slow.rebuilt == 0);
}

TEST_CASE("O2: a quiet pipeline passes what was written and not committed when it looked last") {
    Shop shop;
    Database& database = shop.database;
    database.create_table<Item>();
    database.create_table<kept::Other>();
    Following following;
    auto busy = following.pipeline(database, "busy");
    at::Pipeline quiet{at::source<kept::Other>(), [](const at::Batch<kept::Other>&, Tx&) {},
        database, named("quiet")};
    busy.drain();
    quiet.drain();
    Database writer{shop.place.open()};
    writer.execute("BEGIN; INSERT INTO item VALUES (1, 1)"); // nobody has a later number
    quiet.drain();
    writer.execute("COMMIT");
    busy.drain();
    CHECK(log_rows(database) == 1);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (log_rows(database) != 0 && std::chrono::steady_clock::now() < until) {
        quiet.drain();
        database.prune();
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    CHECK(log_rows(database) == 0);
}

TEST_CASE("O2: pruning takes what its own pipeline noted with skip_own_changes") {
    Shop shop;
    Database& database = shop.database;
    database.create_table<Item>();
    at::Options options = named("raise");
    options.skip_own_changes = true;
    at::Pipeline raise{at::source<Item>(),
        [](const at::Batch<Item>& batch, Tx& tx) {
            for (const Item& now : batch.records()) { tx.upsert(Item{now.id, now.version + 1}); }
        },
        database, options};
    raise.drain();
    for (int i = 1; i <= 3; ++i) {
        database.execute("INSERT INTO item VALUES ($1, 0)", i);
        raise.drain();
    }
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM aftertouch.own_change") == 3);
    database.prune();
    database.execute("DELETE FROM item");
    raise.drain();
    database.prune();
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM aftertouch.own_change") == 0);
    CHECK(log_rows(database) == 0);
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM item") == 0);
}

TEST_CASE(
    "P5: what was pruned is never said to be there again, and a pipeline that needs it rebuilds") {
    Shop shop;
    Database& database = shop.database;
    database.create_table<Item>();
    Following one_;
    auto pipeline = one_.pipeline(database, "p");
    pipeline.drain();
    const auto early = one<std::string>(database, "SELECT checkpoint FROM aftertouch.checkpoint");
    database.execute("INSERT INTO item VALUES (1, 1)");
    pipeline.drain();
    CHECK(database.prune() == 1);
    const auto through = one<std::string>(database, "SELECT through::text FROM aftertouch.meta");
    database.execute("UPDATE aftertouch.checkpoint SET checkpoint = $1", early);
    CHECK(database.prune() == 0);
    CHECK(one<std::string>(database, "SELECT through::text FROM aftertouch.meta") == through);
    auto again = one_.pipeline(database, "p");
    again.drain();
    CHECK(one_.changes == 1);
    CHECK(one_.rebuilt == 1);
    // A checkpoint that isn't one, or is another log's, keeps nothing.
    database.execute(
        "INSERT INTO aftertouch.checkpoint SELECT pipeline || n, CASE n WHEN 1 THEN "
        "'rubbish' ELSE replace(checkpoint, log_id, 'other') END, 1, 0, at, marks FROM "
        "aftertouch.checkpoint, aftertouch.meta, generate_series(1, 2) AS n");
    database.execute("UPDATE item SET version = 2");
    again.drain();
    CHECK(database.prune() == 1);
}

TEST_CASE("R4: a rewind to a time behind what was pruned goes on, and is refused before it") {
    Shop shop;
    Database& database = shop.database;
    database.create_table<Item>();
    Following following;
    auto pipeline = following.pipeline(database, "p");
    pipeline.drain();
    const auto now = [&] { return one<at::Timestamp>(database, "SELECT clock_timestamp()"); };
    const at::Timestamp begin = now();
    CHECK(database.prune() == 0); // nothing is gone
    CHECK_NOTHROW(pipeline.rewind(begin));
    database.execute("INSERT INTO item VALUES (1, 1), (2, 1)");
    pipeline.drain();
    Database other{shop.place.open()};
    other.execute("BEGIN; INSERT INTO item VALUES (3, 1)"); // early, and stays
    const at::Timestamp middle = now();
    database.execute("INSERT INTO item VALUES (4, 1)");
    pipeline.drain();
    const at::Timestamp late = now();
    CHECK(database.prune() == 3);
    other.execute("COMMIT");
    database.execute("INSERT INTO item VALUES (5, 1)");
    pipeline.drain();
    CHECK(following.changes == 5);
    // A row of before is there still, but one of after is not.
    for (const at::Timestamp time : {begin, middle}) {
        CHECK_THROWS_SAYING(pipeline.rewind(time), at::Error, "doesn't reach back to this time");
    }
    pipeline.rewind(late);
    pipeline.drain();
    CHECK(following.changes == 6);
    CHECK(database.prune() == 2);
    const at::Timestamp end = now();
    CHECK_THROWS_SAYING(pipeline.rewind(late), at::Error, "doesn't reach back to this time");
    pipeline.rewind(end);
    database.execute("INSERT INTO item VALUES (6, 1)");
    pipeline.drain();
    CHECK(following.changes == 7);
}

TEST_CASE("O2: beside writers, pipelines and pruning lose nothing", "[threads]") {
    const std::uint64_t seed = chosen_seed();
    INFO("seed " << seed);
    Shop shop;
    Database& database = shop.database;
    database.create_table<Item>();
    Following fast;
    Following slow;
    auto first = fast.pipeline(database, "fast");
    first.start();
    auto second = slow.pipeline(database, "slow");
    second.drain();
    std::atomic<std::int64_t> written{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            Database own{shop.place.open()};
            std::mt19937_64 random{seed + i};
            for (int k = 0; k < (is_night() ? 3000 : 200); ++k) {
                const std::string id =
                    std::to_string(static_cast<std::int64_t>(i) * 1'000'000 + k * 10);
                const bool rolls_back = random() % 5 == 0;
                own.execute("BEGIN; INSERT INTO item VALUES (" + id + ", 1)");
                if (random() % 4 == 0) {
                    std::this_thread::sleep_for(std::chrono::milliseconds{random() % 20});
                }
                own.execute("INSERT INTO item VALUES (" + id + " + 1, 1); " +
                            (rolls_back ? "ROLLBACK" : "COMMIT"));
                written += rolls_back ? 0 : 2;
            }
        });
    }
    std::int64_t pruned = 0;
    std::thread pruner{[&] {
        Database own{shop.place.open()};
        while (!done) { pruned += own.prune(); }
    }};
    std::thread second_thread{[&] {
        std::mt19937_64 random{seed};
        while (!done) {
            second.drain();
            std::this_thread::sleep_for(std::chrono::milliseconds{random() % 50});
        }
    }};
    for (std::thread& thread : threads) { thread.join(); }
    done = true;
    pruner.join();
    second_thread.join();
    CHECK(first.await_idle() == at::Awaited::idle);
    second.drain();
    first.stop();
    first.drain();
    second.drain();
    pruned += database.prune();
    CHECK(fast.changes == written);
    CHECK(slow.changes == written);
    CHECK(fast.rebuilt + slow.rebuilt == 0);
    CHECK(pruned == written);
    CHECK(log_rows(database) == 0);
}

TEST_CASE("P3: who has a transaction open is named, in any database, and prepared ones too") {
    Shop shop;
    Shop elsewhere;
    const std::string sql = at::status_script(shop.database).statements().at(1).sql;
    const auto named_now = [&] {
        return one<std::string>(shop.database,
            "SELECT coalesce(string_agg(open_transaction, E'\\n' ORDER BY since), '') FROM (" +
                sql + ") AS t");
    };
    Database other{elsewhere.place.open()};
    const auto process = one<std::int32_t>(other, "SELECT pg_backend_pid()");
    const auto name = one<std::string>(other, "SELECT current_database()::text");
    const std::string session =
        "session " + std::to_string(process) + " of postgres in " + name + ", aftertouch";
    other.execute("BEGIN");
    CHECK(named_now().find(session) == std::string::npos); // it holds nothing back
    other.execute("SELECT pg_current_xact_id()");
    CHECK(named_now().find(session) != std::string::npos);
    elsewhere.database.create_table<Item>();
    Following following;
    auto pipeline = following.pipeline(elsewhere.database, "p");
    pipeline.drain();
    const auto begun = one<at::Timestamp>(other, "SELECT now()");
    const auto is_named = [&] { // unless a test beside this one has an older one open
        const auto found = pipeline.status().lag->oldest_open;
        return found && (found->since < begun || (found->who == session && found->since == begun));
    };
    CHECK(is_named());
    other.execute("PREPARE TRANSACTION 'forgotten " + name + "'");
    CHECK(named_now().find("prepared transaction 'forgotten " + name + "' of postgres in " +
                           name) != std::string::npos);
    other.execute("ROLLBACK PREPARED 'forgotten " + name + "'");
    CHECK(named_now().find(name) == std::string::npos);
}

} // namespace kept
