// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <sqlite/fixture.hpp>
#include <support/catch.hpp>

#include <aftertouch/aftertouch.hpp>

using namespace std::chrono_literals;
namespace at = aftertouch;

namespace {

struct Job {
    std::int64_t id = 0;
};

} // namespace

// Nobody queues for SQLite's write lock: who waits for it looks again every 100 ms.
TEST_CASE("TE22: another writer gets in while slow batches follow each other", "[threads]") {
    const fixture::Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const fixture::Place place{kind};
    fixture::Database followed{place.open()};
    followed.create_table<Job>();
    std::atomic<int> batches{0};
    const auto slow = [&](const at::Batch<Job>&, auto&) {
        ++batches;
        std::this_thread::sleep_for(200ms);
    };
    at::Pipeline pipeline{
        at::source<Job>(), slow, followed, {.name = "slow", .batch_size = 1, .observer = {}}};
    pipeline.drain();
    followed.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
                     " INSERT INTO job SELECT i FROM n");
    pipeline.start();
    while (batches == 0) { std::this_thread::sleep_for(1ms); }
    fixture::Database other{place.open(40s)};
    for (int i = 0; i < 3; ++i) { other.execute("INSERT INTO job VALUES ($1)", 1000 + i); }
    CHECK(batches < 150); // of 300, a minute of them
    pipeline.stop();
}

TEST_CASE("PT10: another writer gets in while short batches of low priority follow each other",
    "[threads]") {
    const fixture::Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const fixture::Place place{kind};
    fixture::Database followed{place.open()};
    followed.create_table<Job>();
    std::atomic<int> batches{0};
    const auto handler = [&](const at::Batch<Job>&, auto&) {
        ++batches;
        std::this_thread::sleep_for(25ms);
    };
    at::Pipeline pipeline{at::source<Job>().low_priority(), handler, followed,
        {.name = "patient", .batch_size = 1, .observer = {}}};
    pipeline.drain();
    followed.transaction([](auto& tx) {
        fixture::begin_low_priority(tx);
        tx.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
                   "INSERT INTO job SELECT i FROM n");
        fixture::end_low_priority(tx);
    });
    pipeline.start();
    while (batches == 0) { std::this_thread::sleep_for(1ms); }
    fixture::Database other{place.open(40s)};
    for (int i = 0; i < 3; ++i) { other.execute("INSERT INTO job VALUES ($1)", 2000 + i); }
    CHECK(batches < 500); // of 1000, half a minute of them
    pipeline.stop();
}
