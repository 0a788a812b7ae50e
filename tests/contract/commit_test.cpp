// SPDX-License-Identifier: MIT
// K6: a commit whose outcome isn't known, and databases that can't be reached for a while.
#include "latch.hpp"
#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

namespace {

/// A handler whose effects must happen once: adds to a sum.
void add_amounts(const at::Batch<Order>& batch, Tx& tx) {
    for (const Order& order : batch.records()) {
        const auto there = tx.get(at::type<Copy>, 0);
        tx.upsert(Copy{0, "sum", (there ? there->amount : 0) + order.amount});
    }
}

} // namespace

TEST_CASE("K6: a commit that fails is undone, looked up, and done once") {
    const Kind kind = GENERATE(from_range(fixture::kinds_with_commit_lock()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open(5ms)};
    create_tables(shop);
    int calls = 0;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            ++calls;
            add_amounts(batch, tx);
        },
        shop, quiet("sum")};
    pipeline.drain();
    add_orders(shop, 1, 3);
    {
        const fixture::CommitLock lock{place};
        CHECK_THROWS_AS(pipeline.drain(), at::Error);
        CHECK(calls == 1);
        CHECK(copies(shop).empty());
    }
    CHECK(pipeline.drain() == 1);
    CHECK(calls == 2);
    CHECK(copies(shop) == std::vector<Copy>{{0, "sum", 6}});
}

TEST_CASE("K6: a running pipeline waits for a commit that fails for now, and that is no failure",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::kinds_with_commit_lock()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open(5ms)};
    create_tables(shop);
    Latch waiting;
    at::Options options = quiet("sum");
    options.observer = [&](const at::Report& report) {
        if (report.moment == at::Moment::waiting) { waiting.open(); }
    };
    Pipeline pipeline{at::source<Order>(), OnBatch{add_amounts}, shop, options};
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    pipeline.pause();
    add_orders(shop, 1, 3);
    {
        const fixture::CommitLock lock{place};
        pipeline.resume();
        waiting.wait();
        CHECK(!pipeline.stopped());
    }
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(pipeline.errors().empty());
    CHECK(copies(shop) == std::vector<Copy>{{0, "sum", 6}});
}

TEST_CASE("K6: a running pipeline waits for a lock of another program, and that is no failure",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open(5ms)};
    create_tables(shop);
    Latch waiting;
    at::Options options = quiet("sum");
    options.observer = [&](const at::Report& report) {
        if (report.moment == at::Moment::waiting) { waiting.open(); }
    };
    Pipeline pipeline{at::source<Order>(), OnBatch{add_amounts}, shop, options};
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    pipeline.pause();
    add_orders(shop, 1, 3);
    {
        const fixture::WriteLock lock{place};
        pipeline.resume();
        waiting.wait();
        CHECK(pipeline.await_idle(1ms) == at::Awaited::timed_out);
    }
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(pipeline.errors().empty());
    CHECK(copies(shop) == std::vector<Copy>{{0, "sum", 6}});
}

TEST_CASE("K6: start waits for a lock on its thread", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open(5ms)};
    create_tables(shop);
    add_orders(shop, 1, 3);
    Pipeline pipeline{at::source<Order>(), OnBatch{add_amounts}, shop, quiet("sum")};
    {
        const fixture::WriteLock lock{place};
        pipeline.start();
        CHECK(!pipeline.stopped());
        CHECK(pipeline.await_idle(1ms) == at::Awaited::timed_out);
    }
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(copies(shop) == std::vector<Copy>{{0, "sum", 6}});
    CHECK(pipeline.errors().empty());
}

TEST_CASE("K6: a commit that would fail for ever is the batch's failure", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    fixture::add_deferred_constraint(shop);
    std::atomic<bool> wrong{true};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            add_amounts(batch, tx);
            if (wrong) { fixture::break_deferred_constraint(tx); }
        },
        shop, quiet("sum")};
    pipeline.start();
    add_order(shop, 7);
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    REQUIRE(pipeline.errors().size() == 1);
    CHECK_THROWS_AS(std::rethrow_exception(pipeline.errors().front().cause), at::Error);
    CHECK(copies(shop).empty());
    wrong = false;
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(copies(shop) == std::vector<Copy>{{0, "sum", 7}});
}
