// SPDX-License-Identifier: MIT
// F1: a handler whose transaction the server ends for another one's sake has not failed.
#include <cstdint>
#include <thread>

#include <contract/latch.hpp>
#include <support/catch.hpp>

#include "server.hpp"

using namespace test;
using namespace std::chrono_literals;

namespace deadlocks {

struct Item {
    std::int64_t id = 0;
};

} // namespace deadlocks

namespace {

using deadlocks::Item;

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
