// SPDX-License-Identifier: MIT
// R1, R4: a rebuild hands over every record once, goes on where it was, and comes on demand.
#include <random>
#include <set>
#include <stdexcept>

#include "shop.hpp"

using namespace contract;

namespace {

at::Options small_batches(std::string name) {
    at::Options options = quiet(std::move(name));
    options.batch_size = 10;
    return options;
}

Texts present(std::int64_t from, std::int64_t to) {
    Texts texts;
    for (std::int64_t id = from; id <= to; ++id) { texts.push_back("P" + std::to_string(id)); }
    return texts;
}

} // namespace

TEST_CASE("R1: a rebuild hands over every record once, in key order, as rebuilt") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const std::int64_t rows = GENERATE(0, 1, 9, 10, 11, 20, 25);
    INFO(fixture::name(kind) << ", " << rows << " rows");
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    for (std::int64_t id = rows; id > 0; --id) { add_order(shop, id); }
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, small_batches("copy")};
    pipeline.drain();
    CHECK(diary.changes() == present(1, rows));
    for (const Call& call : diary.calls()) { CHECK((call.rebuilt && call.ids.size() <= 10)); }
    CHECK(pipeline.drain() == 0);
    CHECK(pipeline.status().rebuilt == rows);
}

TEST_CASE("R1: a rebuild goes on after its last committed page, in another object too") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 35);
    Diary diary;
    int generations = 0;
    const auto pages = [&](std::size_t turns) {
        at::Pipeline pipeline{at::source<Order>(),
            at::handle(at::on_batch([&](const at::Batch<Order>& batch) { diary.note(batch); }),
                at::on_rebuild_started([&](std::int64_t) { ++generations; })),
            shop, small_batches("copy")};
        for (std::size_t i = 0; i < turns; ++i) { pipeline.run_once(); }
    };
    pages(2); // begins; 1 to 10
    pages(1);
    pages(1);
    pages(5);
    CHECK(diary.changes() == present(1, 35));
    CHECK(generations == 1);
}

TEST_CASE("R1: a page whose handler throws comes again, and no other page does") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 25);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler([&](const at::Batch<Order>&, Tx&) {
                          if (diary.calls().size() == 2) { throw std::runtime_error{"no"}; }
                      }),
        shop, small_batches("copy")};
    CHECK_THROWS_AS(pipeline.drain(), std::runtime_error);
    pipeline.drain();
    const std::vector<Call> calls = diary.calls();
    REQUIRE(calls.size() == 4);
    CHECK(calls[0].changes == present(1, 10));
    CHECK(calls[1].changes == present(11, 20));
    CHECK(calls[2].changes == present(11, 20));
    CHECK(calls[2].attempts == 1);
    CHECK(calls[3].changes == present(21, 25));
    CHECK(calls[3].attempts == 0);
}

TEST_CASE("R1: the log position is taken first: what is written while it runs is never lost") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const unsigned seed = GENERATE(1U, 2U, 3U);
    INFO(fixture::name(kind) << ", seed " << seed);
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 60);
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, small_batches("copy")};
    std::mt19937 random{seed};
    const auto any_id = [&] { return static_cast<std::int64_t>(random() % 70 + 1); };
    while (pipeline.run_once()) {
        for (int i = 0; i < 4; ++i) {
            const std::int64_t id = any_id();
            switch (random() % 3) {
                case 0: shop.transaction([&](Tx& tx) { tx.upsert(Order{id, "bob", 1}); }); break;
                case 1: change_order(shop, id, static_cast<double>(random() % 100)); break;
                default: remove_order(shop, id);
            }
        }
        if (pipeline.status().batches > 40) { break; }
    }
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("R1: rebuild parts are called once each, around the pages, in their transactions") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const std::int64_t rows = GENERATE(0, 10, 15);
    INFO(fixture::name(kind) << ", " << rows << " rows");
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    if (rows != 0) { add_orders(shop, 1, rows); }
    Texts told;
    std::vector<std::int64_t> generations;
    at::Pipeline pipeline{at::source<Order>(),
        at::handle(at::on_batch([&](const at::Batch<Order>&) { told.emplace_back("page"); }),
            at::on_rebuild_started([&](std::int64_t generation, Tx& tx) {
                generations.push_back(generation);
                told.emplace_back("started");
                tx.execute("DELETE FROM copy");
            }),
            at::on_rebuild_finished([&](std::int64_t generation, Tx& tx) {
                told.push_back(generation == generations.back() ? "finished" : "wrong");
                tx.upsert(Copy{generation, "generation", 0});
            })),
        shop, small_batches("copy")};
    pipeline.drain();
    const Texts pages(static_cast<std::size_t>((rows + 9) / 10), "page");
    Texts expected{"started"};
    expected.insert(expected.end(), pages.begin(), pages.end());
    expected.emplace_back("finished");
    CHECK(told == expected);
    CHECK(copies(shop) == std::vector<Copy>{{generations.front(), "generation", 0}});

    pipeline.rebuild();
    pipeline.drain();
    CHECK(told.size() == 2 * expected.size());
    CHECK(told.back() == "finished");
    CHECK(generations.back() > generations.front());
    CHECK(copies(shop) == std::vector<Copy>{{generations.back(), "generation", 0}});
}

TEST_CASE("R3: a generation isn't one of those before, also where the checkpoint before was lost") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    std::vector<std::int64_t> generations;
    const auto note =
        at::on_rebuild_started([&](std::int64_t number) { generations.push_back(number); });
    for (int life = 0; life < 2; ++life) {
        at::Pipeline pipeline{at::source<Order>(),
            at::handle(at::on_batch([](const at::Batch<Order>&) {}), note), shop, quiet("copy")};
        pipeline.drain();
        pipeline.rebuild();
        pipeline.drain();
        at::remove(shop, at::source<Order>());
    }
    REQUIRE(generations.size() == 4);
    CHECK(std::is_sorted(generations.begin(), generations.end()));
    CHECK(std::adjacent_find(generations.begin(), generations.end()) == generations.end());
}

TEST_CASE("R4: rebuild() hands over every record again, now or at the next start") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 12);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, small_batches("copy")};
    pipeline.rebuild(); // before the first start it changes nothing: that is a rebuild anyway
    pipeline.drain();
    CHECK(diary.changes() == present(1, 12));
    diary.clear();
    pipeline.rebuild();
    CHECK(pipeline.drain() == 3);
    CHECK(diary.changes() == present(1, 12));
    CHECK(pipeline.drain() == 0);
}

TEST_CASE("R4: a rebuild() that fails to begin is still wanted") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 3);
    Diary diary;
    bool broken = false;
    at::Pipeline pipeline{at::source<Order>(),
        at::handle(at::on_batch([&](const at::Batch<Order>& batch) { diary.note(batch); }),
            at::on_rebuild_started([&](std::int64_t) {
                if (broken) { throw std::runtime_error{"not now"}; }
            })),
        shop, small_batches("copy")};
    pipeline.drain();
    diary.clear();
    pipeline.rebuild();
    broken = true;
    CHECK_THROWS_AS(pipeline.drain(), std::runtime_error);
    broken = false;
    pipeline.drain();
    CHECK(diary.changes() == present(1, 3));
}

TEST_CASE("R4: rebuild() while it runs", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 30);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, small_batches("copy")};
    pipeline.start();
    REQUIRE(pipeline.await_idle(std::chrono::seconds{30}) == at::Awaited::idle);
    diary.clear();
    pipeline.rebuild();
    REQUIRE(pipeline.await_idle(std::chrono::seconds{30}) == at::Awaited::idle);
    CHECK(diary.changes() == present(1, 30));
}

TEST_CASE("R4: rebuild() hands over every record to a pipeline that begins now") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 3);
    Diary diary;
    at::Options options = quiet("copy");
    options.begin = at::Begin::now;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, options};
    const bool before_the_first_start = GENERATE(true, false);
    if (!before_the_first_start) { pipeline.drain(); }
    pipeline.rebuild();
    pipeline.drain();
    CHECK(diary.changes() == present(1, 3));
}

TEST_CASE("R4: rebuild() during a rebuild begins it anew") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 25);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, small_batches("copy")};
    pipeline.run_once();
    pipeline.run_once();
    CHECK(diary.changes() == present(1, 10));
    diary.clear();
    pipeline.rebuild();
    pipeline.drain();
    CHECK(diary.changes() == present(1, 25));
}
