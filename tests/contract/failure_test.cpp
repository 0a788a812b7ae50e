// SPDX-License-Identifier: MIT
// F1: a handler that throws stops the pipeline before that batch; start() hands it over again.
#include <stdexcept>

#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

namespace {

/// A handler that throws while it is told to.
struct Fallible {
    Diary diary;
    std::atomic<bool> broken{false};

    OnBatch handler() {
        return diary.handler([this](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            if (broken) { throw std::runtime_error{"the disk of the target is full"}; }
        });
    }
};

} // namespace

TEST_CASE("F1: a failure stops the pipeline, is kept, and is told once", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Fallible target;
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Pipeline pipeline{at::source<Order>(), target.handler(), shop, options};
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    target.broken = true;
    add_order(shop, 1);
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::stopped);

    CHECK(pipeline.stopped());
    CHECK(pipeline.idle());
    CHECK(pipeline.status().state == at::State::failed);
    CHECK(pipeline.status().failures == 1);
    REQUIRE(pipeline.errors().size() == 1);
    const at::Failure failure = pipeline.errors().front();
    CHECK(failure.message == "the disk of the target is full");
    REQUIRE(target.diary.calls().size() == 1);
    CHECK(failure.event_id == target.diary.calls().front().event_id);
    CHECK_THROWS_AS(std::rethrow_exception(failure.cause), std::runtime_error);
    CHECK(failure.at <= std::chrono::system_clock::now());
    CHECK(failure.at > std::chrono::system_clock::now() - 1min);
    CHECK(told.times(at::Moment::pipeline_failed) == 1);

    // Nothing is handed over until start(), however much is written and asked.
    add_order(shop, 2);
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    CHECK(target.diary.calls().size() == 1);
    CHECK(copies(shop).empty());

    // Then those changes again, first, joined by newer ones.
    target.broken = false;
    target.diary.clear();
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(target.diary.changes() == Texts{"I1", "I2"});
    CHECK(copies(shop) == orders(shop));
    CHECK(told.times(at::Moment::pipeline_failed) == 1);
    CHECK(pipeline.errors().size() == 1);
}

TEST_CASE("F1: the report of a failure names pipeline, event and cause") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    create_tables(shop);
    Fallible target;
    target.broken = true;
    std::string line;
    std::string event;
    std::string cause;
    at::Options options = quiet("copy");
    options.observer = [&](const at::Report& report) {
        if (report.moment != at::Moment::pipeline_failed) { return; }
        line = log_line(report);
        event = report.event_id;
        cause = error_of([&] { std::rethrow_exception(report.cause); });
    };
    Pipeline pipeline{at::source<Order>(), target.handler(), shop, options};
    add_order(shop, 1);
    CHECK_THROWS(pipeline.drain());
    CHECK(event == target.diary.calls().front().event_id);
    CHECK(cause == "the disk of the target is full");
    CHECK(line ==
          "pipeline.failed pipeline=copy event=" + event + " : the disk of the target is full");
}

TEST_CASE("F1: attempts are counted in the database, and end with success") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Fallible target;
    {
        Pipeline pipeline{at::source<Order>(), target.handler(), shop, quiet("copy")};
        pipeline.drain();
        add_order(shop, 1);
        target.broken = true;
        for (int i = 0; i < 3; ++i) { CHECK_THROWS(pipeline.drain()); }
    }
    Pipeline pipeline{at::source<Order>(), target.handler(), shop, quiet("copy")};
    CHECK_THROWS(pipeline.drain());
    target.broken = false;
    pipeline.drain();
    add_order(shop, 2);
    pipeline.drain();
    std::vector<std::int64_t> attempts;
    for (const Call& call : target.diary.calls()) { attempts.push_back(call.attempts); }
    CHECK(attempts == std::vector<std::int64_t>{0, 1, 2, 3, 4, 0});
}

TEST_CASE("F1: the newest twenty errors are kept, oldest first") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    create_tables(shop);
    int number = 0;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx&) { throw std::runtime_error{std::to_string(++number)}; },
        shop, quiet("copy")};
    add_order(shop, 1);
    for (int i = 0; i < 23; ++i) { CHECK_THROWS(pipeline.drain()); }
    const std::vector<at::Failure> errors = pipeline.errors();
    REQUIRE(errors.size() == 20);
    CHECK(errors.front().message == "4");
    CHECK(errors.back().message == "23");
    CHECK(pipeline.status().failures == 23);
}

TEST_CASE("F1: whatever a handler throws is a failure of the handler") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::function<void()> fail;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx&) {
            if (fail) { fail(); }
        },
        shop, quiet("copy")};
    add_order(shop, 1);
    fail = [] { throw 42; };
    CHECK_THROWS_AS(pipeline.drain(), int);
    // An error that would pass by itself if the pipeline had met it: the handler must say so
    // itself.
    fail = [] { throw at::Error{at::Errc::busy, "my own queue is full"}; };
    CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "my own queue is full");
    fail = [] { throw at::Error{at::Errc::connection_lost, "my own broker is gone"}; };
    CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "my own broker is gone");
    fail = {};
    REQUIRE(pipeline.errors().size() == 3);
    CHECK(pipeline.errors()[0].message.find("no std::exception") != std::string::npos);
    CHECK(pipeline.drain() == 1);
}

TEST_CASE(
    "F1: a handler's retryable error doesn't make a running pipeline try for ever", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<int> calls{0};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx&) {
            ++calls;
            throw at::Error{at::Errc::busy, "my own queue is full"};
        },
        shop, quiet("copy")};
    pipeline.start();
    add_order(shop, 1);
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    CHECK(calls == 1);
}

namespace {

/// Is told of rebuilds, and may refuse them.
struct Rebuilt {
    std::atomic<int>* told;
    std::atomic<bool>* broken;

    void operator()(const at::Batch<Order>&, Tx&) const {}
    void rebuild_started(std::int64_t, Tx&) const {
        ++*told;
        if (*broken) { throw at::Error{at::Errc::busy, "my own queue is full"}; }
    }
    void rebuild_finished(std::int64_t, Tx&) const {}
};

} // namespace

TEST_CASE("F1: what rebuild_started throws is a failure of the handler too", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<int> told{0};
    std::atomic<bool> broken{false};
    at::Pipeline pipeline{at::source<Order>(), Rebuilt{&told, &broken}, shop, quiet("copy")};
    pipeline.start();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    broken = true;
    pipeline.rebuild();
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    CHECK(told == 2);
    REQUIRE(pipeline.errors().size() == 1);
    CHECK(pipeline.errors().front().message == "my own queue is full");
    broken = false;
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(told == 3);
}

TEST_CASE("F1: start throws what installing finds, and keeps it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, options};
    CHECK_THROWS_AS(pipeline.start(), at::Error); // there is no table
    CHECK(pipeline.stopped());
    CHECK(pipeline.status().state == at::State::failed);
    CHECK(pipeline.errors().size() == 1);
    CHECK(told.times(at::Moment::pipeline_failed) == 1);
    CHECK(told.times(at::Moment::started) == 0);

    create_tables(shop);
    add_order(shop, 1);
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(told.times(at::Moment::started) == 1);
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F1: a handler that writes to a table that isn't there is told what makes it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    shop.create_table<Order>();
    add_order(shop, 1);
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "create_table<T>()");
    shop.create_table<Copy>();
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F1: an observer that throws stops nothing") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = quiet("copy");
    options.observer = [](const at::Report&) { throw std::runtime_error{"the logger is broken"}; };
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, options};
    add_order(shop, 1);
    CHECK_NOTHROW(pipeline.drain());
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F1: a row that the struct can't hold fails its batch, with table and column") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    fixture::spoil_order(shop, 1);
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "order.customer");
    CHECK(copies(shop).empty());
    fixture::mend_order(shop, 1);
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}
