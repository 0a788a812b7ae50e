// SPDX-License-Identifier: MIT
// K7, and what may be called when: await_idle, pause, run_once, and calls from inside a handler.
#include <set>
#include <stdexcept>
#include <thread>

#include "latch.hpp"
#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

TEST_CASE("K7: what another program writes is found without being told", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch found;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx&) {
            if (batch.ids().back() == 3) { found.open(); }
        },
        shop, quiet("copy")};
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    Database other{place.open()};
    add_orders(other, 1, 3);
    CHECK(found.wait_for(30s));
}

TEST_CASE("K7: what the program itself writes is found without being asked", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Latch found;
    at::Options options = quiet("copy");
    options.poll_interval = 10min; // only a hint can wake it
    Pipeline pipeline{
        at::source<Order>(), [&](const at::Batch<Order>&, Tx&) { found.open(); }, shop, options};
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    for (int i = 0; i < 5; ++i) { pipeline.await_idle(30s); }
    add_order(shop, 1);
    CHECK(found.wait_for(30s));
}

TEST_CASE("SY9: await_idle covers everything committed before the call, a rebuild included",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 1200);
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    pipeline.start();
    REQUIRE(pipeline.await_idle(60s) == at::Awaited::idle);
    CHECK(copies(shop).size() == 1200);
    for (std::int64_t id = 2001; id <= 2050; ++id) {
        add_order(shop, id);
        REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
        REQUIRE(count(shop, "copy") == id - 800);
    }
    pipeline.stop();
    CHECK(pipeline.await_idle() == at::Awaited::stopped);
    CHECK(pipeline.idle());
}

TEST_CASE("SY9: await_idle ends with its deadline", "[threads]") {
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
    pipeline.start();
    entered.wait();
    CHECK(!pipeline.idle());
    CHECK(pipeline.await_idle(1ms) == at::Awaited::timed_out);
    go_on.open();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
}

TEST_CASE("a handler is told what it may not call, instead of waiting for itself", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline* self = nullptr;
    std::vector<at::Errc> codes;
    const auto try_to = [&](auto work) {
        try {
            work();
        } catch (const at::Error& error) { codes.push_back(error.code()); }
    };
    at::Status status;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx&) {
            try_to([&] { shop.execute("DELETE FROM copy"); });
            try_to([&] { static_cast<void>(shop.query(at::type<std::int64_t>, "SELECT 1")); });
            try_to([&] { shop.transaction([](Tx&) {}); });
            try_to([&] { self->await_idle(); });
            try_to([&] { self->await_idle(1s); });
            try_to([&] { self->start(); });
            try_to([&] { self->run_once(); });
            try_to([&] { self->drain(); });
            try_to([&] { self->rewind("1"); });
            try_to([&] { at::install(shop, at::source<Copy>()); });
            status = self->status(); // may be asked, but knows no lag here
            static_cast<void>(self->errors());
            static_cast<void>(self->stopped() || self->idle());
        },
        shop, quiet("copy")};
    self = &pipeline;
    add_order(shop, 1);
    const bool on_its_thread = GENERATE(true, false);
    if (on_its_thread) {
        pipeline.start();
        CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    } else {
        pipeline.drain();
    }
    CHECK(codes == std::vector<at::Errc>(10, at::Errc::wrong_thread));
    CHECK(status.name == "copy");
    CHECK(!status.lag);
    CHECK(pipeline.errors().empty());
}

TEST_CASE("a filter and rebuild parts are told so too") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    const auto ask = [&] { return shop.query(at::type<std::int64_t>, "SELECT 1").front() == 1; };
    Pipeline filtering{at::source<Order>().filter([&](const at::Change<Order>&) { return ask(); }),
        OnBatch{copy_rows}, shop, quiet("filtering")};
    CHECK_THROWS_SAYING(filtering.drain(), at::Error, "from inside a handler");
    at::Pipeline rebuilding{at::source<Order>(),
        at::handle(
            at::on_batch(OnBatch{copy_rows}), at::on_rebuild_started([&](std::int64_t) { ask(); })),
        shop, quiet("rebuilding")};
    CHECK_THROWS_SAYING(rebuilding.drain(), at::Error, "from inside a handler");
}

TEST_CASE("an observer may ask the database at every moment") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::set<at::Moment> moments;
    at::Options options = quiet("copy");
    options.observer = [&](const at::Report& report) {
        moments.insert(report.moment);
        shop.execute("UPDATE copy SET amount = amount + 1");
    };
    bool broken = false;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx&) {
            if (broken) { throw std::runtime_error{"no"}; }
        },
        shop, options};
    add_orders(shop, 1, 2);
    pipeline.drain();
    add_order(shop, 3);
    broken = true;
    CHECK_THROWS(pipeline.drain());
    broken = false;
    pipeline.drain();
    add_order(shop, 4);
    fixture::prune(shop, "order");
    change_order(shop, 1, 7);
    pipeline.drain();
    fixture::drop_log(shop);
    pipeline.drain();
    CHECK(moments.contains(at::Moment::installed));
    CHECK(moments.contains(at::Moment::checkpoint_unusable));
    CHECK(moments.contains(at::Moment::drift_found));
    CHECK(moments.contains(at::Moment::batch_undone));
    CHECK(moments.contains(at::Moment::pipeline_failed));
}

TEST_CASE("TE20: pause begins no batch until resume; changes are captured meanwhile", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    pipeline.pause();
    while (pipeline.status().state != at::State::paused) { std::this_thread::yield(); }
    add_orders(shop, 1, 3);
    pipeline.rebuild();
    CHECK(pipeline.await_idle(20ms) == at::Awaited::timed_out);
    CHECK(diary.calls().empty());
    pipeline.resume();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    // A handler that neither clears nor sweeps gets the changes too: no page tells of a deletion.
    CHECK(diary.changes() == Texts{"I1", "I2", "I3", "P1", "P2", "P3"});
}

TEST_CASE("TE20: pause holds between two calls of run_once, and before the first") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 8);
    at::Options options = quiet("copy");
    options.batch_size = 5;
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, options};
    pipeline.pause();
    CHECK(!pipeline.run_once());
    add_order(shop, 9);
    CHECK(!pipeline.run_once());
    CHECK(pipeline.drain() == 0);
    pipeline.resume();
    pipeline.run_once();
    pipeline.run_once();
    pipeline.pause();
    CHECK(pipeline.drain() == 0);
    CHECK(diary.changes() == Texts{"P1", "P2", "P3", "P4", "P5"});
    pipeline.resume();
    pipeline.drain();
    CHECK(diary.changes() == Texts{"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"});
}

TEST_CASE("run_once and drain are refused while the pipeline runs on its own thread", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.start();
    CHECK_THROWS_SAYING(pipeline.run_once(), at::Error, "stop() it");
    CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "stop() it");
    pipeline.await_idle(30s);
    pipeline.stop();
    add_order(shop, 1);
    CHECK(pipeline.drain() == 1);
    pipeline.start(); // and back
    add_order(shop, 2);
    pipeline.await_idle(30s);
    pipeline.stop();
    CHECK(diary.changes() == Texts{"I1", "I2"});
}

TEST_CASE("start() takes its place before it returns: what is committed then comes as a change",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const at::Begin begin = GENERATE(at::Begin::rebuild, at::Begin::now);
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    Diary diary;
    at::Options options = quiet("copy");
    options.begin = begin;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, options};
    pipeline.start();
    change_order(shop, 1, 5);
    pipeline.await_idle(30s);
    const Texts changes = diary.changes();
    if (begin == at::Begin::now) {
        CHECK(changes == Texts{"U1"});
    } else {
        CHECK((changes == Texts{"P1", "U1"} || changes == Texts{"P1"}));
    }
}
