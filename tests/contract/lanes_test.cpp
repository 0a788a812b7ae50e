// SPDX-License-Identifier: MIT
// L2, L3: the log is read once and dealt to lanes, which handle their parts beside each other; a
// key is in one lane, in order, also while their number changes; what a lane has committed doesn't
// come again.
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "latch.hpp"
#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

namespace lanes {

/// A change that was handled: a second time it can't be written.
struct Handled {
    std::string change;
    std::int64_t id = 0;
    double amount = 0;
};

} // namespace lanes

template <>
struct aftertouch::EntityTraits<lanes::Handled> {
    static constexpr auto key = aftertouch::key<&lanes::Handled::change>;
};

namespace {

using lanes::Handled;

/// Writes down each change in the database, and in memory what came out of order.
struct Ledger {
    std::mutex mutex{};
    std::map<std::int64_t, double> last{};
    std::vector<std::int64_t> out_of_order{};
    std::size_t calls = 0;
    std::function<void(const at::Batch<Order>&)> before{};

    OnBatch handler() {
        return [this](const at::Batch<Order>& batch, Tx& tx) {
            if (before) { before(batch); }
            for (const at::Change<Order>& change : batch.changes()) {
                if (change.operation() == Operation::present) { continue; }
                const Order& order = change.after() != nullptr ? *change.after() : *change.before();
                tx.insert(Handled{change.idempotency_key(), order.id, order.amount});
            }
            const std::lock_guard guard{mutex};
            ++calls;
            for (const at::Change<Order>& change : batch.changes()) {
                if (change.after() == nullptr) { continue; }
                double& amount = last[change.after()->id];
                if (change.after()->amount < amount) { out_of_order.push_back(change.key()); }
                amount = change.after()->amount;
            }
        };
    }
};

at::Options laned(std::size_t lanes) {
    at::Options options = quiet("copy");
    options.lanes = lanes;
    options.begin = at::Begin::now;
    return options;
}

std::int64_t handled(Database& shop) { return count(shop, "handled"); }

/// The tables, and the pipeline's place in the log.
void prepare(Database& shop) {
    create_tables(shop);
    shop.create_table<Handled>();
    Ledger none;
    ImagePipeline{at::source<Order>().images(), none.handler(), shop, laned(1)}.drain();
}

} // namespace

TEST_CASE("L2: with lanes each change is handled once, in order within its record, whatever their "
          "number is meanwhile",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    prepare(shop);
    Ledger ledger;
    at::Options options = laned(4);
    options.batch_size = 7;
    ImagePipeline pipeline{at::source<Order>().images(), ledger.handler(), shop, options};
    pipeline.start();
    constexpr std::int64_t keys = 40;
    constexpr std::int64_t rounds = 30;
    std::vector<std::thread> writers;
    for (std::int64_t writer = 0; writer < 2; ++writer) {
        writers.emplace_back([&, writer] {
            Database own{place.open()};
            for (std::int64_t id = writer; id < keys; id += 2) { add_order(own, id + 1000); }
            for (std::int64_t round = 1; round < rounds; ++round) {
                own.transaction([&](Tx& tx) {
                    for (std::int64_t id = writer; id < keys; id += 2) {
                        tx.execute(
                            "UPDATE \"order\" SET amount = amount + 1 WHERE id = $1", id + 1000);
                    }
                });
            }
        });
    }
    for (const std::size_t lanes : {1U, 6U, 2U, 64U, 3U, 4U}) {
        std::this_thread::sleep_for(20ms);
        pipeline.lanes(lanes);
    }
    for (std::thread& writer : writers) { writer.join(); }
    CHECK(pipeline.await_idle(60s) == at::Awaited::idle);
    CHECK(pipeline.errors().empty());
    CHECK(handled(shop) == keys * rounds);
    CHECK(ledger.out_of_order.empty());
    for (const auto& [id, amount] : ledger.last) {
        CHECK(amount == static_cast<double>(id + rounds - 1));
    }
}

TEST_CASE("L2: what lanes have committed doesn't come again where another one fails") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    prepare(shop);
    add_orders(shop, 1, 100);
    Ledger ledger;
    std::atomic<std::int64_t> refused{42};
    ledger.before = [&](const at::Batch<Order>& batch) {
        for (const std::int64_t id : batch.ids()) {
            if (id == refused) { throw std::runtime_error{"not this one"}; }
        }
    };
    ImagePipeline pipeline{at::source<Order>().images(), ledger.handler(), shop, laned(8)};
    CHECK(error_of([&] { pipeline.drain(); }) == "not this one");
    const std::int64_t before = handled(shop);
    CHECK(before < 100);
    change_order(shop, 42, 4200);

    SECTION("the same instance goes on") {
        refused = 0;
        pipeline.drain();
    }
    SECTION("one with another number of lanes goes on") {
        for (const std::size_t lanes : {std::size_t{3}, std::size_t{1}, std::size_t{64}}) {
            ImagePipeline next{at::source<Order>().images(), ledger.handler(), shop, laned(lanes)};
            CHECK(error_of([&] { next.drain(); }) == "not this one");
            CHECK(handled(shop) == before);
        }
        refused = 0;
        ImagePipeline{at::source<Order>().images(), ledger.handler(), shop, laned(2)}.drain();
    }
    CHECK(handled(shop) == 101);
    CHECK(ledger.out_of_order.empty());
    CHECK(ledger.last[42] == 4200);
}

TEST_CASE("L2: a rewind and a rebuild give up what lanes were dealt") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    bool broken = false;
    at::Options options = quiet("copy");
    options.lanes = 4;
    Pipeline pipeline{at::source<Order>(),
        diary.handler([&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            for (const std::int64_t id : batch.ids()) {
                if (broken && id == 5) { throw std::runtime_error{"no"}; }
            }
        }),
        shop, options};
    pipeline.drain();
    add_order(shop, 1000);
    pipeline.drain();
    const std::string place_before = pipeline.status().position;
    add_orders(shop, 1, 20);
    broken = true;
    CHECK_THROWS_AS(pipeline.drain(), std::runtime_error);
    broken = false;
    diary.clear();

    SECTION("rewind") {
        pipeline.rewind(place_before);
        pipeline.drain();
        CHECK(diary.changes().size() == 20);
    }
    SECTION("rebuild") {
        pipeline.rebuild();
        pipeline.drain();
        CHECK(diary.changes().size() >= 21);
    }
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L2, F3: lanes set records aside, keep what follows them, and take them up again") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    prepare(shop);
    Ledger ledger;
    std::atomic<bool> broken{true};
    ledger.before = [&](const at::Batch<Order>& batch) {
        for (const std::int64_t id : batch.ids()) {
            if (broken && id % 10 == 0) { throw std::runtime_error{"the index refuses it"}; }
        }
    };
    Told told;
    at::Options options = laned(4);
    options.retry = {.attempts = 2, .pause = 0ms, .then = at::Then::park};
    options.observer = told.observer();
    ImagePipeline pipeline{at::source<Order>().images(), ledger.handler(), shop, options};
    add_orders(shop, 1, 100);
    const auto settle = [&] {
        for (int tries = 0; tries < 20; ++tries) {
            try {
                pipeline.drain();
                return;
            } catch (const std::runtime_error&) {} // the first attempt of a batch
        }
    };
    settle();
    CHECK(handled(shop) == 90);
    CHECK(pipeline.dead_letters().size() == 10);
    CHECK(told.times(at::Moment::record_parked) != 0);

    // What follows waits behind it, in whichever lane, though that one would pass now.
    broken = false;
    shop.execute("UPDATE \"order\" SET amount = 1000 + id");
    settle();
    CHECK(pipeline.dead_letters().size() == 20);
    CHECK(handled(shop) == 180);

    pipeline.release();
    settle();
    CHECK(pipeline.dead_letters().empty());
    CHECK(handled(shop) == 200);
    CHECK(ledger.out_of_order.empty());
}

TEST_CASE("L2: a rebuild whose handler clears its target gives up what lanes were dealt") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<bool> broken{false};
    at::Options options = quiet("copy");
    options.lanes = 4;
    at::Pipeline pipeline{at::source<Order>(),
        at::handle(
            at::on_rebuild_started([](std::int64_t, Tx& tx) { tx.execute("DELETE FROM copy"); }),
            at::on_batch([&](const at::Batch<Order>& batch, Tx& tx) {
                copy_rows(batch, tx);
                for (const std::int64_t id : batch.ids()) {
                    if (broken && id == 5) { throw std::runtime_error{"no"}; }
                }
            })),
        shop, options};
    pipeline.drain();
    add_orders(shop, 1, 20);
    broken = true;
    CHECK_THROWS_AS(pipeline.drain(), std::runtime_error);
    broken = false;
    pipeline.rebuild();
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
    change_order(shop, 5, 55);
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L2, F3: lanes together set aside no more than there may be dead letters") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    prepare(shop);
    at::Options options = laned(8);
    options.retry = {.attempts = 1, .pause = 0ms, .then = at::Then::park};
    options.dead_letters = 3;
    ImagePipeline pipeline{at::source<Order>().images(),
        [](const at::Batch<Order>&, Tx&) { throw std::runtime_error{"no"}; }, shop, options};
    add_orders(shop, 1, 40);
    CHECK(error_of([&] { pipeline.drain(); }).find("dead letters as Options::dead_letters") !=
          std::string::npos);
    CHECK(pipeline.dead_letters().size() <= 3);
}

TEST_CASE("L2, F3: a rebuild right behind a deal discards the letters of its lanes too") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<bool> broken{true};
    at::Options options = quiet("copy");
    options.lanes = 4;
    options.retry = {.attempts = 1, .pause = 0ms, .then = at::Then::park};
    at::Pipeline pipeline{at::source<Order>(),
        at::handle(
            at::on_rebuild_started([](std::int64_t, Tx& tx) { tx.execute("DELETE FROM copy"); }),
            at::on_batch([&](const at::Batch<Order>& batch, Tx& tx) {
                copy_rows(batch, tx);
                if (broken) { throw std::runtime_error{"no"}; }
            })),
        shop, options};
    pipeline.drain();
    add_orders(shop, 1, 10);
    CHECK(pipeline.run_once());
    CHECK(pipeline.dead_letters().size() == 10);
    broken = false;
    pipeline.rebuild();
    pipeline.drain();
    CHECK(pipeline.dead_letters().empty());
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L2: whoever has moved the checkpoint on keeps the lanes of others from committing") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    if (fixture::writers_wait) { return; } // there a batch keeps others out
    const Place place{kind};
    Database shop{place.open()};
    prepare(shop);
    // Counts how often each row's change was handled, for good.
    const OnBatch counting = [](const at::Batch<Order>& batch, Tx& tx) {
        for (const std::int64_t id : batch.ids()) {
            tx.execute("INSERT INTO copy (id, customer, amount) VALUES ($1, '', 1) ON CONFLICT "
                       "(id) DO UPDATE SET amount = copy.amount + 1",
                id);
        }
    };
    Database other{place.open()};
    std::atomic<int> calls_of_other{0};
    ImagePipeline faster{at::source<Order>().images(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            ++calls_of_other;
            counting(batch, tx);
        },
        other, laned(3)};
    std::atomic<bool> first{true};
    Latch overtaken;
    ImagePipeline pipeline{at::source<Order>().images(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            if (first.exchange(false)) {
                faster.drain();
                // Its lanes have more in hand by then than what these are about to commit.
                other.execute("UPDATE \"order\" SET amount = 0");
                faster.drain();
                overtaken.open();
            } else {
                overtaken.wait();
            }
            counting(batch, tx);
        },
        shop, laned(8)};
    add_orders(shop, 1, 100);
    pipeline.drain();
    CHECK(calls_of_other == 11); // 8 lanes of the deal that it found, 3 of its own
    add_orders(shop, 101, 150);
    pipeline.drain();
    CHECK(count(shop, "copy") == 150);
    for (const Copy& row : copies(shop)) { CHECK(row.amount == (row.id <= 100 ? 2 : 1)); }
}

TEST_CASE("L3: what comes next is read while lanes work, and given up where a rewind comes between",
    "[threads]") {
    if (!aftertouch::detail::has_lanes<Database::Session>) { return; }
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    prepare(shop);
    add_orders(shop, 1, 60);
    constexpr int a_deal = 10; // at most
    std::atomic<int> read{0};
    Latch ahead;
    const auto source = at::source<Order>().images().filter([&](const at::Change<Order>&) {
        if (++read == a_deal + 1) { ahead.open(); }
        return true;
    });
    const bool rewinds = GENERATE(false, true);
    std::mutex mutex;
    std::map<std::int64_t, int> times;
    Latch first;
    Latch go_on;
    const OnBatch handler = [&](const at::Batch<Order>& batch, Tx&) {
        {
            const std::lock_guard guard{mutex};
            for (const at::Change<Order>& change : batch.changes()) { ++times[change.after()->id]; }
        }
        first.open();
        go_on.wait();
    };
    at::Options options = laned(2);
    options.batch_size = a_deal / 2;
    ImagePipeline pipeline{source, handler, shop, options};
    pipeline.start();
    first.wait();
    ahead.wait();
    if (rewinds) { pipeline.rewind(at::Timestamp{}); }
    go_on.open();
    REQUIRE(pipeline.await_idle(30s) == at::Awaited::idle);
    CHECK(times.size() == 60);
    int twice = 0;
    for (const auto& [id, count] : times) { twice += count - 1; }
    CHECK((rewinds ? twice > 0 && twice <= a_deal : twice == 0));
}

TEST_CASE("L3, F3: what was read ahead waits behind a record that is set aside meanwhile") {
    if (!aftertouch::detail::has_lanes<Database::Session>) { return; }
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    prepare(shop);
    add_orders(shop, 1, 10);
    change_order(shop, 1, 1000);
    std::atomic<bool> broken{true};
    Latch ahead;
    const auto source = at::source<Order>().images().filter([&](const at::Change<Order>& change) {
        if (change.operation() == Operation::updated) { ahead.open(); }
        return true;
    });
    Ledger ledger;
    ledger.before = [&](const at::Batch<Order>& batch) {
        ahead.wait();
        for (const at::Change<Order>& change : batch.changes()) {
            const bool is_first = change.operation() == Operation::inserted;
            if (broken && is_first && change.key() == 1) { throw std::runtime_error{"not yet"}; }
        }
    };
    at::Options options = laned(2);
    options.batch_size = 5;
    options.retry = {.attempts = 1, .then = at::Then::park};
    ImagePipeline pipeline{source, ledger.handler(), shop, options};
    pipeline.drain();
    CHECK(pipeline.dead_letters().size() == 2);
    CHECK(handled(shop) == 9);
    broken = false;
    pipeline.release();
    pipeline.drain();
    CHECK(handled(shop) == 11);
    CHECK(ledger.out_of_order.empty());
}

TEST_CASE("C7, L3: what was read ahead waits where the log is gone, until it was made again") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = quiet("copy");
    options.lanes = 2;
    options.batch_size = 5;
    Pipeline pipeline{at::source<Order>(), copy_rows, shop, options};
    pipeline.drain();
    add_orders(shop, 1, 60);
    CHECK(pipeline.run_once());
    fixture::drop_log(shop);
    std::this_thread::sleep_for(1100ms); // it looks once a second
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L2: a rebuild that can't begin behind a lane's failure says why") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = quiet("copy");
    options.lanes = 4;
    bool broken = false;
    bool broken_start = false;
    const auto begins = [&](std::int64_t, Tx& tx) {
        if (broken_start) { throw std::runtime_error{"not now"}; }
        tx.execute("DELETE FROM copy");
    };
    const auto copy = [&](const at::Batch<Order>& batch, Tx& tx) {
        for (const std::int64_t id : batch.ids()) {
            if (broken && id == 5) { throw std::runtime_error{"not this one"}; }
        }
        copy_rows(batch, tx);
    };
    at::Pipeline pipeline{at::source<Order>(),
        at::handle(at::on_rebuild_started(begins), at::on_batch(copy)), shop, options};
    pipeline.drain();
    add_orders(shop, 1, 20);
    broken = true;
    CHECK(error_of([&] { pipeline.drain(); }) == "not this one");
    broken_start = true;
    pipeline.rebuild();
    CHECK(error_of([&] { pipeline.drain(); }) == "not now");
    broken = broken_start = false;
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("L2: lanes is 1 to 64") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    for (const std::size_t lanes : {std::size_t{0}, std::size_t{65}}) {
        CHECK(error_of([&] {
            ImagePipeline{at::source<Order>().images(), OnBatch{copy_rows}, shop, laned(lanes)};
        }) == "pipeline \"copy\": lanes is 1 to 64");
        ImagePipeline pipeline{at::source<Order>().images(), OnBatch{copy_rows}, shop, laned(2)};
        CHECK(error_of([&] { pipeline.lanes(lanes); }) == "pipeline \"copy\": lanes is 1 to 64");
    }
}
