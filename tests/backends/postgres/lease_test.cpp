// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <thread>

#include <postgres/fixture.hpp>
#include <support/catch.hpp>

#include <aftertouch/aftertouch.hpp>

using namespace std::chrono_literals;
namespace at = aftertouch;

namespace lease {

namespace {

struct Job {
    std::int64_t id = 0;
};

std::int64_t count(fixture::Database& database, const std::string& from) {
    return database.query(at::type<std::int64_t>, "SELECT count(*) FROM " + from).front();
}

} // namespace

TEST_CASE("L1: a stop gives the lease back also where its connection has died meanwhile") {
    const fixture::Place place{fixture::Kind::server};
    fixture::Database shop{place.open()};
    shop.create_table<Job>();
    at::Pipeline pipeline{at::source<Job>(), [](const at::Batch<Job>&, auto&) {}, shop,
        {.name = "jobs", .lease = 1h, .observer = {}}};
    pipeline.start();
    CHECK(count(shop, "aftertouch.lease") == 1);
    shop.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = "
                 "current_database() AND pid <> pg_backend_pid()");
    pipeline.stop();
    CHECK(count(shop, "aftertouch.lease") == 0);
}

TEST_CASE("L1: a stop doesn't wait long for whoever has locked the leases") {
    const fixture::Place place{fixture::Kind::server};
    fixture::Database shop{place.open()};
    shop.create_table<Job>();
    at::Pipeline pipeline{at::source<Job>(), [](const at::Batch<Job>&, auto&) {}, shop,
        {.name = "jobs", .lease = 1h, .observer = {}}};
    pipeline.drain();
    fixture::Database other{place.open()};
    other.execute("BEGIN; LOCK TABLE aftertouch.lease");
    pipeline.stop(); // fails where it waits for ever: the other one waits for it
    other.execute("ROLLBACK");
    CHECK(count(shop, "aftertouch.lease") == 1); // it ends by itself
}

TEST_CASE("L1: a filter that is slower than the lease is no silence", "[threads]") {
    const fixture::Place place{fixture::Kind::server};
    fixture::Database shop{place.open()};
    shop.create_table<Job>();
    std::int64_t handled = 0;
    const auto slow = [](const at::Change<Job>&) {
        std::this_thread::sleep_for(500ms);
        return true;
    };
    at::Pipeline pipeline{at::source<Job>().images().filter(slow),
        [&](const at::Batch<Job>& batch, auto&) {
            handled += static_cast<std::int64_t>(batch.changes().size());
        },
        shop, {.name = "jobs", .lease = 200ms, .observer = {}}};
    pipeline.drain();
    shop.execute("INSERT INTO job VALUES (1)");
    CHECK(pipeline.drain() == 1);
    CHECK(handled == 1);
}

} // namespace lease
