// SPDX-License-Identifier: MIT
// F2: a handler that fails is tried again as the policy says, what passes by itself for as long as
// it takes; F4: a handler answers instead of throwing.
#include <stdexcept>

#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

namespace {

at::Options patient(std::int64_t attempts) {
    at::Options options = quiet("copy");
    options.retry = {.attempts = attempts, .pause = 1ms, .jitter = 0};
    return options;
}

} // namespace

TEST_CASE("F2: a failure is tried again, and stops the pipeline when its attempts are used up",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<int> failures{3};
    std::atomic<int> calls{0};
    Told told;
    at::Options options = patient(4);
    options.observer = told.observer();
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            ++calls;
            copy_rows(batch, tx);
            if (failures-- > 0) { throw std::runtime_error{"not yet"}; }
        },
        shop, options};
    pipeline.start();
    add_order(shop, 1);
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(calls == 4);
    CHECK(copies(shop) == orders(shop));
    CHECK(pipeline.errors().empty());
    CHECK(told.times(at::Moment::batch_retried) == 3);
    CHECK(pipeline.status().attempts == 0);

    failures = 4;
    add_order(shop, 2);
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::stopped);
    CHECK(calls == 8);
    CHECK(pipeline.errors().front().message == "not yet");
    CHECK(pipeline.status().attempts == 4);
    failures = 0;
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F2: attempts count on behind a restart") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = patient(3);
    options.retry.then = at::Then::park;
    const OnBatch fail = [](const at::Batch<Order>& batch, Tx&) {
        if (!batch.ids().empty()) { throw std::runtime_error{"never"}; }
    };
    {
        Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, options};
        pipeline.drain();
        add_order(shop, 1);
    }
    for (int i = 0; i < 2; ++i) {
        Pipeline pipeline{at::source<Order>(), fail, shop, options};
        CHECK_THROWS_SAYING(pipeline.drain(), std::runtime_error, "never");
    }
    Pipeline pipeline{at::source<Order>(), fail, shop, options};
    CHECK(pipeline.drain() == 1);
    REQUIRE(pipeline.dead_letters().size() == 1);
    CHECK(pipeline.dead_letters().front().attempts == 3);
}

TEST_CASE(
    "F2: what passes by itself uses no attempt up, and is tried until it has passed", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<int> failures{20};
    std::function<void()> fail;
    at::Options options = patient(1);
    options.retry.longest_pause = 2ms;
    SECTION("as the handler says, whatever the policy") {
        fail = [] { throw at::Transient{"the broker doesn't answer"}; };
    }
    SECTION("as a database says, where the policy is patient") {
        options.retry.then = at::Then::park;
        fail = [] { throw at::Error{at::Errc::busy, "my own queue is full"}; };
    }
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            if (failures-- > 0) { fail(); }
        },
        shop, options};
    pipeline.start();
    add_order(shop, 1);
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(copies(shop) == orders(shop));
    CHECK(pipeline.dead_letters().empty());
    CHECK(pipeline.errors().empty());
}

TEST_CASE("F2: a stop doesn't wait for the next attempt", "[threads]") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = patient(5);
    options.retry.pause = options.retry.longest_pause = 1h;
    std::atomic<int> calls{0};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx&) {
            ++calls;
            throw std::runtime_error{"no"};
        },
        shop, options};
    pipeline.start();
    add_order(shop, 1);
    while (calls == 0) { std::this_thread::sleep_for(1ms); }
    pipeline.stop();
    CHECK(pipeline.stopped());
    CHECK(calls == 1);
}

TEST_CASE("F2: a rebuild that is asked for doesn't wait for the next attempt", "[threads]") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = patient(5);
    options.retry.pause = options.retry.longest_pause = 1h;
    std::atomic<bool> mended{false};
    std::atomic<int> calls{0};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            ++calls;
            if (!mended) { throw std::runtime_error{"no"}; }
            copy_rows(batch, tx);
        },
        shop, options};
    pipeline.start();
    add_order(shop, 1);
    while (calls == 0) { std::this_thread::sleep_for(1ms); }
    mended = true;
    pipeline.rebuild();
    REQUIRE(pipeline.await_idle(20s) == at::Awaited::idle);
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F2: a rebuild may have a policy of its own") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 3);
    at::Options options = patient(1);
    options.rebuild_retry = at::Retry{.pause = 0ms, .then = at::Then::park};
    Pipeline pipeline{at::source<Order>(),
        [](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            for (const std::int64_t id : batch.ids()) {
                if (id % 2 == 0) { throw std::runtime_error{"no even ones"}; }
            }
        },
        shop, options};
    pipeline.drain();
    CHECK(pipeline.dead_letters().size() == 1);
    add_order(shop, 4);
    CHECK_THROWS_SAYING(pipeline.drain(), std::runtime_error, "no even ones");
    CHECK(pipeline.dead_letters().size() == 1);
}

TEST_CASE("F4: a handler answers what is to be done") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Outcome answer = at::Outcome::done;
    at::Pipeline pipeline{at::source<Order>(),
        [&](const at::Change<Order>& change, Tx& tx) {
            tx.upsert(Copy{change.key(), "", 0});
            return change.key() == 2 ? answer : at::Outcome::done;
        },
        shop, quiet("copy")};
    pipeline.drain();
    add_orders(shop, 1, 3);
    SECTION("done") {
        CHECK(pipeline.drain() == 1);
        CHECK(copies(shop).size() == 3);
    }
    SECTION("retry: nothing of it stays, and it comes again") {
        answer = at::Outcome::retry;
        CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "Outcome::retry");
        CHECK(copies(shop).empty());
        CHECK(pipeline.status().attempts == 0);
        answer = at::Outcome::done;
        CHECK(pipeline.drain() == 1);
        CHECK(copies(shop).size() == 3);
    }
    SECTION("park: the record is set aside, whatever the policy") {
        answer = at::Outcome::park;
        CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "Outcome::park");
        CHECK(pipeline.drain() == 1);
        CHECK(copies(shop).size() == 2);
        REQUIRE(pipeline.dead_letters().size() == 1);
        CHECK(pipeline.dead_letters().front().record == "2");
        CHECK(pipeline.errors().empty());
    }
    SECTION("stop: the pipeline stops, whatever the policy") {
        answer = at::Outcome::stop;
        CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "Outcome::stop");
        CHECK(pipeline.errors().size() == 1);
        CHECK(copies(shop).empty());
    }
}

TEST_CASE(
    "K5: a handler that gives its batch back since it is to stop has not failed", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<bool> inside{false};
    std::atomic<bool> patient{false};
    at::Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            inside = true;
            while (!patient) {
                if (tx.stopping()) { return at::Outcome::retry; }
                std::this_thread::sleep_for(1ms);
            }
            return at::Outcome::done;
        },
        shop, quiet("copy")};
    pipeline.start();
    add_order(shop, 1);
    while (!inside) { std::this_thread::sleep_for(1ms); }
    pipeline.stop();
    CHECK(pipeline.status().state == at::State::stopped);
    CHECK(pipeline.errors().empty());
    CHECK(copies(shop).empty());
    patient = true;
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(copies(shop) == orders(shop));
}
