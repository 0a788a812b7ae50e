// SPDX-License-Identifier: MIT
// Behind PgBouncer in transaction mode, where each transaction may have another session: pipelines
// and the application's calls go on as without it, and leave nothing in a session.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <support/catch.hpp>
#include <support/pgbouncer.hpp>
#include <support/postgres_proxy.hpp>
#include <support/soak.hpp>

#include "server.hpp"

using namespace test;

namespace pooled {

struct Reading {
    std::int64_t id = 0;
    std::int64_t version = 0;
    std::chrono::sys_time<std::chrono::microseconds> at;
    double value = 0;
    std::vector<std::byte> raw;
    friend bool operator==(const Reading&, const Reading&) = default;
};
struct Copy {
    std::int64_t id = 0;
    std::int64_t version = 0;
    std::chrono::sys_time<std::chrono::microseconds> at;
    double value = 0;
    std::vector<std::byte> raw;
};

} // namespace pooled

template <>
struct aftertouch::EntityTraits<pooled::Copy> {
    static constexpr auto table = "reading_copy";
};

namespace pooled {

namespace {

bool skipped() {
    if (!PgBouncer::program().empty()) { return false; }
    std::cout << "skipped: there is no PgBouncer here: apt-get install pgbouncer" << std::endl;
    return true;
}

/// What the sessions of the pool would show if somebody had left something in one.
std::string left_behind(Database& pool) {
    std::string found;
    for (int i = 0; i < 12; ++i) { // three times round
        found += one<std::string>(pool,
            "SELECT concat_ws(' ', nullif((SELECT count(*) FROM pg_prepared_statements), 0), "
            "nullif((SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), 0), "
            "(SELECT string_agg(name, ',') FROM pg_settings WHERE source = 'session' AND name NOT "
            "IN ('DateStyle', 'TimeZone', 'IntervalStyle', 'bytea_output', 'extra_float_digits', "
            "'lc_monetary', 'lock_timeout', 'client_encoding', 'application_name', "
            "'transaction_isolation', "
            "'transaction_read_only', 'transaction_deferrable')), nullif((SELECT count(*) FROM "
            "pg_listening_channels()), 0))");
    }
    return found;
}

// What a session has, asked without the library: nothing is set for the question.
std::string session_settings(const PgBouncer& pool) {
    const Own own = connect(pool.parameters());
    PGconn* const connection = own.get();
    std::string found;
    for (int i = 0; i < 12; ++i) {
        const at::postgres::detail::ResultPointer result{PQexec(connection,
            "SELECT concat_ws(' ', current_setting('bytea_output'), "
            "current_setting('extra_float_digits'), current_setting('lock_timeout'), "
            "current_setting('intervalstyle'), current_setting('datestyle'), "
            "current_setting('timezone'), nullif(current_setting('aftertouch.batch', true), ''))")};
        const std::string text = PQntuples(result.get()) == 1 ? PQgetvalue(result.get(), 0, 0)
                                                              : PQerrorMessage(connection);
        if (found.find(text) == std::string::npos) { found += text + '\n'; }
    }
    return found;
}

/// A database whose sessions begin with settings that nobody expects, and a pool in front of it.
struct Pool {
    Shop shop;
    PgBouncer bouncer;

    Pool() : bouncer{prepared(shop)} {}

    [[nodiscard]] Database open() const { return Database{bouncer.parameters()}; }

private:
    static at::postgres::Parameters prepared(Shop& shop) {
        const auto name = one<std::string>(shop.database, "SELECT current_database()::text");
        for (const char* setting :
            {"datestyle = 'SQL, DMY'", "timezone = 'Asia/Kathmandu'", "bytea_output = escape",
                "extra_float_digits = 0", "intervalstyle = iso_8601", "lock_timeout = 4321"}) {
            shop.database.execute("ALTER DATABASE " + name + " SET " + setting);
        }
        return shop.place.parameters();
    }
};

Reading reading(std::int64_t id, std::int64_t version) {
    const auto day = std::chrono::sys_days{std::chrono::year{2024} / 3 / 4};
    return {id, version, day + std::chrono::microseconds{version},
        0.1 * static_cast<double>(version),
        {std::byte{0}, std::byte{255}, static_cast<std::byte>(version % 256)}};
}

// Throws for an image that isn't what was written.
void look_at(const at::Batch<Reading>& batch) {
    for (const auto& change : batch.changes()) {
        for (const Reading* image : {change.before(), change.after()}) {
            if (image != nullptr && *image != reading(image->id, image->version)) {
                throw std::runtime_error{"an image isn't what was written"};
            }
        }
    }
}

void copy(const at::Batch<Reading>& batch, Tx& tx) {
    for (const Reading& now : batch.records()) {
        tx.upsert(Copy{now.id, now.version, now.at, now.value, now.raw});
    }
    for (const std::int64_t gone : batch.missing()) { tx.erase(at::type<Copy>, gone); }
}

constexpr std::string_view differing =
    "SELECT count(*) FROM (SELECT * FROM reading EXCEPT SELECT * FROM reading_copy) AS a FULL JOIN "
    "(SELECT * FROM reading_copy EXCEPT SELECT * FROM reading) AS b ON a.id = b.id";

// Transactions of an application, each perhaps in another session.
void write(const Pool& pool, std::uint64_t seed, int transactions) {
    Database database{pool.open()};
    std::mt19937_64 random{seed};
    for (int i = 0; i < transactions; ++i) {
        const auto id = static_cast<std::int64_t>(random() % 40);
        database.transaction([&](Tx& tx) {
            const auto now = tx.query(
                at::type<std::int64_t>, "SELECT version FROM reading WHERE id = $1 FOR UPDATE", id);
            if (now.empty() || random() % 10 != 0) {
                tx.upsert(reading(id, now.empty() ? 1 : now.front() + 1));
            } else {
                tx.erase(at::type<Reading>, id);
            }
        });
    }
}

} // namespace

TEST_CASE(
    "L1: through PgBouncer in transaction mode nothing is lost, and no session keeps anything",
    "[threads]") {
    if (skipped()) { return; }
    const std::uint64_t seed = chosen_seed();
    INFO("seed " << seed);
    const Pool pool;
    Database database{pool.open()};
    database.create_table<Reading>();
    database.create_table<Copy>();
    database.transaction([](Tx& tx) {
        for (std::int64_t id = 0; id < 700; ++id) { tx.insert(reading(id, id)); }
    });
    const std::string before = session_settings(pool.bouncer);
    CHECK(before == "escape 0 4321ms iso_8601 SQL, DMY Asia/Kathmandu\n");

    at::Pipeline touches{
        at::source<Reading>(), copy, database, named("touches", at::Begin::rebuild)};
    at::Pipeline images{
        at::source<Reading>().images(), look_at, database, named("images", at::Begin::rebuild)};
    touches.start();
    images.start();
    std::vector<std::thread> writers;
    for (std::uint64_t i = 0; i < 3; ++i) {
        writers.emplace_back([&, i] { write(pool, seed + i, is_night() ? 3000 : 150); });
    }
    for (std::thread& writer : writers) { writer.join(); }
    CHECK(touches.await_idle() == at::Awaited::idle);
    CHECK(images.await_idle() == at::Awaited::idle);
    CHECK(touches.status().lag->records == 0);
    touches.stop();
    images.stop();
    for (const auto& errors : {touches.errors(), images.errors()}) {
        for (const at::Failure& failure : errors) { FAIL_CHECK(failure.message); }
    }
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM reading") > 600);
    CHECK(one<std::int64_t>(database, differing) == 0);

    CHECK(session_settings(pool.bouncer) == before);
    CHECK(left_behind(database).empty());
    CHECK(database.query(at::type<Reading>, "SELECT * FROM reading WHERE id = 600").front() ==
          reading(600, 600));
    at::remove(database, at::source<Reading>(), at::source<Reading>().images());
    CHECK(one<bool>(database, "SELECT to_regnamespace('aftertouch') IS NULL"));
}

TEST_CASE(
    "K6: a pipeline behind PgBouncer gets over sessions that are ended under it", "[threads]") {
    if (skipped()) { return; }
    const std::uint64_t seed = chosen_seed();
    INFO("seed " << seed);
    Pool pool;
    Database& direct = pool.shop.database;
    Database database{pool.open()};
    direct.create_table<Reading>();
    direct.create_table<Copy>();
    const auto copy_what_is_right = [](const at::Batch<Reading>& batch, Tx& tx) {
        look_at(batch);
        copy(batch, tx);
    };
    at::Pipeline copies{at::source<Reading>().images(), copy_what_is_right, database,
        named("copies", at::Begin::rebuild)};
    copies.start();
    for (int round = 0; round < (is_night() ? 100 : 8); ++round) {
        direct.transaction([&](Tx& tx) {
            for (std::int64_t id = 0; id < 300; ++id) { tx.upsert(reading(id, round)); }
        });
        direct.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                       "current_database() AND pid <> pg_backend_pid() AND query LIKE '%'");
        const std::int64_t gone = (round * 7) % 300;
        direct.execute("DELETE FROM reading WHERE id = " + std::to_string(gone));
    }
    CHECK(copies.await_idle() == at::Awaited::idle);
    copies.stop();
    CHECK(one<std::int64_t>(direct, differing) == 0);
    for (const at::Failure& failure : copies.errors()) { FAIL_CHECK(failure.message); }
}

TEST_CASE("K6: whatever PgBouncer says when it has lost its server, the connection is lost") {
    if (skipped()) { return; }
    Shop shop;
    const std::string host = at::postgres::detail::value_of(shop.place.parameters(), "host");
    PostgresProxy server{host};
    at::postgres::Parameters parameters = shop.place.parameters();
    for (auto& [keyword, value] : parameters) {
        if (keyword == "host") { value = server.folder(); }
    }
    const PgBouncer bouncer{parameters};
    Database database{bouncer.parameters()};
    for (const Cut cut : {Cut::before, Cut::inside, Cut::after}) {
        for (int n = 1; n <= 12; ++n) {
            INFO("message " << n << ", " << static_cast<int>(cut));
            static_cast<void>(database.query(at::type<std::int32_t>, "SELECT 1"));
            server.arm(n, cut);
            try {
                database.transaction([&](Tx& tx) {
                    for (int i = 0; i < 4; ++i) { tx.execute("SELECT 1"); }
                });
            } catch (const at::Error& error) {
                CAPTURE(error.what());
                CHECK(error.code() == at::Errc::connection_lost);
            }
            server.disarm();
        }
    }
}

TEST_CASE("L1: leases go through PgBouncer, beside a batch that takes longer", "[threads]") {
    if (skipped()) { return; }
    Pool pool;
    Database& direct = pool.shop.database;
    direct.create_table<Reading>();
    direct.create_table<Copy>();
    Database of_one{pool.open()};
    Database of_two{pool.open()};
    std::atomic<bool> slow{false};
    const auto slowly = [&](const at::Batch<Reading>& batch, Tx& tx) {
        copy(batch, tx);
        if (slow.exchange(false)) { std::this_thread::sleep_for(std::chrono::seconds{1}); }
    };
    at::Options options = named("copies", at::Begin::rebuild);
    options.lease = std::chrono::milliseconds{300};
    at::Pipeline one{at::source<Reading>().images(), slowly, of_one, options};
    at::Pipeline two{at::source<Reading>().images(), slowly, of_two, options};
    one.start();
    CHECK(one.await_idle() == at::Awaited::idle);
    two.start();
    slow = true;
    direct.transaction([](Tx& tx) { tx.upsert(reading(1, 1)); });
    CHECK(one.await_idle() == at::Awaited::idle);
    CHECK(one.status().changes == 1);
    CHECK(two.status().state == at::State::standby);
    one.stop();
    direct.transaction([](Tx& tx) { tx.upsert(reading(2, 2)); });
    CHECK(two.await_idle() == at::Awaited::idle);
    CHECK(two.status().changes == 1);
    two.stop();
    CHECK(::test::one<std::int64_t>(direct, "SELECT count(*) FROM aftertouch.lease") == 0);
    CHECK(::test::one<std::int64_t>(direct, differing) == 0);
    CHECK(left_behind(of_one).empty());
    for (const auto& errors : {one.errors(), two.errors()}) {
        for (const at::Failure& failure : errors) { FAIL_CHECK(failure.message); }
    }
}

} // namespace pooled
