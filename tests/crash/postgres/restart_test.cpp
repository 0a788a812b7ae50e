// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <soak/judge.hpp>
#include <support/catch.hpp>
#include <support/own_server.hpp>

#include <aftertouch/aftertouch.hpp>

/// \file
/// The server is restarted under writers and a pipeline, in order and at once: nothing is lost,
/// doubled or out of order of what it still has, and the pipeline takes it for no failure.

namespace restart {

struct Item {
    std::int64_t id = 0;
    std::int64_t version = 0;
};

namespace {

namespace at = aftertouch;
using at::postgres::Database;

constexpr const char* tables =
    "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL);"
    "CREATE TABLE truth (n bigint GENERATED ALWAYS AS IDENTITY, key text, version bigint);"
    "CREATE TABLE ledger (n bigint GENERATED ALWAYS AS IDENTITY, change text, key text, version "
    "bigint)";

// Writes until it is told to end; says in the same transaction what it did. A COMMIT that failed
// may have happened: the database says.
void write(const at::postgres::Parameters& parameters, std::int64_t number,
    const std::atomic<bool>& end, std::atomic<std::int64_t>& written) {
    std::optional<Database> database;
    for (std::int64_t i = 0; !end; ++i) {
        try {
            if (!database) { database.emplace(parameters); }
            database->transaction([&](auto& tx) {
                for (const std::int64_t id : {i % 7, 7 + (i * number) % 5}) {
                    tx.execute(
                        "INSERT INTO item VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET version = "
                        "excluded.version",
                        id, number * 1'000'000 + i);
                    tx.execute("INSERT INTO truth (key, version) VALUES ($1, $2)",
                        std::to_string(id), number * 1'000'000 + i);
                }
            });
            ++written;
        } catch (const at::Error&) {
            std::this_thread::sleep_for(std::chrono::milliseconds{20}); // until it is there again
        }
    }
}

void keep(const at::Batch<Item>& batch, Database::Transaction& tx) {
    for (const at::Change<Item>& change : batch.changes()) {
        tx.execute("INSERT INTO ledger (change, key, version) VALUES ($1, $2, $3)",
            change.idempotency_key(), std::to_string(change.key()), change.after()->version);
    }
}

void await(const std::atomic<std::int64_t>& count, std::int64_t more) {
    for (const std::int64_t until = count + more; count < until;) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

[[nodiscard]] std::vector<std::string> restart_under_load(const std::string& synchronous_commit) {
    test::OwnServer server{"restart-server"};
    std::vector<std::string> faults;
    {
        Database database{server.parameters()};
        database.execute(tables);
        database.execute("ALTER DATABASE postgres SET synchronous_commit = " + synchronous_commit);
    }
    Database followed{server.parameters()};
    at::Pipeline pipeline{at::source<Item>().images(), keep, followed,
        {.name = "items", .batch_size = 20, .observer = {}}};
    pipeline.start();
    std::atomic<bool> end{false};
    std::atomic<std::int64_t> written{0};
    std::vector<std::thread> writers;
    for (std::int64_t number = 1; number <= 6; ++number) {
        writers.emplace_back([&, number] { write(server.parameters(), number, end, written); });
    }
    for (const char* mode : {"fast", "immediate", "immediate", "fast", "immediate"}) {
        await(written, 200);
        server.restart(mode);
    }
    await(written, 200);
    end = true;
    for (std::thread& writer : writers) { writer.join(); }
    if (pipeline.await_idle(std::chrono::seconds{60}) != at::Awaited::idle) {
        faults.emplace_back("it didn't come to its end");
    }
    for (const at::Failure& failure : pipeline.errors()) { faults.push_back(failure.message); }
    Database looked_at{server.parameters()};
    const auto states = [&](const std::string& table) {
        return soak::states_of(looked_at.query(
            at::type<soak::Said>, "SELECT key, version FROM " + table + " ORDER BY n"));
    };
    soak::compare_images("item", states("truth"), states("ledger"), faults);
    return faults;
}

} // namespace

TEST_CASE("K6: a server restarted under load, at once too, loses and doubles nothing",
    "[threads][slow]") {
    CHECK(restart_under_load("on") == std::vector<std::string>{});
}
// The server forgets commits that it has told: what is derived from them, and the checkpoint, with
// them.
TEST_CASE("P5: a server that forgets its last commits forgets what was derived from them",
    "[threads][slow]") {
    CHECK(restart_under_load("off") == std::vector<std::string>{});
}

} // namespace restart
