// SPDX-License-Identifier: MIT
// L2: what lanes do to each other, and to those who stop them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <contract/latch.hpp>
#include <postgres/fixture.hpp>
#include <support/catch.hpp>

#include <aftertouch/aftertouch.hpp>

using namespace std::chrono_literals;
namespace at = aftertouch;

namespace lanes {

namespace {

struct Job {
    std::int64_t id = 0;
    std::int64_t worth = 0;
};

struct Line {
    std::int64_t tenant = 0;
    std::int64_t number = 0;
};

} // namespace
} // namespace lanes

template <>
struct aftertouch::EntityTraits<lanes::Line> {
    static constexpr auto key = at::key<&lanes::Line::tenant, &lanes::Line::number>;
};

namespace lanes {
namespace {

using Tx = fixture::Tx;

/// A database with the tables that these tests derive into, and a pipeline's place in its log.
class Shop {
public:
    explicit Shop(std::chrono::milliseconds lock_timeout = 20s)
        : database_{place_.parameters(), {.lock_timeout = lock_timeout}} {
        database_.create_table<Job>();
        database_.execute("CREATE TABLE total (id bigint PRIMARY KEY, n bigint NOT NULL); CREATE "
                          "TABLE label (id bigint PRIMARY KEY, text bigint UNIQUE)");
        at::Pipeline{at::source<Job>(), [](const at::Batch<Job>&, Tx&) {}, database_, options(1)}
            .drain();
    }

    fixture::Database& operator*() noexcept { return database_; }
    [[nodiscard]] fixture::Database another() const { return place_.open(); }
    fixture::Database* operator->() noexcept { return &database_; }

    [[nodiscard]] static at::Options options(std::size_t lanes) {
        at::Options options{.name = "jobs", .begin = at::Begin::now, .lanes = lanes};
        options.observer = {};
        return options;
    }
    void add_jobs(std::int64_t count) {
        database_.execute(
            "INSERT INTO job SELECT i, i FROM generate_series(1, $1::bigint) AS i", count);
    }
    [[nodiscard]] std::int64_t number(const std::string& sql) {
        return database_.query(at::type<std::int64_t>, sql).front();
    }

private:
    fixture::Place place_{fixture::Kind::server};
    fixture::Database database_;
};

template <class Work>
std::string error_of(Work work) {
    try {
        work();
    } catch (const std::exception& error) { return error.what(); }
    return {};
}

} // namespace

TEST_CASE("L2: lanes handle their parts at the same time", "[threads]") {
    Shop shop;
    std::atomic<int> there{0};
    contract::Latch met;
    at::Pipeline pipeline{at::source<Job>(),
        [&](const at::Batch<Job>&, Tx&) {
            if (++there == 4) { met.open(); }
            met.wait(); // fails where one comes behind the other
        },
        *shop, Shop::options(4)};
    shop.add_jobs(100);
    CHECK(pipeline.drain() == 1);
    CHECK(there == 4);
}

TEST_CASE("L2: connections that fewer lanes don't need are closed") {
    Shop shop;
    at::Pipeline pipeline{
        at::source<Job>(), [](const at::Batch<Job>&, Tx&) {}, *shop, Shop::options(8)};
    const auto connections = [&] {
        return shop.number("SELECT count(*) FROM pg_stat_activity WHERE datname = "
                           "current_database() AND backend_type = 'client backend'");
    };
    shop.add_jobs(200);
    pipeline.drain();
    CHECK(connections() == 1 + 1 + 8); // the database's, the pipeline's, the lanes'
    for (const std::int64_t lanes : {3, 1}) {
        pipeline.lanes(static_cast<std::size_t>(lanes));
        shop->execute("UPDATE job SET worth = worth + 1");
        pipeline.drain();
        const std::int64_t kept = 1 + 1 + (lanes == 1 ? 0 : lanes);
        const auto until = std::chrono::steady_clock::now() + 20s; // the server sees it soon
        while (connections() != kept && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(5ms);
        }
        CHECK(connections() == kept);
    }
}

TEST_CASE("L2: deadlocks between lanes are theirs to overcome", "[threads]") {
    Shop shop;
    at::Pipeline pipeline{at::source<Job>(),
        [](const at::Batch<Job>& batch, Tx& tx) {
            std::vector<std::int64_t> rows(6); // each deadlock takes the server a second
            std::iota(rows.begin(), rows.end(), 0);
            std::shuffle(rows.begin(), rows.end(),
                std::mt19937_64{static_cast<std::uint64_t>(batch.ids().front())});
            for (const std::int64_t row : rows) {
                tx.execute("INSERT INTO total VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = "
                           "total.n + excluded.n",
                    row, static_cast<std::int64_t>(batch.ids().size()));
            }
        },
        *shop, Shop::options(6)};
    shop.add_jobs(60);
    pipeline.drain();
    CHECK(shop.number("SELECT count(*) FROM total WHERE n = 60") == 6);
    CHECK(pipeline.errors().empty());
}

TEST_CASE("L2: a lane that another one kept from its rows for long tries again behind it") {
    Shop shop{200ms};
    std::atomic<bool> first{true};
    at::Pipeline pipeline{at::source<Job>(),
        [&](const at::Batch<Job>& batch, Tx& tx) {
            tx.execute("INSERT INTO total VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET n = "
                       "total.n + excluded.n",
                static_cast<std::int64_t>(batch.ids().size()));
            if (first.exchange(false)) { std::this_thread::sleep_for(600ms); }
        },
        *shop, Shop::options(4)};
    shop.add_jobs(40);
    CHECK(pipeline.drain() == 1);
    CHECK(shop.number("SELECT n FROM total") == 40);
}

TEST_CASE("L2: a unique value that moves from one record to another passes in lanes too") {
    Shop shop;
    at::Pipeline pipeline{at::source<Job>(),
        [](const at::Batch<Job>& batch, Tx& tx) {
            for (const std::int64_t gone : batch.missing()) {
                std::this_thread::sleep_for(50ms); // the other lane comes first
                tx.execute("DELETE FROM label WHERE id = $1", gone);
            }
            for (const Job& now : batch.records()) {
                tx.execute("INSERT INTO label VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET text "
                           "= excluded.text",
                    now.id, now.worth);
            }
        },
        *shop, Shop::options(8)};
    shop.add_jobs(1);
    pipeline.drain();
    for (std::int64_t id = 2; id < 12; ++id) {
        shop->transaction([&](Tx& tx) {
            tx.execute("DELETE FROM job");
            tx.execute("INSERT INTO job VALUES ($1, 1)", id);
        });
        CHECK(pipeline.drain() == 1);
        CHECK(shop.number("SELECT id FROM label") == id);
    }
}

TEST_CASE("L2: what is committed late, with a lower number, is no part of a deal taken up") {
    Shop shop;
    fixture::Database late = shop.another();
    late.execute("BEGIN; INSERT INTO job VALUES (500, 0)");
    std::atomic<std::int64_t> refused{7};
    at::Pipeline pipeline{at::source<Job>(),
        [&](const at::Batch<Job>& batch, Tx& tx) {
            for (const std::int64_t id : batch.ids()) {
                if (id == refused) { throw std::runtime_error{"no"}; }
                tx.execute("INSERT INTO total VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET n = "
                           "total.n + 1",
                    id);
            }
        },
        *shop, Shop::options(4)};
    shop.add_jobs(20);
    CHECK(error_of([&] { pipeline.drain(); }) == "no");
    late.execute("COMMIT");
    refused = 0;
    pipeline.drain();
    CHECK(shop.number("SELECT count(*) FROM total WHERE n = 1") == 21);
    CHECK(shop.number("SELECT count(*) FROM total") == 21);
}

TEST_CASE("L2: a stop lets no further part begin behind its deadline", "[threads]") {
    Shop shop;
    std::atomic<bool> broken{true};
    std::atomic<int> calls{0};
    const auto handler = [&](const at::Batch<Job>&, Tx&) {
        if (broken) { throw std::runtime_error{"no"}; }
        ++calls;
        std::this_thread::sleep_for(100ms);
    };
    shop.add_jobs(400);
    at::Pipeline many{at::source<Job>(), handler, *shop, Shop::options(32)};
    CHECK(error_of([&] { many.drain(); }) == "no");
    broken = false;
    at::Pipeline one{at::source<Job>(), handler, *shop, Shop::options(1)};
    one.start();
    while (calls == 0) { std::this_thread::sleep_for(1ms); }
    one.stop(1ms);
    const int behind = calls;
    CHECK(behind < 10);
    CHECK(one.errors().empty());
    one.drain(); // what is left of them
    CHECK(calls - behind <= 32);
}

TEST_CASE("L2, F2: what a handler decides in one lane isn't covered by what passes in another") {
    Shop shop;
    std::atomic<int> calls{0};
    at::Options options = Shop::options(16);
    options.retry = {.attempts = 3, .pause = 0ms};
    at::Pipeline pipeline{at::source<Job>(),
        [&](const at::Batch<Job>& batch, Tx&) -> at::Outcome {
            for (const std::int64_t id : batch.ids()) {
                if (id == 7) {
                    ++calls;
                    throw std::runtime_error{"the record is wrong"};
                }
            }
            return at::Outcome::retry;
        },
        *shop, options};
    shop.add_jobs(100);
    pipeline.start();
    CHECK(pipeline.await_idle(30s) == at::Awaited::stopped);
    CHECK(calls == 3);
    REQUIRE(pipeline.errors().size() == 1);
    CHECK(pipeline.errors().front().message == "the record is wrong");
}

TEST_CASE("L2: what was dealt with other changes among it isn't taken for what is read now") {
    Shop shop;
    std::atomic<std::int64_t> refused{0};
    std::atomic<std::int64_t> handled{0};
    const auto handler = [&](const at::Batch<Job>& batch, Tx& tx) {
        for (const std::int64_t id : batch.ids()) {
            if (id == refused || refused < 0) { throw std::runtime_error{"no"}; }
            ++handled;
            if (id < 1000) { tx.execute("INSERT INTO job VALUES ($1, 0)", id + 1000); }
        }
    };
    at::Options with = Shop::options(4);
    with.skip_own_changes = true;
    const at::Options without = Shop::options(4);
    const auto drain = [&](const at::Options& options) {
        at::Pipeline pipeline{at::source<Job>(), handler, *shop, options};
        return error_of([&] { pipeline.drain(); });
    };
    shop.add_jobs(20);
    SECTION("some lanes have handled theirs") {
        refused = 7;
        CHECK(drain(with) == "no");
        refused = 0;
        CHECK(drain(without).find("with another Options::skip_own_changes") != std::string::npos);
        CHECK(drain(with).empty());
        CHECK(shop.number("SELECT count(*) FROM job WHERE id > 1000") == 20);
    }
    SECTION("none has") {
        refused = -1;
        CHECK(drain(with) == "no");
        refused = 0;
        CHECK(drain(without).empty());
        CHECK(handled == 40); // its own, too
    }
}

TEST_CASE("L2: what was dealt by another shard isn't dealt as it is now") {
    Shop shop;
    std::atomic<std::int64_t> refused{0};
    std::atomic<std::int64_t> handled{0};
    const auto handler = [&](const at::Batch<Job>& batch, Tx&) {
        const auto ids = batch.ids();
        const bool has_it = std::find(ids.begin(), ids.end(), refused) != ids.end();
        if (has_it || refused < 0) { throw std::runtime_error{"no"}; }
        handled += static_cast<std::int64_t>(ids.size());
    };
    const auto drain = [&](const at::Source<Job>& source) {
        at::Pipeline pipeline{source, handler, *shop, Shop::options(4)};
        return error_of([&] { pipeline.drain(); });
    };
    const auto hashed = at::source<Job>();
    const auto sharded = at::source<Job>().shard<&Job::id>();
    shop.add_jobs(20);
    SECTION("some lanes have handled theirs") {
        refused = 7;
        CHECK(drain(hashed) == "no");
        refused = 0;
        CHECK(drain(sharded).find("with another Source::shard") != std::string::npos);
        CHECK(drain(hashed).empty());
        CHECK(drain(sharded).empty());
    }
    SECTION("none has") {
        refused = -1;
        CHECK(drain(hashed) == "no");
        refused = 0;
        CHECK(drain(sharded).empty());
    }
    CHECK(handled == 20);
}

namespace {

// Lines of seven tenants; with `tables` each has one of its own, a partition of "line".
void create_lines(fixture::Database& shop, bool tables) {
    if (!tables) { return shop.create_table<Line>(); }
    shop.execute("CREATE TABLE line (tenant bigint, number bigint, PRIMARY KEY (tenant, number)) "
                 "PARTITION BY LIST (tenant)");
    for (int tenant = 0; tenant < 7; ++tenant) {
        const std::string number = std::to_string(tenant);
        shop.execute(
            "CREATE TABLE line_" + number + " PARTITION OF line FOR VALUES IN (" + number + ")");
    }
}
// One of each; straight into their tables or not.
void add_lines(fixture::Database& shop, bool straight, std::int64_t number) {
    if (!straight) {
        shop.execute("INSERT INTO line SELECT i, $1 FROM generate_series(0, 6) AS i", number);
        return;
    }
    for (int tenant = 0; tenant < 7; ++tenant) {
        const std::string name = std::to_string(tenant);
        shop.execute("INSERT INTO line_" + name + " VALUES (" + name + ", $1)", number);
    }
}

} // namespace

TEST_CASE("L2: what has one shard's number is in one lane, in the order of the log") {
    fixture::Place place{fixture::Kind::server};
    fixture::Database shop{place.open()};
    const bool tables = GENERATE(false, true);
    INFO("a table a shard: " << tables);
    create_lines(shop, tables);
    std::mutex mutex;
    std::map<std::int64_t, std::vector<std::int64_t>> seen; // numbers, by tenant
    at::Options options = Shop::options(4);
    options.batch_size = 20;
    at::Pipeline pipeline{at::source<Line>().images().shard<&Line::tenant>(),
        [&](const at::Batch<Line>& batch, Tx&) {
            const std::lock_guard lock{mutex};
            const std::int64_t shard = batch.changes().front().after()->tenant % 4;
            for (const at::Change<Line>& change : batch.changes()) {
                CHECK(change.after()->tenant % 4 == shard);
                seen[change.after()->tenant].push_back(change.after()->number);
            }
        },
        shop, options};
    pipeline.drain();
    for (std::int64_t number = 1; number <= 50; ++number) {
        add_lines(shop, tables && number % 2 == 0, number);
    }
    pipeline.drain();
    std::vector<std::int64_t> numbers(50);
    std::iota(numbers.begin(), numbers.end(), 1);
    CHECK(seen.size() == 7);
    for (const auto& [tenant, told] : seen) { CHECK(told == numbers); }
}

} // namespace lanes
