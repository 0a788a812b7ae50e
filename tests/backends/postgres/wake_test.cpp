// SPDX-License-Identifier: MIT
// K7: a pipeline that waits is woken by its own process, and by NOTIFY from others.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;
using namespace std::chrono_literals;

namespace woken {

struct Item {
    std::int64_t id = 0;
};

namespace {

/// A pipeline's session that waits for an hour, or until it is woken.
struct Waiting {
    Shop shop;
    Database other{shop.place.open()};
    std::atomic<bool> stopping{false};
    std::unique_ptr<Database::Session> session;

    Waiting() {
        shop.database.create_table<Item>();
        session = shop.database.open_session(
            {.pipeline = "p", .capture = at::source<Item>().capture(), .order = {0}}, stopping);
        session->bring_up();
    }
};

} // namespace

TEST_CASE("K7: NOTIFY aftertouch wakes a pipeline, whatever it says and whoever sends it") {
    Waiting waiting;
    waiting.other.execute("NOTIFY aftertouch");
    CHECK(waiting.session->wait(1h));
    waiting.other.execute("SELECT pg_notify('aftertouch', repeat('x', 7000))");
    CHECK(waiting.session->wait(1h));
    std::thread later{[&] {
        std::this_thread::sleep_for(20ms);
        waiting.other.execute("NOTIFY aftertouch");
    }};
    CHECK(waiting.session->wait(1h));
    later.join();
    waiting.other.execute("NOTIFY somebody_else");
    CHECK_FALSE(waiting.session->wait(1ms));
    waiting.other.execute("BEGIN; NOTIFY aftertouch; ROLLBACK");
    CHECK_FALSE(waiting.session->wait(1ms));
}

TEST_CASE(
    "K7: a pipeline is woken by its own process, and goes on listening when it connects again") {
    Waiting waiting;
    std::thread later{[&] {
        std::this_thread::sleep_for(20ms);
        waiting.session->wake();
    }};
    CHECK(waiting.session->wait(1h));
    later.join();
    waiting.shop.database.execute("INSERT INTO item VALUES (1)");
    CHECK(waiting.session->wait(1h));

    waiting.other.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE "
                          "datname = current_database() AND pid <> pg_backend_pid()");
    CHECK_FALSE(waiting.session->wait(1ms)); // it doesn't wait on a connection that is gone
    CHECK(waiting.session->excuse(nullptr) == at::Excuse::lost);
    waiting.session->wake();
    CHECK(waiting.session->wait(1h));
    waiting.session->bring_up();
    waiting.other.execute("NOTIFY aftertouch");
    CHECK(waiting.session->wait(1h));
}

TEST_CASE("K7: a flood of notifications wakes a pipeline every two milliseconds at most") {
    Waiting waiting;
    std::atomic<bool> done{false};
    std::thread flood{[&] {
        for (int i = 0; i < 2000; ++i) { waiting.other.execute("NOTIFY aftertouch"); }
        done = true;
        waiting.session->wake();
    }};
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t woken = 0;
    while (!done) {
        if (waiting.session->wait(1h)) { ++woken; }
    }
    const auto passed = std::chrono::steady_clock::now() - begin;
    flood.join();
    CHECK(woken <= passed / 2ms + 2); // and once by its own process
}

} // namespace woken
