// SPDX-License-Identifier: MIT
// PT10: what a transaction marks as of low priority comes when nothing else waits, from a place of
// its own in the log.
#include <random>

#include "shop.hpp"

using namespace contract;

namespace {

at::Options one_by_one(std::string name) {
    at::Options options = quiet(std::move(name));
    options.batch_size = 1;
    return options;
}

Touches heeding() { return at::source<Order>().low_priority(); }

void add_marked(Database& shop, std::int64_t from, std::int64_t to) {
    shop.transaction([&](Tx& tx) {
        fixture::begin_low_priority(tx);
        for (std::int64_t id = from; id <= to; ++id) { tx.insert(Order{id, "job", 0}); }
        fixture::end_low_priority(tx);
    });
}

/// Makes its target anew with each rebuild.
struct Anew {
    Texts* seen;
    void rebuild_started(std::int64_t, Tx&) { seen->push_back("began"); }
    void operator()(const at::Batch<Order>& batch, Tx&) {
        for (const auto& change : batch.changes()) { seen->push_back(text_of(change)); }
    }
};

} // namespace

TEST_CASE("PT10: what is marked as of low priority comes behind all that isn't") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    at::Options options = quiet("copy");
    options.batch_size = 3;
    const auto make = [&] {
        return std::make_unique<Pipeline>(heeding(), diary.handler(copy_rows), shop, options);
    };
    auto pipeline = make();
    pipeline->drain();
    diary.clear();

    add_marked(shop, 101, 107);
    add_orders(shop, 1, 4);
    CHECK(pipeline->status().lag->records == 11);
    CHECK(pipeline->status().lag->low_priority == 7);
    CHECK(!pipeline->status().low_position.empty());
    for (int batch = 0; batch < 3; ++batch) { CHECK(pipeline->run_once()); }
    CHECK(pipeline->status().lag->records == 4);
    CHECK(pipeline->status().lag->low_priority == 4);
    CHECK(diary.changes() == Texts{"I1", "I2", "I3", "I4", "I101", "I102", "I103"});
    CHECK(!diary.calls().back().replay);

    // Another object goes on where this one was, and what comes meanwhile goes first.
    diary.clear();
    pipeline = make();
    add_order(shop, 5);
    CHECK(pipeline->run_once());
    CHECK(pipeline->status().state == at::State::replaying);
    pipeline->drain();
    CHECK(pipeline->status().state == at::State::following);
    CHECK(diary.changes() == Texts{"I5", "I104", "I105", "I106", "I107"});
    CHECK(diary.calls().back().replay);
    CHECK(pipeline->status().lag->records == 0);
    CHECK(copies(shop) == orders(shop));
    CHECK(pipeline->drain() == 0);
}

TEST_CASE("PT10: what is marked waits for twenty other batches at most") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{heeding(), diary.handler(copy_rows), shop, one_by_one("copy")};
    pipeline.drain();
    diary.clear();
    add_marked(shop, 101, 103);
    add_orders(shop, 1, 45);
    pipeline.drain();
    CHECK(diary.changes().size() == 48);
    Texts marked;
    std::vector<std::size_t> between;
    std::size_t others = 0;
    for (const std::string& change : diary.changes()) {
        if (change.size() == 4) {
            between.push_back(others);
            marked.push_back(change);
            others = 0;
        } else {
            ++others;
        }
    }
    CHECK(marked == Texts{"I101", "I102", "I103"});
    CHECK(between.at(0) <= 20);
    CHECK(between.at(1) == 20); // and not sooner
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("PT10: a part of a transaction is marked; one that rolls back marks nothing") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{heeding(), diary.handler(copy_rows), shop, one_by_one("copy")};
    pipeline.drain();
    diary.clear();
    shop.transaction([&](Tx& tx) {
        tx.insert(Order{1, "ada", 1});
        fixture::begin_low_priority(tx);
        tx.insert(Order{2, "job", 1});
        tx.execute("UPDATE \"order\" SET amount = 2");
        fixture::end_low_priority(tx);
        tx.insert(Order{3, "ada", 1});
    });
    CHECK_THROWS(shop.transaction([&](Tx& tx) {
        fixture::begin_low_priority(tx);
        tx.insert(Order{4, "job", 1});
        throw std::runtime_error{"no"};
    }));
    add_order(shop, 5);
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I1", "I3", "I5", "I2", "U1", "U2"});
    CHECK(copies(shop) == orders(shop));

    // Changes of the key too, and deletions.
    diary.clear();
    shop.transaction([&](Tx& tx) {
        fixture::begin_low_priority(tx);
        tx.execute("UPDATE \"order\" SET id = 9 WHERE id = 1");
        tx.execute("DELETE FROM \"order\" WHERE id = 2");
        fixture::end_low_priority(tx);
    });
    change_order(shop, 9, 7);
    pipeline.drain();
    CHECK(diary.changes() == Texts{"U9", "D1", "I9", "D2"});
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("PT10, K3: a batch of marked changes is bounded as any other") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    at::Options options = quiet("copy");
    options.batch_bytes = 1;
    Pipeline pipeline{heeding(), diary.handler(copy_rows), shop, options};
    pipeline.drain();
    add_marked(shop, 1, 3);
    CHECK(pipeline.drain() == 3);
    CHECK(diary.changes() == Texts{"I1", "I2", "I3"});
}

TEST_CASE("PT10, F3: a marked record that fails is set aside, whatever else comes meanwhile") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = one_by_one("copy");
    options.retry = {.attempts = 3, .pause = std::chrono::milliseconds{1}, .then = at::Then::park};
    std::int64_t tries = 0;
    Pipeline pipeline{heeding(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            const bool poison = batch.ids().front() == 101;
            if (poison && ++tries <= 9) { throw std::runtime_error{"poison"}; }
        },
        shop, options};
    pipeline.drain();
    add_marked(shop, 101, 102);
    std::int64_t next = 1;
    // Others go on between its attempts; twenty of them, and it is tried again.
    for (int turn = 0; turn < 70; ++turn) {
        try {
            pipeline.run_once(); // first the poison, alone
        } catch (const std::exception&) {}
        add_order(shop, next++);
        if (turn == 25) { CHECK(tries == 2); }
    }
    pipeline.drain();
    CHECK(tries == 3);
    CHECK(pipeline.dead_letters().size() == 1);
    CHECK(count(shop, "copy") == next - 1 + 1);
    tries = 10;
    CHECK(pipeline.release(std::int64_t{101}) == 1);
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("PT10: a rebuild hands marked changes over with its pages, and pruning waits for them") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{heeding(), diary.handler(copy_rows), shop, one_by_one("copy")};
    pipeline.drain();
    add_marked(shop, 101, 102);
    add_orders(shop, 1, 3);
    for (int batch = 0; batch < 3; ++batch) { pipeline.run_once(); }
    shop.prune();
    diary.clear();
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I101", "I102"});
    add_order(shop, 4); // the newest row may stay
    pipeline.drain();
    static_cast<void>(shop.prune());
    CHECK(fixture::log_size(shop) <= 1);

    // No page tells of a row that is gone: a handler that only copies needs the marked deletion
    // too.
    add_marked(shop, 103, 104);
    shop.transaction([&](Tx& tx) {
        fixture::begin_low_priority(tx);
        tx.erase(at::type<Order>, std::int64_t{101});
        fixture::end_low_priority(tx);
    });
    pipeline.rebuild();
    diary.clear();
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
    add_marked(shop, 105, 105);
    const std::string behind = pipeline.status().position;
    pipeline.drain();
    diary.clear();
    pipeline.rewind(behind);
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I105"});
}

TEST_CASE("PT10, P5: where marked changes were pruned, a rebuild follows") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    auto pipeline = std::make_unique<Pipeline>(
        heeding().named("orders"), diary.handler(copy_rows), shop, one_by_one("copy"));
    pipeline->drain();
    add_marked(shop, 101, 102);
    add_order(shop, 1);
    CHECK(pipeline->run_once());
    fixture::prune(shop, "orders"); // by hand, as far as the others are
    const bool new_object = GENERATE(false, true);
    if (new_object) {
        pipeline = std::make_unique<Pipeline>(
            heeding().named("orders"), diary.handler(copy_rows), shop, one_by_one("copy"));
    }
    pipeline->drain();
    CHECK(diary.calls().back().rebuilt);
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("PT10: the marks are looked after like the rest of a capture, and go with it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline pipeline{heeding(), copy_rows, shop, quiet("copy")};
    Pipeline other{at::source<Order>(), [](const at::Batch<Order>&, Tx&) {}, shop, quiet("other")};
    pipeline.drain();
    other.drain();
    CHECK(at::verify(shop, heeding()).empty());
    add_marked(shop, 1, 3);
    CHECK(other.drain() == 1); // knows no priorities
    CHECK(fixture::log_size(shop) == 6);
    at::remove(shop, heeding());
    CHECK(fixture::log_size(shop) <= 4); // SQLite keeps the highest number
    add_orders(shop, 4, 5);
    CHECK(other.drain() == 1);
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
    at::remove(shop, heeding());
    at::remove(shop, at::source<Order>());
    add_orders(shop, 6, 6);
}

TEST_CASE("PT10: images come in their order, so their captures know no priorities") {
    CHECK(error_of([] { static_cast<void>(at::source<Order>().low_priority().images()); }) ==
          "the source of order has images() and low_priority(), which is for touches, since the "
          "images of a record come in their order: leave one of the two out");
}

TEST_CASE("PT10: random writes of both priorities, lanes and restarts: the copy ends as its source",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const unsigned seed = GENERATE(1U, 2U, 3U);
    INFO(fixture::name(kind) << ", seed " << seed);
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::mt19937 random{seed};
    const auto roll = [&](std::uint32_t sides) { return random() % sides; };
    at::Options options = quiet("copy");
    options.batch_size = 7;
    std::unique_ptr<Pipeline> pipeline;
    const auto restart = [&] {
        pipeline.reset();
        options.lanes = 1 + roll(3);
        pipeline = std::make_unique<Pipeline>(heeding(), copy_rows, shop, options);
        pipeline->start();
    };
    restart();
    for (int turn = 0; turn < 120; ++turn) {
        shop.transaction([&](Tx& tx) {
            const bool marked = roll(3) == 0;
            if (marked) { fixture::begin_low_priority(tx); }
            for (auto writes = 1 + roll(12); writes > 0; --writes) {
                const auto id = static_cast<std::int64_t>(roll(40));
                if (roll(4) == 0) {
                    tx.erase(at::type<Order>, id);
                } else {
                    tx.upsert(Order{id, "ada", static_cast<double>(turn)});
                }
            }
            if (marked) { fixture::end_low_priority(tx); }
        });
        if (roll(20) == 0) { restart(); }
        if (roll(15) == 0) { static_cast<void>(shop.prune()); }
    }
    REQUIRE(pipeline->await_idle(std::chrono::seconds{60}) == at::Awaited::idle);
    CHECK(copies(shop) == orders(shop));
    CHECK(pipeline->status().lag->records == 0);
    CHECK(pipeline->errors().empty());
}

TEST_CASE("PT10, R4: a rewind steps over nothing that isn't handled, of either kind") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::string event;
    Texts seen;
    Pipeline pipeline{heeding(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            event = batch.event_id();
            seen.push_back(text_of(batch.changes().front()));
        },
        shop, one_by_one("copy")};
    pipeline.drain();
    SECTION("to a marked batch, while others wait in front of it") {
        add_orders(shop, 1, 40);
        add_marked(shop, 1000, 1000);
        while (seen.empty() || seen.back() != "I1000") { REQUIRE(pipeline.run_once()); }
    }
    SECTION("to another batch, while marked ones wait in front of it") {
        add_marked(shop, 5000, 5000);
        pipeline.drain();
        add_orders(shop, 1, 20);
        for (int batch = 0; batch < 20; ++batch) { pipeline.run_once(); }
        add_orders(shop, 21, 22);
        add_marked(shop, 6000, 6000);
        pipeline.run_once();
        add_marked(shop, 7000, 7003);
        add_orders(shop, 30, 33);
        for (int batch = 0; batch < 3; ++batch) { pipeline.run_once(); }
    }
    SECTION("to a time to come") {
        add_orders(shop, 1, 5);
        add_marked(shop, 1000, 1002);
        pipeline.run_once();
        event.clear();
    }
    if (event.empty()) {
        pipeline.rewind(std::chrono::time_point_cast<std::chrono::microseconds>(
            std::chrono::system_clock::now() + std::chrono::hours{1}));
    } else {
        pipeline.rewind(event);
    }
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("PT10, F2: attempts are counted for each kind, and known to the next object") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = one_by_one("copy");
    options.retry.attempts = 9;
    std::vector<std::pair<std::int64_t, std::int64_t>> tried; // of which record, behind how many
    bool broken = false;
    const auto make = [&] {
        return std::make_unique<Pipeline>(
            heeding(),
            [&](const at::Batch<Order>& batch, Tx&) {
                tried.emplace_back(batch.ids().front(), batch.attempts());
                if (broken) { throw std::runtime_error{"no"}; }
            },
            shop, options);
    };
    auto pipeline = make();
    pipeline->drain();
    add_marked(shop, 101, 101);
    broken = true;
    CHECK_THROWS(pipeline->run_once());
    CHECK_THROWS(pipeline->run_once());
    pipeline = make();
    CHECK_THROWS(pipeline->run_once());
    add_order(shop, 1);
    CHECK_THROWS(pipeline->run_once());
    broken = false;
    pipeline->drain();
    CHECK(tried == std::vector<std::pair<std::int64_t, std::int64_t>>{
                       {101, 0}, {101, 1}, {101, 2}, {1, 0}, {1, 1}, {101, 3}});
}

TEST_CASE("PT10, R1: behind a rebuild that makes all anew no marked change comes from before it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Texts seen;
    at::Pipeline pipeline{heeding(), Anew{&seen}, shop, one_by_one("copy")};
    pipeline.drain();
    add_marked(shop, 101, 102);
    seen.clear();
    pipeline.rebuild();
    pipeline.drain();
    CHECK(seen == Texts{"began", "P101", "P102"});
}

TEST_CASE("PT10, SY11: what a handler marks itself is its own") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = one_by_one("copy");
    options.skip_own_changes = true;
    Diary diary;
    Pipeline pipeline{heeding(), diary.handler([](const at::Batch<Order>& batch, Tx& tx) {
                          fixture::begin_low_priority(tx);
                          const std::int64_t id = batch.ids().front();
                          if (id < 1000) { tx.insert(Order{1000 + id, "own", 0}); }
                          fixture::end_low_priority(tx);
                      }),
        shop, options};
    pipeline.drain();
    // A mark that somebody has forgotten makes nobody's changes the pipeline's own.
    if (fixture::begin_low_priority_is_kept) {
        shop.transaction([&](Tx& tx) { fixture::begin_low_priority(tx); });
    }
    add_orders(shop, 1, 5);
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I1", "I2", "I3", "I4", "I5"});
    CHECK(count(shop, "order") == 10);
}

TEST_CASE("PT10, P5: what changes to a source with priorities rebuilds, and says why") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Pipeline{at::source<Order>(), copy_rows, shop, options}.drain();
    add_orders(shop, 1, 3);
    Pipeline{heeding(), copy_rows, shop, options}.drain();
    CHECK(told.times(at::Moment::checkpoint_unreadable) == 0);
    CHECK(told.says("the checkpoint is of capture order, and the source is captured as"));
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("PT10: a mark that was left behind takes in nobody's changes") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline pipeline{heeding(), copy_rows, shop, quiet("copy")};
    pipeline.drain();
    shop.transaction([&](Tx& tx) {
        fixture::begin_low_priority(tx);
        tx.insert(Order{1, "job", 0});
    });
    pipeline.drain();
    add_orders(shop, 2, 3);
    shop.transaction([&](Tx& tx) { fixture::end_low_priority(tx); });
    CHECK(pipeline.status().lag->records == 2);
    CHECK(pipeline.status().lag->low_priority == 0);
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}
