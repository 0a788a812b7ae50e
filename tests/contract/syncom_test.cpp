// SPDX-License-Identifier: MIT
// SY1 to SY13: what the pipelines of syncom do, one test each.
#include <stdexcept>

#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

TEST_CASE("SY1: a handler gets every change of a table in order, at least once; a running total "
          "beside it",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler([](const at::Batch<Order>&, Tx& tx) {
                          const auto sums = tx.query(
                              at::type<double>, "SELECT coalesce(sum(amount), 0.0) FROM \"order\"");
                          tx.upsert(Copy{0, "total", sums.front()});
                      }),
        shop, quiet("total")};
    pipeline.start();
    pipeline.await_idle(30s);
    add_order(shop, 1);
    change_order(shop, 1, 4);
    add_order(shop, 2);
    remove_order(shop, 1);
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(diary.changes() == Texts{"I1", "U1", "I2", "D1"});
    CHECK(copies(shop) == std::vector<Copy>{{0, "total", 2}});
}

TEST_CASE("SY2: the name keys the checkpoint") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    const std::string odd_name = "a 'name' with \"quotes\", \xc3\xa4 and $1";
    Diary one;
    Diary other;
    Pipeline{at::source<Order>(), one.handler(), shop, quiet(odd_name)}.drain();
    CHECK(Pipeline{at::source<Order>(), one.handler(), shop, quiet(odd_name)}.drain() == 0);
    Pipeline{at::source<Order>(), other.handler(), shop, quiet(odd_name + "x")}.drain();
    CHECK(one.changes() == Texts{"P1"});
    CHECK(other.changes() == Texts{"P1"});
    CHECK(!fixture::checkpoint(shop, odd_name).empty());
}

TEST_CASE("SY3: a handler gets ids once each, changes, replay, rebuilt and an event id") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.drain();
    add_order(shop, 1);
    change_order(shop, 1, 2);
    pipeline.drain();
    REQUIRE(diary.calls().size() == 1);
    const Call call = diary.calls().front();
    CHECK(call.ids == Ids{1});
    CHECK(call.changes == Texts{"I1", "U1"});
    CHECK(!call.replay);
    CHECK(!call.rebuilt);
    CHECK(!call.event_id.empty());
}

TEST_CASE("SY4: derived writes land whole or not at all") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline pipeline{at::source<Order>(),
        [](const at::Batch<Order>& batch, Tx& tx) {
            for (const Order& order : batch.records()) {
                tx.upsert(Copy{order.id, order.customer, order.amount});
                if (order.id == 3) { throw std::runtime_error{"no"}; }
            }
        },
        shop, quiet("copy")};
    add_orders(shop, 1, 3);
    CHECK_THROWS(pipeline.drain());
    CHECK(copies(shop).empty());
    remove_order(shop, 3);
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("SY5: start replays, follows, and rebuilds where the log can't be gone on from") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    std::vector<std::string> starts;
    const auto go = [&] {
        Diary diary;
        Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
        pipeline.start();
        REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
        std::string how;
        for (const Call& call : diary.calls()) {
            how += call.rebuilt ? 'b' : call.replay ? 'r' : 'l';
        }
        add_order(shop, 100 + static_cast<std::int64_t>(starts.size()));
        REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
        for (std::size_t i = how.size(); i < diary.calls().size(); ++i) {
            how += diary.calls()[i].replay ? 'r' : 'l';
        }
        starts.push_back(how);
        add_order(shop, 200 + static_cast<std::int64_t>(starts.size()));
        pipeline.await_idle(30s);
    };
    go(); // there is no checkpoint
    add_order(shop, 2);
    go(); // there is one
    add_order(shop, 3);
    fixture::prune(shop, "order");
    go(); // pruned past it
    fixture::drop_log(shop);
    go(); // another log
    CHECK(starts == std::vector<std::string>{"bl", "rl", "bl", "bl"});
}

TEST_CASE("SY6: a failure during a rebuild costs its batch, not the rebuild") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 1250);
    std::size_t calls = 0;
    Ids seen;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx&) {
            if (++calls == 2) { throw std::runtime_error{"no"}; }
            seen.insert(seen.end(), batch.ids().begin(), batch.ids().end());
        },
        shop, quiet("copy")};
    CHECK_THROWS(pipeline.drain());
    CHECK(seen.size() == 500);
    pipeline.drain();
    CHECK(seen.size() == 1250);
    CHECK(calls == 4);
}

TEST_CASE("SY7: what comes meanwhile joins the waiting batch", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.start();
    pipeline.await_idle(30s);
    pipeline.pause();
    while (pipeline.status().state != at::State::paused) { std::this_thread::yield(); }
    for (int round = 0; round < 3; ++round) {
        for (std::int64_t id = 1; id <= 4; ++id) {
            shop.transaction(
                [&](Tx& tx) { tx.upsert(Order{id, "ada", static_cast<double>(round)}); });
        }
    }
    pipeline.resume();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    REQUIRE(diary.calls().size() == 1);
    CHECK(diary.calls().front().ids == Ids{1, 2, 3, 4});
    Texts of_two;
    for (const std::string& change : diary.changes()) {
        if (change.back() == '2') { of_two.push_back(change.substr(0, 1)); }
    }
    std::erase(of_two, "T"); // on SQLite, an upsert first touches what may stand in its way
    CHECK(of_two == Texts{"I", "U", "U"});
}

TEST_CASE(
    "SY8: a throwing handler stops the pipeline before the turn, and start hands it over again",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<bool> broken{true};
    Diary diary;
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Pipeline pipeline{at::source<Order>(), diary.handler([&](const at::Batch<Order>&, Tx&) {
                          if (broken) { throw std::runtime_error{"no"}; }
                      }),
        shop, options};
    add_order(shop, 1);
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    CHECK(told.times(at::Moment::pipeline_failed) == 1);
    CHECK(pipeline.errors().back().event_id == diary.calls().back().event_id);
    broken = false;
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(diary.changes() == Texts{"P1", "P1"});
}

TEST_CASE("SY9: stopped, idle, await_idle and stop", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    CHECK(pipeline.stopped());
    CHECK(pipeline.await_idle() == at::Awaited::stopped);
    pipeline.start();
    CHECK(!pipeline.stopped());
    CHECK(pipeline.await_idle() == at::Awaited::idle);
    pipeline.stop();
    CHECK(pipeline.stopped());
    CHECK(pipeline.idle());
}

TEST_CASE("SY10, SY13: an unreadable checkpoint is told by its name and leads to a rebuild") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    Diary diary;
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Pipeline{at::source<Order>(), diary.handler(), shop, options}.drain();
    fixture::set_checkpoint(shop, "copy", "?");
    Pipeline{at::source<Order>(), diary.handler(), shop, options}.drain();
    CHECK(diary.changes() == Texts{"P1", "P1"});
    const Texts lines = told.lines();
    CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.starts_with("pipeline.checkpoint.unreadable pipeline=copy : ");
    }));
}

TEST_CASE("SY12: reads of the target aren't held up by a batch", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::kinds_with_free_readers()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    bool read = false;
    Database reader{place.open(1ms)};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            read = reader.query(at::type<std::int64_t>, "SELECT count(*) FROM copy").front() == 0;
        },
        shop, quiet("copy")};
    add_order(shop, 1);
    pipeline.drain();
    CHECK(read);
}
