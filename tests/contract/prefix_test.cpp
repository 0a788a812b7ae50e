// SPDX-License-Identifier: MIT
// K2: the checkpoint moves only to the end of a prefix that is fully handled.
#include <stdexcept>
#include <thread>

#include "shop.hpp"

using namespace contract;

TEST_CASE("K2: a handler that ends its transaction fails, and the checkpoint stays") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const fixture::Ending ending = GENERATE(from_range(fixture::endings));
    INFO(fixture::name(kind) << ", " << ending.what);
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    shop.transaction([](Tx& tx) { tx.insert(Copy{1, "here before", 0}); });
    bool broken = true;
    Diary diary;
    at::Options options = quiet("copy");
    options.begin = at::Begin::now;
    Pipeline pipeline{at::source<Order>(), diary.handler([&](const at::Batch<Order>&, Tx& tx) {
                          tx.upsert(Copy{2, "written before", 0});
                          if (!broken) { return; }
                          ending.run(tx);
                          tx.upsert(Copy{3, "written behind", 0});
                      }),
        shop, options};
    pipeline.drain();
    const std::string before = fixture::checkpoint(shop, "copy");
    add_order(shop, 5);
    try {
        pipeline.run_once();
        FAIL("the handler lost its transaction, and nobody said so");
    } catch (const at::Error& error) {
        CHECK(error.code() == at::Errc::transaction_lost);
        CHECK_THAT(
            error.what(), Catch::Matchers::ContainsSubstring("the handler of pipeline copy"));
    }
    CHECK(fixture::checkpoint(shop, "copy") == before);
    REQUIRE(pipeline.errors().size() == 1);
    if (fixture::refuses_commits) { CHECK(count(shop, "copy") == 1); }

    // The change comes again, and the connection is fit for it.
    broken = false;
    CHECK(pipeline.drain() == 1);
    CHECK(diary.changes() == Texts{"I5", "I5"});
    CHECK(fixture::checkpoint(shop, "copy") != before);
    CHECK(count(shop, "copy") >= 2);
}

TEST_CASE("K2: a batch whose records() failed isn't committed, whatever the handler makes of it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    int swallowed = 0;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            tx.upsert(Copy{9, "written", 0});
            try {
                static_cast<void>(batch.records());
            } catch (const at::Error&) { ++swallowed; }
        },
        shop, quiet("copy")};
    pipeline.drain();
    const std::string before = fixture::checkpoint(shop, "copy");
    add_order(shop, 1);
    fixture::spoil_order(shop, 1);
    CHECK_THROWS_SAYING(pipeline.run_once(), at::Error, "order.customer");
    CHECK(swallowed == 1);
    CHECK(copies(shop).empty());
    CHECK(fixture::checkpoint(shop, "copy") == before);

    fixture::mend_order(shop, 1);
    CHECK(pipeline.drain() == 1);
    CHECK(swallowed == 1);
    CHECK(fixture::checkpoint(shop, "copy") != before);
}

TEST_CASE("K2: an error that the handler deals with itself is no failure") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    shop.transaction([](Tx& tx) { tx.insert(Copy{1, "here before", 0}); });
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            for (const std::int64_t id : batch.ids()) {
                try {
                    tx.insert(Copy{id, "new", 0});
                } catch (const at::Error& error) { CHECK(error.code() == at::Errc::constraint); }
            }
        },
        shop, quiet("copy")};
    add_orders(shop, 1, 3);
    pipeline.drain();
    CHECK(copies(shop) == std::vector<Copy>{{1, "here before", 0}, {2, "new", 0}, {3, "new", 0}});
}

TEST_CASE(
    "K2: changes that the filter leaves out move the checkpoint, and the handler isn't called") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    std::int64_t asked = 0;
    Pipeline pipeline{at::source<Order>().filter([&](const at::Change<Order>& change) {
                          ++asked;
                          return change.key() % 2 == 0;
                      }),
        diary.handler(), shop, quiet("even")};
    pipeline.drain();
    const std::string before = fixture::checkpoint(shop, "even");

    add_order(shop, 1);
    pipeline.drain();
    CHECK(asked == 1);
    CHECK(diary.calls().empty());
    CHECK(fixture::checkpoint(shop, "even") != before);

    add_orders(shop, 2, 5);
    pipeline.drain();
    CHECK(asked == 5);
    CHECK(diary.changes() == Texts{"I2", "I4"});

    // Another object with the same name finds nothing to do.
    Pipeline again{at::source<Order>(), diary.handler(), shop, quiet("even")};
    CHECK(again.drain() == 0);
}

TEST_CASE("K2: an idle pipeline writes nothing, and what others do moves its position at most once "
          "a second") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline of_orders{at::source<Order>(), diary.handler(), shop, quiet("of_orders")};
    at::Pipeline of_copies{
        at::source<Copy>(), [](const at::Batch<Copy>&) {}, shop, quiet("of_copies")};
    of_orders.drain();
    of_copies.drain();
    const std::int64_t version = fixture::checkpoint_version(shop, "of_orders");
    for (int i = 0; i < 20; ++i) { of_orders.drain(); }
    CHECK(fixture::checkpoint_version(shop, "of_orders") == version);

    // Twenty commits of others within the second: one write at most.
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 1; i <= 20; ++i) {
        shop.execute("INSERT INTO copy (id, customer, amount) VALUES ($1, '', 0)", i);
        of_orders.drain();
    }
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    CHECK(fixture::checkpoint_version(shop, "of_orders") <= version + 1 + seconds.count());
    CHECK(diary.calls().empty());
    CHECK(of_copies.drain() == 1);
}

TEST_CASE("K2: two idle pipelines don't keep each other awake", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline first{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("first")};
    Pipeline second{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("second")};
    first.start();
    second.start();
    add_order(shop, 1);
    REQUIRE(first.await_idle(std::chrono::seconds{30}) == at::Awaited::idle);
    REQUIRE(second.await_idle(std::chrono::seconds{30}) == at::Awaited::idle);
    // Each asks for many looks of the other; none writes.
    const std::int64_t versions =
        fixture::checkpoint_version(shop, "first") + fixture::checkpoint_version(shop, "second");
    for (int i = 0; i < 10; ++i) {
        first.await_idle(std::chrono::seconds{30});
        second.await_idle(std::chrono::seconds{30});
    }
    CHECK(
        fixture::checkpoint_version(shop, "first") + fixture::checkpoint_version(shop, "second") ==
        versions);
}
