// SPDX-License-Identifier: MIT
// Several instances of one pipeline: one runs it, the others wait for its lease (L1).
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "latch.hpp"
#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

namespace {

// Long enough that nothing ends by itself while a test looks.
constexpr std::chrono::milliseconds long_lease = 1h;

at::Options leased(std::chrono::milliseconds lease = long_lease, std::string instance = {}) {
    at::Options options = quiet("copy");
    options.lease = lease;
    options.instance = std::move(instance);
    return options;
}

// A handler that fails while `broken`: its instance takes the lease and moves nothing on.
OnBatch copying_unless(const bool& broken) {
    return [&broken](const at::Batch<Order>& batch, Tx& tx) {
        if (broken) { throw std::runtime_error{"no"}; }
        copy_rows(batch, tx);
    };
}

// The lease's holder, as everybody sees it; empty for none.
std::string holder(Database& database) {
    const auto found = database.query(at::type<std::string>,
        "SELECT holder FROM " + fixture::own_table("lease") + " WHERE pipeline = 'copy'");
    return found.empty() ? std::string{} : found.front();
}

// As if time had passed without a renewal.
void let_lease_end(Database& database) {
    database.execute("UPDATE " + fixture::own_table("lease") +
                     " SET until = " + std::string{fixture::long_ago} + " WHERE pipeline = 'copy'");
}

bool is_refused(Pipeline& pipeline) {
    try {
        pipeline.run_once();
    } catch (const at::Error& error) { return error.code() == at::Errc::busy; }
    return false;
}

} // namespace

TEST_CASE("L1: while one instance holds the lease another one hands over nothing, and says who") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    Diary of_one;
    Diary of_two;
    Pipeline one{at::source<Order>(), of_one.handler(copy_rows), shop, leased(long_lease, "one")};
    Pipeline two{at::source<Order>(), of_two.handler(copy_rows), shop, leased(long_lease, "two")};
    one.drain();
    add_order(shop, 2);
    try {
        two.run_once();
        FAIL("it ran");
    } catch (const at::Error& error) {
        CHECK(error.code() == at::Errc::busy);
        CHECK_THAT(error.what(), Catch::Contains("pipeline copy is run by one ") &&
                                     Catch::Contains(": one instance has it at a time"));
    }
    CHECK(of_two.calls().empty());
    CHECK(two.status().lease_holder == one.status().lease_holder);
    CHECK(one.status().lease_holder == holder(shop));
    CHECK_THAT(holder(shop), Catch::StartsWith("one "));
    one.drain();
    CHECK(copies(shop) == orders(shop));
    CHECK(of_one.changes() == Texts{"P1", "I2"});

    one.stop(); // it was driven by hand, and gives the lease back all the same
    CHECK(holder(shop).empty());
    add_order(shop, 3);
    CHECK(two.drain() == 1);
    CHECK(of_two.changes() == Texts{"I3"});
    CHECK(is_refused(one));
}

TEST_CASE("L1: an instance that stands by takes over when the other one stops", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary of_one;
    Diary of_two;
    Told moments;
    Pipeline one{at::source<Order>(), of_one.handler(copy_rows), shop, leased(200ms)};
    at::Options options = leased(200ms);
    options.observer = moments.observer();
    Pipeline two{at::source<Order>(), of_two.handler(copy_rows), shop, options};
    one.start();
    two.start();
    REQUIRE(comes_true([&] { return two.status().state == at::State::standby; }));
    add_order(shop, 1);
    REQUIRE(one.await_idle(20s) == at::Awaited::idle);
    std::this_thread::sleep_for(600ms); // several times the lease: it is renewed
    CHECK(two.status().state == at::State::standby);
    CHECK(!two.status().position.empty()); // the holder's, as it is committed
    CHECK(two.status().lag.has_value());
    one.stop();
    add_order(shop, 2);
    REQUIRE(two.await_idle(20s) == at::Awaited::idle);
    CHECK(copies(shop) == orders(shop));
    CHECK(of_one.changes() == Texts{"I1"});
    CHECK(of_two.changes() == Texts{"I2"});
    two.stop();
    CHECK(holder(shop).empty());
    CHECK(moments.times(at::Moment::standby) == 1);
    CHECK(moments.times(at::Moment::lease_taken) == 1);
}

TEST_CASE("L1: an instance that is paused leaves the lease to others", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary of_one;
    Diary of_two;
    Diary of_three;
    Pipeline one{at::source<Order>(), of_one.handler(copy_rows), shop, leased(200ms)};
    Pipeline two{at::source<Order>(), of_two.handler(copy_rows), shop, leased(200ms)};
    Pipeline three{at::source<Order>(), of_three.handler(copy_rows), shop, leased(200ms)};
    one.start();
    two.pause();
    three.start();
    REQUIRE(comes_true([&] { return three.status().state == at::State::standby; }));
    three.pause();
    two.start();
    for (Pipeline* const other : {&two, &three}) {
        REQUIRE(comes_true([&] { return other->status().state == at::State::paused; }));
    }
    one.stop();
    std::this_thread::sleep_for(400ms);
    CHECK(holder(shop).empty());
    add_order(shop, 1);
    three.resume();
    REQUIRE(three.await_idle(20s) == at::Awaited::idle);
    CHECK(of_two.changes().empty());
    CHECK(of_three.changes() == Texts{"I1"});
    three.stop();
    two.resume();
    add_order(shop, 2);
    REQUIRE(two.await_idle(20s) == at::Awaited::idle);
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L1: a lease that isn't renewed goes to another instance, and the first is fenced") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary of_one;
    Diary of_two;
    Pipeline one{at::source<Order>(), of_one.handler(copy_rows), shop, leased()};
    Pipeline two{at::source<Order>(), of_two.handler(copy_rows), shop, leased()};
    one.drain();
    let_lease_end(shop);
    // Nobody has taken it: it is the first one's still.
    add_order(shop, 1);
    CHECK(one.drain() == 1);
    let_lease_end(shop);
    add_order(shop, 2);
    CHECK(two.drain() == 1);
    add_order(shop, 3);
    const std::int64_t version = fixture::checkpoint_version(shop, "copy");
    CHECK(is_refused(one));
    CHECK(fixture::checkpoint_version(shop, "copy") == version);
    CHECK(two.drain() == 1);
    CHECK(of_two.changes() == Texts{"I2", "I3"});
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L1: nothing of a batch stays whose lease was taken meanwhile") {
    if (fixture::writers_wait) { return; } // then nobody can take it
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    Database beside{place.open()};
    create_tables(shop);
    bool gets_nowhere = true;
    Pipeline two{at::source<Order>(), copying_unless(gets_nowhere), shop, leased()};
    Told told;
    at::Options options = leased();
    options.observer = told.observer();
    bool is_overtaken = false;
    Pipeline one{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            if (is_overtaken) { return; }
            let_lease_end(beside);
            // It moves nothing on: only the lease is another one's.
            std::thread{[&] { CHECK_THROWS(two.run_once()); }}.join();
            is_overtaken = true;
        },
        shop, options};
    SECTION("while it follows") {
        is_overtaken = true;
        one.drain();
        is_overtaken = false;
    }
    SECTION("in its first rebuild") { add_order(shop, 7); }
    add_order(shop, 1);
    CHECK_THROWS_AS(one.drain(), at::Error);
    CHECK(is_overtaken);
    CHECK(copies(shop).empty());
    CHECK(told.times(at::Moment::batch_undone) == 1);
    CHECK(is_refused(one));
    CHECK(told.times(at::Moment::lease_lost) == 1);
    gets_nowhere = false;
    two.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L1: a lease that is taken before the checkpoint is read fences too") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    bool gets_nowhere = true;
    Pipeline two{at::source<Order>(), copying_unless(gets_nowhere), shop, leased()};
    bool is_overtaken = false;
    at::Options options = leased();
    options.observer = [&](const at::Report& report) {
        if (report.moment != at::Moment::lease_taken || is_overtaken) { return; }
        is_overtaken = true;
        std::thread{[&] {
            let_lease_end(shop);
            CHECK_THROWS(two.drain());
        }}.join();
    };
    Diary diary;
    Pipeline one{at::source<Order>(), diary.handler(copy_rows), shop, options};
    add_order(shop, 1);
    CHECK(is_refused(one));
    CHECK(is_overtaken);
    CHECK(diary.calls().empty());
    CHECK(copies(shop).empty());
    gets_nowhere = false;
    two.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L1: whoever takes over before there is a checkpoint fences the first as well") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::install(shop, at::source<Order>());
    add_order(shop, 1);
    Diary diary;
    Pipeline one{at::source<Order>(), diary.handler(copy_rows), shop, leased()};
    at::Options later = leased();
    later.begin = at::Begin::now;
    Pipeline two{at::source<Order>(), diary.handler(copy_rows), shop, later};
    // An instance that has taken the lease and got no further.
    shop.execute("INSERT INTO " + fixture::own_table("lease") +
                 " (pipeline, holder, until) VALUES ('copy', 'ghost', " +
                 std::string{fixture::long_ago} + ")");
    one.run_once();
    CHECK(fixture::checkpoint_version(shop, "copy") >= 2); // the taking, and the start
    let_lease_end(shop);
    CHECK(two.drain() == 1); // it goes on with the rebuild
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L1: a handler that takes longer than the lease keeps it", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary of_one;
    Diary of_two;
    std::atomic<bool> slow{false};
    Pipeline one{at::source<Order>(), of_one.handler([&](const at::Batch<Order>& batch, Tx& tx) {
                     copy_rows(batch, tx);
                     if (slow.exchange(false)) { std::this_thread::sleep_for(1s); }
                     copy_rows(batch, tx); // on a connection that is there still
                 }),
        shop, leased(200ms)};
    Pipeline two{at::source<Order>(), of_two.handler(copy_rows), shop, leased(200ms)};
    one.start();
    REQUIRE(one.await_idle(20s) == at::Awaited::idle);
    two.start();
    slow = true;
    add_order(shop, 1);
    REQUIRE(one.await_idle(20s) == at::Awaited::idle);
    CHECK(of_one.changes() == Texts{"I1"});
    CHECK(of_two.calls().empty());
    CHECK(copies(shop) == orders(shop));
    CHECK(one.errors().empty());
}

TEST_CASE("L1: a lease that is lost while a handler runs ends what it waits for", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::kinds_with_free_readers()));
    if (fixture::writers_wait) { return; }
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Told moments;
    at::Options options = leased(200ms);
    options.lanes = GENERATE(as<std::size_t>{}, 1, 4);
    options.observer = moments.observer();
    std::atomic<bool> waits{true};
    Latch inside;
    Pipeline one{at::source<Order>(),
        [&](const at::Batch<Order>&, Tx& tx) {
            inside.open();
            if (waits) { tx.execute(fixture::endless); }
        },
        shop, options};
    one.start();
    add_order(shop, 1);
    inside.wait();
    shop.execute("UPDATE " + fixture::own_table("lease") +
                 " SET holder = 'ghost', until = " + std::string{fixture::far_off});
    REQUIRE(comes_true([&] { return one.status().state == at::State::standby; }));
    CHECK(moments.times(at::Moment::lease_lost) == 1);
    CHECK(one.status().lease_holder == "ghost");
    waits = false;
    let_lease_end(shop);
    REQUIRE(one.await_idle(20s) == at::Awaited::idle);
    CHECK(one.errors().empty());
    CHECK(moments.times(at::Moment::lease_taken) == 2);
}

TEST_CASE("L1: a pipeline that failed lets another instance try", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary of_two;
    Pipeline one{at::source<Order>(),
        [](const at::Batch<Order>&, Tx&) { throw std::runtime_error{"no"}; }, shop, leased()};
    Pipeline two{at::source<Order>(), of_two.handler(copy_rows), shop, leased()};
    one.start();
    add_order(shop, 1);
    CHECK(one.await_idle(20s) == at::Awaited::stopped);
    two.start();
    REQUIRE(two.await_idle(20s) == at::Awaited::idle);
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L1: a start that fails behind the taking gives the lease back") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::install(shop, at::source<Order>());
    shop.execute("DROP TABLE " + fixture::own_table("dead_letter"));
    at::Options options = leased();
    options.schema = at::Schema::none;
    Pipeline pipeline{at::source<Order>(), copy_rows, shop, options};
    CHECK_THROWS_AS(pipeline.start(), at::Error);
    CHECK(holder(shop).empty());
    CHECK(pipeline.status().lease_holder.empty());
}

TEST_CASE("L1: leases that make no sense are refused") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    create_tables(shop);
    for (const auto lease : std::vector<std::chrono::milliseconds>{-1ms, 99ms, 25h}) {
        CHECK_THROWS_WITH((Pipeline{at::source<Order>(), copy_rows, shop, leased(lease)}),
            "pipeline \"copy\": lease is 100 ms to a day, or 0 for none");
    }
}
