// SPDX-License-Identifier: MIT
// R4: rewind delivers again what is in the log.
#include <thread>

#include "shop.hpp"

using namespace contract;

TEST_CASE("R4: rewind to an event id delivers what is behind it again, as replay") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.drain();
    for (std::int64_t id = 1; id <= 3; ++id) {
        add_order(shop, id);
        pipeline.drain();
    }
    const std::string behind_first = diary.calls()[0].event_id;
    diary.clear();
    pipeline.rewind(behind_first);
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I2", "I3"});
    for (const Call& call : diary.calls()) { CHECK((call.replay && !call.rebuilt)); }
    CHECK(pipeline.drain() == 0);

    // A wish made while stopped is kept for the next object of that name only if it is carried out:
    // here it isn't.
    diary.clear();
    Pipeline again{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    CHECK(again.drain() == 0);
}

TEST_CASE("R4: rewind to a time delivers what was written then or later") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    std::vector<at::Timestamp> times;
    Pipeline pipeline{at::source<Order>(), diary.handler([&](const at::Batch<Order>& batch, Tx&) {
                          for (const auto& change : batch.changes()) {
                              times.push_back(change.at());
                          }
                      }),
        shop, quiet("copy")};
    pipeline.drain();
    for (std::int64_t id = 1; id <= 3; ++id) {
        add_order(shop, id);
        pipeline.drain();
        std::this_thread::sleep_for(std::chrono::milliseconds{5}); // the clock must have ticked
    }
    REQUIRE(times.size() == 3);
    diary.clear();
    pipeline.rewind(times[1]);
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I2", "I3"});
    diary.clear();
    pipeline.rewind(times[0] - std::chrono::hours{1});
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I1", "I2", "I3"});
    diary.clear();
    pipeline.rewind(times[2] + std::chrono::hours{1});
    CHECK(pipeline.drain() == 0);
}

TEST_CASE("R4: rewind while it runs", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.start();
    for (std::int64_t id = 1; id <= 2; ++id) {
        add_order(shop, id);
        REQUIRE(pipeline.await_idle(std::chrono::seconds{30}) == at::Awaited::idle);
    }
    REQUIRE(diary.changes().size() == 2);
    const std::string behind_first = diary.calls().front().event_id;
    diary.clear();
    pipeline.rewind(behind_first);
    REQUIRE(pipeline.await_idle(std::chrono::seconds{30}) == at::Awaited::idle);
    CHECK((diary.changes() == Texts{"I2"} || diary.changes() == Texts{"P1", "I2"}));
}

TEST_CASE("R4: rewind refuses a place that the log doesn't have") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    CHECK_THROWS_AS(pipeline.rewind("1"), at::Error); // nothing is installed yet
    pipeline.drain();
    add_order(shop, 1);
    pipeline.drain();
    add_order(shop, 2);
    pipeline.drain();
    const std::string first = diary.calls().front().event_id;
    const std::string event = diary.calls().back().event_id;
    for (const std::string& nonsense : {std::string{}, std::string{"yesterday"}, "x" + event,
             event + "x", std::string{"-1"}, event.substr(0, event.rfind(':') + 1) + "99999999"}) {
        INFO("\"" << nonsense << "\"");
        CHECK_THROWS_SAYING(pipeline.rewind(nonsense), at::Error, "reach back to this place");
    }
    CHECK(pipeline.drain() == 0);
    const at::Timestamp before = std::chrono::floor<std::chrono::microseconds>(
        std::chrono::system_clock::now() - std::chrono::hours{1});
    pipeline.rewind(before); // nothing is gone yet
    fixture::prune(shop, "order");
    CHECK_THROWS_SAYING(pipeline.rewind(before), at::Error, "doesn't reach back to this time");
    CHECK_THROWS_SAYING(pipeline.rewind(first), at::Error, "reach back to this place");
    CHECK_NOTHROW(pipeline.rewind(event)); // its end is where the log begins now
}

TEST_CASE("R4: rewind during a rebuild is refused") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 25);
    at::Options ten_a_batch = quiet("copy");
    ten_a_batch.batch_size = 10;
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, ten_a_batch};
    pipeline.run_once();
    pipeline.run_once();
    CHECK_THROWS_SAYING(pipeline.rewind(diary.calls().front().event_id), at::Error, "rebuilding");
    pipeline.drain();
    CHECK(diary.changes().size() == 25);
}

TEST_CASE("R4: a rewind that meets a lock is carried out later") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open(std::chrono::milliseconds{1})};
    create_tables(shop);
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.drain();
    add_order(shop, 1);
    pipeline.drain();
    add_order(shop, 2);
    pipeline.drain();
    const std::string behind_first = diary.calls().front().event_id;
    diary.clear();
    pipeline.rewind(behind_first);
    {
        const fixture::WriteLock lock{place};
        CHECK_THROWS_AS(pipeline.drain(), at::Error);
    }
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I2"});
}
