// SPDX-License-Identifier: MIT
// K5: stopping.
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "latch.hpp"
#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

TEST_CASE("K5: stop finishes the batch in hand and keeps what is committed", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch entered;
    Latch go_on;
    Diary diary;
    Pipeline pipeline{at::source<Order>(),
        diary.handler([&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            entered.open();
            go_on.wait();
            copy_rows(batch, tx);
        }),
        shop, quiet("copy")};
    add_order(shop, 1);
    pipeline.start();
    entered.wait();
    std::thread stopper{[&] { pipeline.stop(); }};
    go_on.open();
    stopper.join();
    CHECK(pipeline.stopped());
    CHECK(pipeline.status().state == at::State::stopped);
    CHECK(pipeline.errors().empty());
    CHECK(copies(shop) == orders(shop));

    add_order(shop, 2);
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(diary.changes() == Texts{"P1", "I2"});
}

TEST_CASE("K5: stop twice, before start, from two threads at once", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    pipeline.stop();
    CHECK(pipeline.stopped());
    for (std::int64_t id = 1; id <= 3; ++id) {
        pipeline.start();
        pipeline.start(); // does nothing while it runs
        add_order(shop, id);
        CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
        std::thread other{[&] { pipeline.stop(); }};
        pipeline.stop();
        other.join();
        pipeline.stop();
        CHECK(pipeline.stopped());
    }
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("K5: a handler that asks for the stop is the last one", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 20);
    at::Options options = quiet("copy");
    options.batch_size = 5;
    Pipeline* self = nullptr;
    Diary diary;
    bool told_to_stop = false;
    Pipeline pipeline{at::source<Order>(),
        diary.handler([&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            CHECK(!tx.stopping());
            self->stop();
            told_to_stop = tx.stopping();
        }),
        shop, options};
    self = &pipeline;
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    pipeline.stop();
    CHECK(told_to_stop);
    CHECK(diary.calls().size() == 1);
    CHECK(copies(shop).size() == 5); // that batch is committed
    CHECK(pipeline.errors().empty());
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    CHECK(copies(shop).size() == 10);
}

TEST_CASE("K5: the deadline interrupts what the handler does in the database; the batch is undone, "
          "no failure",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch entered;
    std::atomic<bool> slow{true};
    Diary diary;
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Pipeline pipeline{at::source<Order>(),
        diary.handler([&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            entered.open();
            if (slow) { tx.execute(fixture::endless); }
        }),
        shop, options};
    add_order(shop, 1);
    pipeline.start();
    entered.wait();
    pipeline.stop(1ms);
    CHECK(pipeline.stopped());
    CHECK(pipeline.errors().empty());
    CHECK(pipeline.status().state == at::State::stopped);
    CHECK(copies(shop).empty());
    CHECK(told.times(at::Moment::batch_undone) == 1);
    CHECK(told.times(at::Moment::pipeline_failed) == 0);
    CHECK(told.times(at::Moment::stopped) == 1);

    slow = false;
    SECTION("then start hands it over again") {
        pipeline.start();
        CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    }
    SECTION("then drain does") { pipeline.drain(); }
    REQUIRE(diary.calls().size() == 2);
    CHECK(diary.calls()[1].attempts == 0);
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE(
    "K5: after a stop that undid a batch, a handler's error is a failure again", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch entered;
    std::atomic<bool> slow{true};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx& tx) {
            entered.open();
            if (slow) { tx.execute(fixture::endless); }
            throw std::runtime_error{"no"};
        },
        shop, quiet("copy")};
    add_order(shop, 1);
    pipeline.start();
    entered.wait();
    pipeline.stop(1ms);
    REQUIRE(pipeline.errors().empty());
    slow = false;
    CHECK_THROWS_AS(pipeline.run_once(), std::runtime_error);
    CHECK(pipeline.errors().size() == 1);
}

TEST_CASE("K5: a handler that looks at the stop can leave early", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch entered;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            entered.open();
            while (!tx.stopping()) { std::this_thread::yield(); }
        },
        shop, quiet("copy")};
    add_order(shop, 1);
    pipeline.start();
    entered.wait();
    pipeline.stop();
    CHECK(copies(shop) == orders(shop));
    CHECK(pipeline.errors().empty());
}

TEST_CASE("K5: destruction stops", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Told told;
    {
        at::Options options = quiet("copy");
        options.observer = told.observer();
        Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, options};
        pipeline.start();
        add_order(shop, 1);
        pipeline.await_idle(30s);
    }
    CHECK(told.times(at::Moment::stopped) == 1);
    add_order(shop, 2);
    CHECK(copies(shop).size() == 1);
}

TEST_CASE("K5: stop is heard while another program holds the lock", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open(1h)};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    add_order(shop, 1);
    pipeline.await_idle(30s);
    {
        Database other{place.open()};
        add_order(other, 2);
        const fixture::WriteLock lock{place};
        // It may have been faster than the lock; else it waits for it now, for an hour.
        pipeline.stop();
        CHECK(pipeline.stopped());
    }
    CHECK(pipeline.errors().empty());
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    // Where the lock came between the handler and the commit, the batch came again.
    Texts told = diary.changes();
    told.erase(std::unique(told.begin(), told.end()), told.end());
    CHECK(told == Texts{"I1", "I2"});
}

TEST_CASE("K5: stop wins over a start that waits behind a run_once", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch entered;
    Latch go_on;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx&) {
            entered.open();
            go_on.wait();
        },
        shop, quiet("copy")};
    add_order(shop, 1);
    std::thread runner{[&] { pipeline.drain(); }};
    entered.wait();
    std::thread starter{[&] { pipeline.start(); }};
    std::thread stopper{[&] { pipeline.stop(1ms); }};
    go_on.open();
    runner.join();
    stopper.join(); // in whichever order the two came
    starter.join();
    pipeline.stop();
    CHECK(pipeline.stopped());
    CHECK(pipeline.errors().empty());
}
