// SPDX-License-Identifier: MIT
// K3, K4: how large a batch is, what it joins, and what it says of itself.
#include <functional>
#include <numeric>
#include <set>

#include "shop.hpp"

using namespace contract;

namespace {

/// `from`, `from` + 1, ... `to`
Ids range(std::int64_t from, std::int64_t to) {
    Ids ids(static_cast<std::size_t>(to - from + 1));
    std::iota(ids.begin(), ids.end(), from);
    return ids;
}

} // namespace

TEST_CASE("K3: a statement of any size comes in batches of at most 500 changes, in order") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.drain();
    add_orders(shop, 1, 1201);
    CHECK(pipeline.drain() == 3);
    shop.execute("UPDATE \"order\" SET amount = amount + 1");
    CHECK(pipeline.drain() == 3);
    const std::vector<Call> calls = diary.calls();
    REQUIRE(calls.size() == 6);
    CHECK(calls[0].ids == range(1, 500));
    CHECK(calls[1].ids == range(501, 1000));
    CHECK(calls[2].ids == range(1001, 1201));
    CHECK(calls[4].ids.size() == 500);
    const Texts changes = diary.changes();
    REQUIRE(changes.size() == 2402);
    CHECK(changes.front() == "I1");
    CHECK(std::set<std::string>(changes.begin(), changes.end()).size() == 2402);
}

TEST_CASE("K3: a rebuild's page is at most 500 records, and its live changes count") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 1000);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    CHECK(pipeline.run_once()); // begins
    CHECK(pipeline.run_once()); // 1 to 500
    shop.execute("UPDATE \"order\" SET amount = 0 WHERE id BETWEEN 1 AND 7");
    CHECK(pipeline.run_once());
    CHECK(pipeline.drain() == 1);
    const std::vector<Call> calls = diary.calls();
    REQUIRE(calls.size() == 3);
    CHECK(calls[0].ids == range(1, 500));
    CHECK(calls[1].changes.size() == 500);
    CHECK(calls[1].changes.front() == "U1");
    CHECK(calls[1].changes[7] == "P501");
    CHECK(calls[2].ids == range(994, 1000));
}

TEST_CASE("K3: batch_size is the limit where it is smaller") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 5);
    Diary diary;
    at::Options options = quiet("copy");
    options.batch_size = 2;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, options};
    pipeline.drain();
    add_orders(shop, 6, 8);
    pipeline.drain();
    std::vector<Texts> batches;
    for (const Call& call : diary.calls()) { batches.push_back(call.changes); }
    CHECK(batches == std::vector<Texts>{{"P1", "P2"}, {"P3", "P4"}, {"P5"}, {"I6", "I7"}, {"I8"}});
}

TEST_CASE("K3: a batch ends at batch_bytes, but for one larger record") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    const std::string large(10'000, 'x');
    const auto add = [&](std::int64_t from, std::int64_t to) {
        shop.transaction([&](Tx& tx) {
            for (std::int64_t id = from; id <= to; ++id) { tx.insert(Order{id, large, 0}); }
        });
    };
    add(1, 6);
    Diary diary;
    at::Options options = quiet("copy");
    options.batch_bytes = 25'000;
    ImagePipeline pipeline{at::source<Order>().images(), diary.handler(), shop, options};
    pipeline.drain();
    add(11, 16);
    pipeline.drain();
    options.name = "one by one";
    options.batch_bytes = 1;
    Diary one_by_one;
    ImagePipeline smallest{at::source<Order>().images(), one_by_one.handler(), shop, options};
    smallest.drain();
    add(21, 23);
    smallest.drain();

    for (const Call& call : diary.calls()) { CHECK(call.changes.size() == 3); }
    CHECK(diary.changes() ==
          Texts{"P1", "P2", "P3", "P4", "P5", "P6", "I11", "I12", "I13", "I14", "I15", "I16"});
    for (const Call& call : one_by_one.calls()) { CHECK(call.changes.size() == 1); }
    CHECK(one_by_one.calls().size() == 12 + 3);
}

TEST_CASE("K4: changes that come while a batch is handled join the next one, ids once, changes in "
          "order") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.drain();
    add_orders(shop, 1, 2);
    pipeline.run_once();
    change_order(shop, 2, 7);
    change_order(shop, 1, 8);
    add_order(shop, 3);
    change_order(shop, 2, 9);
    remove_order(shop, 1);
    CHECK(pipeline.drain() == 1);
    const std::vector<Call> calls = diary.calls();
    REQUIRE(calls.size() == 2);
    CHECK(calls[1].ids == Ids{2, 1, 3});
    CHECK(calls[1].changes == Texts{"U2", "U1", "I3", "U2", "D1"});
}

TEST_CASE("K4: start replays what the log holds since the checkpoint, then follows") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    {
        Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
        add_order(shop, 1);
        pipeline.drain();
        add_order(shop, 2);
        pipeline.drain();
    }
    add_orders(shop, 3, 4); // nobody runs; the triggers do
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.drain();
    add_order(shop, 5);
    pipeline.drain();
    const std::vector<Call> calls = diary.calls();
    REQUIRE(calls.size() == 4);
    CHECK(calls[0].changes == Texts{"P1"});
    CHECK((calls[0].rebuilt && !calls[0].replay));
    CHECK(calls[1].changes == Texts{"I2"});
    CHECK((!calls[1].rebuilt && !calls[1].replay));
    CHECK(calls[2].changes == Texts{"I3", "I4"});
    CHECK((!calls[2].rebuilt && calls[2].replay));
    CHECK(calls[3].changes == Texts{"I5"});
    CHECK((!calls[3].rebuilt && !calls[3].replay));
}

TEST_CASE("K4: without a checkpoint a pipeline rebuilds, or on request begins now") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 2);
    Diary rebuilt;
    Diary from_now;
    at::Options options = quiet("from_now");
    options.begin = at::Begin::now;
    Pipeline first{at::source<Order>(), rebuilt.handler(), shop, quiet("rebuilt")};
    Pipeline second{at::source<Order>(), from_now.handler(), shop, options};
    first.drain();
    second.drain();
    add_order(shop, 3);
    first.drain();
    second.drain();
    CHECK(rebuilt.changes() == Texts{"P1", "P2", "I3"});
    CHECK(from_now.changes() == Texts{"I3"});

    // Once there is a checkpoint, `begin` says nothing any more.
    Pipeline again{at::source<Order>(), from_now.handler(), shop, options};
    add_order(shop, 4);
    again.drain();
    CHECK(from_now.changes() == Texts{"I3", "I4"});
}

TEST_CASE(
    "K4: a batch's event id names the same place for the batch, the status and the observer") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Texts reported;
    std::function<std::string()> position;
    at::Options options = quiet("copy");
    options.observer = [&](const at::Report& report) {
        if (report.moment == at::Moment::batch_committed) {
            // Now: where others write, the next look finds a later place with nothing before it.
            CHECK(report.event_id.ends_with(':' + position()));
            reported.emplace_back(report.event_id);
        }
    };
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, options};
    position = [&] { return pipeline.status().position; };
    pipeline.drain();
    for (std::int64_t id = 1; id <= 3; ++id) {
        add_order(shop, id);
        pipeline.drain();
    }
    REQUIRE(diary.calls().size() == 3);
    const Texts told(reported.end() - 3, reported.end());
    CHECK(told ==
          Texts{diary.calls()[0].event_id, diary.calls()[1].event_id, diary.calls()[2].event_id});
    CHECK(std::set<std::string>(told.begin(), told.end()).size() == 3);
}
