// SPDX-License-Identifier: MIT
// O2: pruning takes what every pipeline has handled and nothing else, beside writers too.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

namespace upkeep {

namespace at = aftertouch;
using at::sqlite::Database;

struct Item {
    std::int64_t id = 0;
    std::int64_t version = 0;
};

namespace {

struct Following {
    std::atomic<std::int64_t> changes{0};
    std::atomic<std::int64_t> rebuilt{0};

    auto pipeline(Database& database, std::string name) {
        return at::Pipeline{at::source<Item>().images(),
            [this](const at::Batch<Item>& batch, Database::Transaction&) {
                for (const auto& change : batch.changes()) {
                    ++(change.operation() == at::Operation::present ? rebuilt : changes);
                }
            },
            database, {.name = std::move(name), .observer = {}}};
    }
};

std::int64_t number(Database& database, const std::string& sql) {
    return database.query(at::type<std::int64_t>, sql).front();
}

std::int64_t log_rows(Database& database) {
    return number(database, "SELECT count(*) FROM aftertouch_log");
}

// Items from `first` to `last`, by one statement.
void add(Database& database, std::int64_t first, std::int64_t last) {
    database.execute("INSERT INTO item SELECT value, 1 FROM (WITH RECURSIVE n (value) AS (SELECT "
                     "$1 UNION ALL SELECT value + 1 FROM n WHERE value < $2) SELECT value FROM n)",
        first, last);
}

int transactions = 0;

void count_transactions(sqlite3* handle) {
    sqlite3_trace_v2(
        handle, SQLITE_TRACE_STMT,
        [](unsigned, void*, void*, void* text) {
            transactions += std::string_view{static_cast<const char*>(text)}.starts_with("BEGIN");
            return 0;
        },
        nullptr);
}

struct File {
    File() { erase(); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { erase(); }
    static void erase() {
        for (const char* end : {"", "-wal", "-shm", "-journal"}) {
            std::filesystem::remove(std::string{path} + end);
        }
    }
    static constexpr const char* path = "upkeep.db";
};

} // namespace

TEST_CASE("O2: pruning keeps what a pipeline hasn't handled, and the newest row") {
    Database database{":memory:"};
    CHECK(database.prune() == 0); // nothing is installed
    database.execute("CREATE TABLE aftertouch_image_1_backup (n); INSERT INTO "
                     "aftertouch_image_1_backup VALUES (1)"); // is nobody's business
    database.create_table<Item>();
    Following fast;
    Following slow;
    auto first = fast.pipeline(database, "fast");
    auto second = slow.pipeline(database, "slow");
    at::install(database, at::source<Item>().images());
    add(database, 1, 3);
    CHECK(database.prune() == 0); // there is no pipeline yet
    first.drain();
    second.drain();
    database.prune();
    add(database, 11, 60);
    first.drain();
    CHECK(database.prune() <= 1); // the slow one has seen nothing of it
    second.drain();
    CHECK(database.prune() == 49);
    CHECK(log_rows(database) == 1);
    CHECK(number(database, "SELECT count(*) FROM aftertouch_image_1") == 1);
    CHECK(number(database, "SELECT count(*) FROM aftertouch_image_1_backup") == 1);
    CHECK(database.prune() == 0);
    database.execute("UPDATE item SET version = 2");
    first.drain();
    second.drain();
    CHECK(fast.changes == 50 + 53);
    CHECK(slow.changes == 50 + 53);
    CHECK(fast.rebuilt + slow.rebuilt == 6);
    CHECK(database.prune() == 53);
}

TEST_CASE("O2: much is pruned in several transactions") {
    Database database{":memory:", {.on_open = count_transactions}};
    database.create_table<Item>();
    Following following;
    auto pipeline = following.pipeline(database, "p");
    pipeline.drain();
    add(database, 1, 25'000);
    pipeline.drain();
    transactions = 0;
    CHECK(database.prune() == 24'999);
    CHECK(transactions == 3);
    add(database, 25'001, 25'001);
    pipeline.drain();
    CHECK(following.changes == 25'001);
    CHECK(following.rebuilt == 0);
}

TEST_CASE("P5: a pipeline that needs what was pruned rebuilds, and one of another log keeps "
          "nothing") {
    Database database{":memory:"};
    database.create_table<Item>();
    Following following;
    auto pipeline = following.pipeline(database, "p");
    pipeline.drain();
    const auto early =
        database.query(at::type<std::string>, "SELECT checkpoint FROM aftertouch_checkpoint")
            .front();
    add(database, 1, 2);
    pipeline.drain();
    CHECK(database.prune() == 1);
    const std::string through = "SELECT pruned_through FROM aftertouch_meta";
    const std::int64_t before = number(database, through);
    database.execute("UPDATE aftertouch_checkpoint SET checkpoint = $1", early);
    CHECK(database.prune() == 0);
    CHECK(number(database, through) == before);
    auto again = following.pipeline(database, "p");
    again.drain();
    CHECK(following.changes == 2);
    CHECK(following.rebuilt == 2);
    database.execute(
        "INSERT INTO aftertouch_checkpoint SELECT pipeline || 1, 'rubbish', 1, 0, at FROM "
        "aftertouch_checkpoint UNION ALL SELECT pipeline || 2, replace(checkpoint, log_id, "
        "'other'), 1, 0, at FROM aftertouch_checkpoint, aftertouch_meta");
    add(database, 3, 4);
    again.drain();
    CHECK(database.prune() == 2);
}

TEST_CASE("O2: beside a writer, a pipeline and pruning lose nothing", "[threads]") {
    const bool wal = GENERATE(false, true);
    const File file;
    const at::sqlite::Options patient{.busy_timeout = std::chrono::seconds{60}, .wal = wal};
    Database database{file.path, patient};
    database.create_table<Item>();
    Following following;
    auto pipeline = following.pipeline(database, "p");
    pipeline.drain();
    pipeline.start();
    std::atomic<bool> done{false};
    std::atomic<std::int64_t> pruned{0};
    std::thread pruner{[&] {
        Database own{file.path, patient};
        while (!done) { pruned += own.prune(); }
    }};
    constexpr std::int64_t rounds = 60;
    for (std::int64_t round = 0; round < rounds; ++round) {
        add(database, round * 10, round * 10 + 9);
    }
    CHECK(pipeline.await_idle(std::chrono::seconds{60}) == at::Awaited::idle);
    done = true;
    pruner.join();
    pipeline.stop();
    pruned += database.prune();
    CHECK(following.changes == rounds * 10);
    CHECK(following.rebuilt == 0);
    CHECK(pruned + log_rows(database) == rounds * 10);
}

} // namespace upkeep
