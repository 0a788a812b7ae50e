// SPDX-License-Identifier: MIT
// C3, O3: what replicas write is captured when asked for, and how triggers fire is compared.
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;

namespace replicated {

struct Item {
    std::int64_t id = 0;
    std::string name;
};
struct Copy {
    std::int64_t id = 0;
    std::string name;
};

} // namespace replicated

template <>
struct aftertouch::EntityTraits<replicated::Copy> {
    static constexpr auto table = "item_copy";
};

namespace replicated {

namespace {

const auto plain = at::source<Item>();
const auto always = at::source<Item>().always();

constexpr std::string_view items = "CREATE TABLE item (id bigint PRIMARY KEY, name text NOT NULL)";

/// A copy of item that begins anew with each rebuild.
struct KeepCopy {
    void rebuild_started(std::int64_t, Tx& tx) const { tx.execute("DELETE FROM item_copy"); }
    void operator()(const at::Batch<Item>& batch, Tx& tx) const {
        for (const Item& now : batch.records()) { tx.upsert(Copy{now.id, now.name}); }
        for (const std::int64_t gone : batch.missing()) { tx.erase(at::type<Copy>, gone); }
    }
};

constexpr std::string_view copied =
    "SELECT coalesce(string_agg(id || name, ' ' ORDER BY id), '') FROM item_copy";

std::string conninfo(const fixture::Place& place) {
    std::string text;
    std::map<std::string, std::string> last;
    for (const auto& [keyword, value] : place.parameters()) { last[keyword] = value; }
    for (const auto& [keyword, value] : last) { text += keyword + "=''" + value + "'' "; }
    return text;
}

/// The table item of one database, replicated into another one of the same server.
class Replication {
public:
    Replication() {
        from.database.execute(items);
        from.database.execute("INSERT INTO item VALUES (1, 'a'), (2, 'b')");
        from.database.execute("CREATE PUBLICATION items FOR TABLE item");
        from.database.execute(
            "SELECT pg_create_logical_replication_slot('" + slot + "', 'pgoutput')");
        to.database.execute(items);
        to.database.create_table<Copy>();
    }
    ~Replication() {
        try {
            to.database.execute("ALTER SUBSCRIPTION items DISABLE");
            to.database.execute("ALTER SUBSCRIPTION items SET (slot_name = NONE)");
            to.database.execute("DROP SUBSCRIPTION items");
            from.database.execute("SELECT pg_terminate_backend(active_pid, 10000) FROM "
                                  "pg_replication_slots WHERE database = current_database() AND "
                                  "active_pid IS NOT NULL");
            from.database.execute("SELECT pg_drop_replication_slot(slot_name) FROM "
                                  "pg_replication_slots WHERE database = current_database()");
        } catch (const at::Error& error) {
            WARN(error.what()); // a test that failed says why itself
        }
    }

    void begin() {
        // Creating the slot from inside the same server would wait for itself.
        to.database.execute("CREATE SUBSCRIPTION items CONNECTION '" + conninfo(from.place) +
                            "' PUBLICATION items WITH (create_slot = false, slot_name = '" + slot +
                            "')");
    }

    /// Waits until what was written is applied.
    void await() {
        const auto written =
            one<std::string>(from.database, "SELECT pg_current_wal_insert_lsn()::text");
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (
            !one<bool>(from.database, "SELECT confirmed_flush_lsn >= '" + written +
                                          "' FROM pg_replication_slots WHERE slot_name = '" + slot +
                                          "'") ||
            !one<bool>(to.database, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel")) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    Shop from;
    Shop to;
    std::string slot = "aftertouch_" + std::to_string(getpid());
};

std::vector<std::string> captured(Database& database, const std::string& capture) {
    return database.query(at::type<std::string>,
        "SELECT concat(op, key) FROM aftertouch.log WHERE capture = (SELECT id FROM "
        "aftertouch.capture WHERE name = $1) ORDER BY seq",
        capture);
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("C3: what logical replication writes is captured with always(), and only then") {
    Replication replication;
    Database& database = replication.to.database;
    at::install(database, plain);
    at::Pipeline copies{always, KeepCopy{}, database, named("copies")};
    copies.drain(); // from here on
    replication.begin();
    replication.await();
    copies.drain();
    CHECK(one<std::string>(database, copied) == "1a 2b"); // the first copy of the table
    replication.from.database.execute(
        "INSERT INTO item SELECT i, 'n' FROM generate_series(3, 20) AS i; UPDATE item SET name = "
        "'c' WHERE id = 2; UPDATE item SET id = 21 WHERE id = 3; DELETE FROM item WHERE id > 3 AND "
        "id < 20");
    replication.await();
    copies.drain();
    CHECK(one<std::string>(database, copied) == "1a 2c 20n 21n");
    replication.from.database.execute("TRUNCATE item; INSERT INTO item VALUES (5, 'e')");
    replication.await();
    copies.drain();
    CHECK(one<std::string>(database, copied) == "5e");
    // Statement triggers aren't fired by the replication's worker.
    CHECK(captured(database, plain.capture().name).empty());
    CHECK(at::verify(database, plain, always).empty());
}

TEST_CASE("C3: replica-role writes are captured with always(), also straight into a partition") {
    for (const bool partitioned : {false, true}) {
        Shop shop;
        Database& database = shop.database;
        database.execute(std::string{items} + (partitioned ? " PARTITION BY RANGE (id)" : ""));
        if (partitioned) {
            database.execute("CREATE TABLE low PARTITION OF item FOR VALUES FROM (0) TO (10); "
                             "CREATE TABLE high PARTITION OF item FOR VALUES FROM (10) TO (20)");
        }
        at::install(database, always, plain);
        CHECK(at::verify(database, always, plain).empty());
        const std::string other = partitioned ? "high" : "item";
        if (partitioned) {
            database.execute("CREATE TABLE top PARTITION OF item FOR VALUES FROM (20) TO (30)");
            at::install(database, always, plain); // for TRUNCATE of it
        }
        database.execute("SET session_replication_role = replica");
        database.execute("INSERT INTO " + other + " VALUES (11, 'x')");
        database.execute("UPDATE item SET id = 12; UPDATE item SET id = 22; MERGE INTO item USING "
                         "(VALUES (22), (3)) AS v(id) ON item.id = v.id WHEN MATCHED THEN DELETE "
                         "WHEN NOT MATCHED THEN INSERT VALUES (v.id, 'm')");
        database.execute("TRUNCATE " + other);
        database.execute("RESET session_replication_role");
        CHECK(captured(database, always.capture().name) ==
              Texts{"I11", "D11", "I12", "D12", "I22", "D22", "I3", "X"});
        CHECK(captured(database, plain.capture().name).empty());
        database.execute("DELETE FROM item");
        CHECK(captured(database, plain.capture().name) == (partitioned ? Texts{"D3"} : Texts{}));
    }
}

TEST_CASE("O3: verify tells when a trigger fires otherwise than it was declared") {
    for (const bool partitioned : {false, true}) {
        Shop shop;
        Database& database = shop.database;
        database.execute(std::string{items} + (partitioned ? " PARTITION BY RANGE (id)" : ""));
        if (partitioned) {
            database.execute("CREATE TABLE low PARTITION OF item FOR VALUES FROM (0) TO (10)");
        }
        const auto per_row = plain.per_row();
        at::install(database, always, per_row);
        const auto trigger = [&](const char* name) {
            return "\"!aftertouch_" + one<std::string>(database,
                                          "SELECT id::text FROM aftertouch.capture WHERE name = '" +
                                              std::string{name} + "'");
        };
        const std::string of_always = trigger(always.capture().name.c_str());
        const std::string of_plain = trigger(per_row.capture().name.c_str());
        struct Drift {
            std::string sql;
            std::string what;
            bool lost;
        };
        std::vector<Drift> drifts{{"ALTER TABLE item ENABLE TRIGGER " + of_always + "_insert\"",
                                      "_insert on public.item doesn't fire for replicas", true},
            {"ALTER TABLE item DISABLE TRIGGER " + of_always + "_delete\"",
                "_delete on public.item is switched off", true},
            {"ALTER TABLE item ENABLE REPLICA TRIGGER " + of_plain + "_update\"",
                "_update on public.item is switched off", true},
            {"ALTER TABLE item ENABLE ALWAYS TRIGGER " + of_plain + "_truncate\"",
                "_truncate on public.item fires for replicas too", false}};
        if (partitioned) {
            drifts.push_back({"ALTER TABLE low DISABLE TRIGGER " + of_plain + "_insert\"",
                "_insert on public.low is switched off", true});
            drifts.push_back({"ALTER TABLE low ENABLE TRIGGER " + of_always + "_update\"",
                "_update on public.low doesn't fire for replicas", true});
            drifts.push_back({"ALTER TABLE low DISABLE TRIGGER " + of_always + "_truncate\"",
                "_truncate on public.low is switched off", true});
        }
        for (const Drift& drift : drifts) {
            INFO(drift.sql);
            database.execute(drift.sql);
            const std::vector<at::Difference> found = at::verify(database, always, per_row);
            REQUIRE(!found.empty());
            bool told = false;
            for (const at::Difference& difference : found) {
                INFO(difference.what);
                told = told || difference.what.find(drift.what) != std::string::npos;
                CHECK(difference.lost == drift.lost);
            }
            CHECK(told);
            CHECK(at::install(database, always, per_row));
            CHECK(at::verify(database, always, per_row).empty());
        }
    }
}

TEST_CASE("C3: per_row() captures what statements do, row by row") {
    Shop shop;
    Database& database = shop.database;
    database.execute(items);
    const auto rows = plain.images().per_row();
    at::install(database, plain.images(), rows, plain.per_row());
    CHECK(one<bool>(database,
        "SELECT bool_and((tgtype & 1) = 1) FROM pg_trigger WHERE tgfoid::regproc::text ~ "
        "'capture_[23]_(insert|update|delete)'"));
    database.execute(
        "INSERT INTO item SELECT i, 'n' FROM generate_series(1, 30) AS i; UPDATE item "
        "SET name = 'm' WHERE id < 9; UPDATE item SET id = id + 100 WHERE id > 28; "
        "DELETE FROM item WHERE id BETWEEN 10 AND 20; COPY item FROM PROGRAM 'echo 7000,x' CSV; "
        "INSERT INTO item VALUES (1, 'u') ON CONFLICT (id) DO UPDATE SET name = 'u'; TRUNCATE "
        "item");
    const auto log = [&](int capture) {
        return one<std::string>(
            database, "SELECT string_agg(concat_ws(' ', op, key, image), E'\\n' ORDER BY seq) FROM "
                      "aftertouch.log WHERE capture = " +
                          std::to_string(capture));
    };
    CHECK(log(1) == log(2));
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM aftertouch.log WHERE capture = 3") ==
          one<std::int64_t>(database, "SELECT count(*) FROM aftertouch.log WHERE capture = 1"));
}

} // namespace replicated
