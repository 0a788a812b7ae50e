// SPDX-License-Identifier: MIT
// Several pipelines: over one capture, over each other's tables, over their own source, under one
// name.
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "latch.hpp"
#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

TEST_CASE("PT2: pipelines over one capture share its log rows, and each has its own checkpoint") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary of_first;
    Diary of_second;
    bool broken = false;
    Pipeline first{at::source<Order>(), of_first.handler(), shop, quiet("first")};
    Pipeline second{at::source<Order>(), of_second.handler([&](const at::Batch<Order>&, Tx&) {
                        if (broken) { throw std::runtime_error{"no"}; }
                    }),
        shop, quiet("second")};
    first.drain();
    second.drain();
    const std::int64_t before = fixture::log_size(shop);
    add_orders(shop, 1, 3);
    CHECK(fixture::log_size(shop) == before + 3);

    // One that fails doesn't hold up the other.
    broken = true;
    CHECK_THROWS(second.drain());
    first.drain();
    CHECK(of_first.changes() == Texts{"I1", "I2", "I3"});
    broken = false;
    of_second.clear();
    second.drain();
    CHECK(of_second.changes() == Texts{"I1", "I2", "I3"});
}

TEST_CASE("SY11: a handler that writes to its own source is handed its changes, until it has "
          "nothing to change") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler([](const at::Batch<Order>& batch, Tx& tx) {
                          for (Order order : batch.records()) {
                              if (order.amount >= 3) { continue; }
                              order.amount += 1;
                              tx.upsert(order);
                          }
                      }),
        shop, quiet("raise")};
    pipeline.drain();
    shop.transaction([](Tx& tx) { tx.insert(Order{1, "ada", 1}); });
    CHECK(pipeline.drain() == 3);
    CHECK(orders(shop) == std::vector<Copy>{{1, "ada", 3}});
}

TEST_CASE("SY11: with skip_own_changes a pipeline doesn't see what it wrote itself; others do") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary own;
    Diary others;
    at::Options options = quiet("double");
    options.skip_own_changes = true;
    const auto twice = [](const at::Batch<Order>& batch, Tx& tx) {
        tx.execute("UPDATE \"order\" SET amount = amount * 2 WHERE id = $1", batch.ids().back());
    };
    {
        Pipeline pipeline{at::source<Order>(), own.handler(twice), shop, options};
        Pipeline other{at::source<Order>(), others.handler(), shop, quiet("others")};
        pipeline.drain();
        other.drain();
        add_order(shop, 1);
        CHECK(pipeline.drain() == 1);
        add_order(shop, 2);
        CHECK(pipeline.drain() == 1);
        other.drain();
    }
    Pipeline again{at::source<Order>(), own.handler(twice), shop, options};
    CHECK(again.drain() == 0);
    CHECK(own.changes() == Texts{"I1", "I2"});
    CHECK(others.changes() == Texts{"I1", "U1", "I2", "U2"});
    CHECK(orders(shop) == std::vector<Copy>{{1, "ada", 2}, {2, "ada", 4}});
}

TEST_CASE(
    "SY11: skip_own_changes leaves out nothing that others write at the same time", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = quiet("double");
    options.skip_own_changes = true;
    std::mutex mutex;
    std::map<std::int64_t, int> seen;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            const std::lock_guard guard{mutex};
            for (const auto& change : batch.changes()) { ++seen[change.key()]; }
            for (const std::int64_t id : batch.ids()) {
                tx.execute("UPDATE \"order\" SET amount = -1 WHERE id = $1", id);
            }
        },
        shop, options};
    pipeline.start();
    std::thread writer{[&] {
        for (std::int64_t id = 1; id <= 100; ++id) { add_order(shop, id); }
    }};
    writer.join();
    REQUIRE(pipeline.await_idle(60s) == at::Awaited::idle);
    const std::lock_guard guard{mutex};
    CHECK(seen.size() == 100);
    for (const auto& [id, times] : seen) { CHECK(times == 1); }
}

TEST_CASE("SY11: what one pipeline derives is another one's source", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch last;
    at::Options options = quiet("of_copies");
    options.poll_interval = 10min; // the first one's commit must wake it
    Pipeline first{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    at::Pipeline second{at::source<Copy>(),
        [&](const at::Batch<Copy>& batch) {
            if (batch.ids().back() == 5) { last.open(); }
        },
        shop, options};
    first.start();
    second.start();
    for (std::int64_t id = 1; id <= 5; ++id) { add_order(shop, id); }
    CHECK(last.wait_for(30s));
}

TEST_CASE("K1: two programs run one pipeline: each change takes effect once", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    const auto add_up = [](const at::Batch<Order>& batch, Tx& tx) {
        for (const at::Change<Order>& change : batch.changes()) {
            const auto there = tx.get(at::type<Copy>, change.key());
            tx.upsert(Copy{change.key(), "handled", (there ? there->amount : 0) + 1});
        }
    };
    Database other_shop{place.open()};
    Pipeline here{at::source<Order>(), OnBatch{add_up}, shop, quiet("count")};
    Pipeline there{at::source<Order>(), OnBatch{add_up}, other_shop, quiet("count")};
    here.start();
    there.start();
    for (std::int64_t id = 1; id <= 200; ++id) {
        if (id % 2 == 0) {
            add_order(shop, id);
        } else {
            add_order(other_shop, id);
        }
    }
    REQUIRE(here.await_idle(60s) == at::Awaited::idle);
    REQUIRE(there.await_idle(60s) == at::Awaited::idle);
    CHECK(here.errors().empty());
    CHECK(there.errors().empty());
    const std::vector<Copy> counts = copies(shop);
    CHECK(counts.size() == 200);
    for (const Copy& one : counts) { CHECK(one.amount == 1); }
}

TEST_CASE(
    "K1: a program that was outrun undoes its batch and goes on from the other's checkpoint") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Database other_shop{place.open()};
    Diary here;
    Diary there;
    Pipeline first{at::source<Order>(), here.handler(OnBatch{copy_rows}), shop, quiet("copy")};
    Pipeline second{
        at::source<Order>(), there.handler(OnBatch{copy_rows}), other_shop, quiet("copy")};
    first.drain();
    second.drain();
    add_order(shop, 1);
    first.drain();
    add_order(shop, 2);
    second.drain(); // knows nothing of the first one's batch, and learns of it in its own
    CHECK(here.changes() == Texts{"I1"});
    REQUIRE(!there.calls().empty());
    CHECK(there.calls().back().changes == Texts{"I2"});
    CHECK(copies(shop) == orders(shop));
    CHECK(second.errors().empty());
}

TEST_CASE("C7: two programs that declare one capture otherwise are told") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline first{at::source<Order>().named("orders"), OnBatch{copy_rows}, shop, quiet("first")};
    first.drain();
    Pipeline second{at::source<Order>().named("orders").operations(at::inserts), OnBatch{copy_rows},
        shop, quiet("second")};
    try {
        second.start();
        FAIL("a conflict went unseen");
    } catch (const at::Error& error) { CHECK(error.code() == at::Errc::capture_conflict); }
    add_order(shop, 1);
    CHECK(first.drain() == 1); // and the one that was there first goes on
}

TEST_CASE("two sources under one pipeline name don't rebuild each other for ever") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    Pipeline first{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    first.drain();
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Pipeline second{at::source<Order>().named("orders"),
        OnBatch{[](const at::Batch<Order>&, Tx&) {}}, shop, options};
    second.drain();
    REQUIRE(told.times(at::Moment::checkpoint_unusable) == 1);
    CHECK(told.says("is of capture order, and the source is captured as orders"));
    CHECK(told.says("every record is handed over again"));
    CHECK(told.says("give each its own Options::name"));
    add_order(shop, 2);
    CHECK_THROWS_SAYING(first.drain(), at::Error, "give each its own Options::name");
    second.drain();
    CHECK(count(shop, "copy") == 1);
    first.drain(); // on demand it takes the name back
    CHECK(count(shop, "copy") == 2);
}

TEST_CASE("P5: a pipeline whose source is captured otherwise than before says so, and rebuilds") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    {
        Pipeline touches{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
        touches.drain();
    }
    Told told;
    Diary diary;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    ImagePipeline images{at::source<Order>().images(), diary.handler(), shop, options};
    images.drain();
    CHECK(diary.changes() == Texts{"P1"});
    REQUIRE(told.times(at::Moment::checkpoint_unusable) == 1);
    CHECK(told.says("is of capture order, and the source is captured as order_images"));
}

TEST_CASE("an application's writes wait for a batch in memory and never join its transaction",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const bool fails = GENERATE(false, true);
    INFO(fixture::name(kind) << (fails ? ", the handler fails" : ""));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch entered;
    Latch go_on;
    std::atomic<bool> written{false};
    std::atomic<bool> written_inside{false};
    std::atomic<bool> first{true};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            if (!first.exchange(false)) { return; }
            copy_rows(batch, tx);
            entered.open();
            go_on.wait();
            written_inside = written.load();
            if (fails) { throw std::runtime_error{"no"}; }
        },
        shop, quiet("copy")};
    add_order(shop, 1);
    pipeline.start();
    entered.wait();
    std::thread application{[&] {
        shop.execute("INSERT INTO \"order\" (id, customer, amount) VALUES (2, 'bob', 2)");
        written = true;
    }};
    go_on.open();
    application.join();
    pipeline.await_idle(30s);
    if (fixture::writers_wait) { CHECK(!written_inside); }
    CHECK(count(shop, "order") == 2); // a rollback of the batch took nothing of it along
    CHECK(count(shop, "copy") == (fails ? 0 : 1));
}

TEST_CASE(
    "an application's transaction isn't committed by a pipeline, nor waited for by await_idle") {
    const std::vector<Kind> kinds = fixture::kinds_with_one_connection();
    if (kinds.empty()) {
        WARN("skipped: application and pipelines never share a connection here");
        return;
    }
    const Kind kind = GENERATE_COPY(from_range(kinds));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(OnBatch{copy_rows}), shop, quiet("copy")};
    pipeline.drain();
    shop.execute("BEGIN");
    shop.execute("INSERT INTO \"order\" (id, customer, amount) VALUES (1, 'ada', 1)");
    try {
        pipeline.drain();
    } catch (const at::Error& error) { CHECK(error.code() == at::Errc::busy); }
    CHECK(diary.calls().empty());
    shop.execute("ROLLBACK");
    CHECK(pipeline.drain() == 0);
    CHECK(diary.calls().empty());
    add_order(shop, 2);
    CHECK(pipeline.drain() == 1);
    CHECK(diary.changes() == Texts{"I2"});
    CHECK(copies(shop) == orders(shop));
}
