// SPDX-License-Identifier: MIT
// P1, P3, P5, K1, L1: how a position is taken, kept and pruned behind, as schedules of sessions.
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <support/catch.hpp>

#include "schemes.hpp"

using namespace test;

namespace positions {

namespace {

using Ids = std::vector<std::int64_t>;

std::string insert(int id) { return "INSERT INTO item VALUES (" + std::to_string(id) + ", 1)"; }
std::string raise(int id) {
    return "UPDATE item SET version = version + 1 WHERE id = " + std::to_string(id);
}

} // namespace

TEST_CASE("P1: a handler's own change of its source is handed over, as no late snapshot would") {
    Stage stage;
    Scheme late{stage.shop, Rule::late_snapshot};
    stage.ours.also([](const at::Batch<ledger::Item>& batch, Tx& tx) {
        if (batch.ids().front() == 1) { tx.execute("INSERT INTO item VALUES (2, 1)"); }
    });
    stage.table.run(insert(1));
    stage.ours.poll();
    CHECK(stage.ours.ledger().ids() == Ids{1, 2});

    // The same from a transaction that has an id before it takes its snapshot, while others with
    // higher ids end.
    late.poll();
    Session b{stage.shop, "B"};
    late.also("INSERT INTO item VALUES (3, 1)");
    late.poll([&] { b.run(insert(4)); });
    late.also("");
    CHECK(stage.verdict().empty());
    CHECK(late.verdict(stage.table) == "item 3 is at 1, and was followed to nothing; ");
}

TEST_CASE("P1: the first position is taken where nothing has been written yet") {
    Shop shop;
    Session table{shop, "table"};
    table.run("CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL)");
    Session a{shop, "A"};
    Session b{shop, "B"};
    a.run("BEGIN; SELECT pg_current_xact_id()");
    b.run("BEGIN; SELECT pg_current_xact_id(); SELECT pg_current_xact_id()");
    Reader reader{shop}; // installs, and begins now
    a.run(insert(1) + "; COMMIT");
    reader.poll();
    b.run(insert(2) + "; COMMIT");
    reader.poll();
    CHECK(reader.ledger().verdict(table).empty());
    CHECK(reader.ledger().ids() == Ids{1, 2});
}

TEST_CASE("P1: a transaction that began long before and wrote early is found behind many windows") {
    Stage stage;
    Session old{stage.shop, "old"};
    Session older{stage.shop, "older"};
    Session b{stage.shop, "B"};
    older.run("BEGIN; SELECT pg_current_xact_id()");
    old.run("BEGIN; " + insert(1));
    older.run(insert(2));
    int id = 10;
    for (int window = 0; window < 50; ++window) {
        for (int i = 0; i < 3; ++i) { b.run(insert(id++)); }
        stage.ours.poll();
    }
    older.run(insert(3));
    b.run(insert(id++));
    stage.ours.poll();
    old.run(insert(4) + "; COMMIT");
    stage.ours.poll();
    CHECK(stage.ours.ledger().ids().size() == 153);
    older.run("COMMIT");
    CHECK(stage.verdict().empty());
    CHECK(stage.ours.ledger().ids().size() == 155);
}

TEST_CASE("P1: old and new transactions that end in one window come by their numbers") {
    for (const std::size_t batch_size : {1U, 2U, 500U}) {
        Stage stage{
            "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL)", batch_size};
        stage.table.run(insert(7));
        stage.ours.poll();
        Session a{stage.shop, "A"};
        Session b{stage.shop, "B"};
        a.run("BEGIN; " + raise(7) + "; " + insert(8));
        b.run(insert(9));
        stage.ours.poll();
        b.send(raise(7));
        REQUIRE(stage.observer.waits(b));
        a.run("COMMIT");
        CHECK(b.answer().state.empty());
        b.run(raise(8));
        CHECK(stage.verdict().empty());
        CHECK(stage.ours.ledger().ids() == Ids{7, 9, 7, 8, 7, 8});
    }
}

TEST_CASE("K1, P1: batches of one change, and writers between any two of them") {
    Stage stage{"CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL)", 1};
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    a.run("BEGIN; INSERT INTO item SELECT i, 1 FROM generate_series(1, 30) AS i");
    b.run("INSERT INTO item SELECT i, 1 FROM generate_series(31, 60) AS i");
    for (int i = 0; i < 20; ++i) { stage.ours.pipeline().run_once(); }
    a.run("COMMIT");
    for (int i = 0; i < 30; ++i) {
        stage.ours.pipeline().run_once();
        b.run(raise(i + 1) + "; " + raise(60 - i));
    }
    CHECK(stage.verdict().empty());
}

TEST_CASE("O2: pruning by DELETE behind the oldest position takes nothing that is to come") {
    Stage stage;
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    a.run("BEGIN; " + insert(1));
    b.run(insert(2));
    stage.ours.poll();
    stage.shop.database.prune();
    CHECK(stage.table.run("SELECT count(*) FROM aftertouch.log").value() == "0");
    b.run(insert(3));
    a.run("COMMIT");
    stage.shop.database.prune(); // before either was read
    CHECK(stage.verdict().empty());
    CHECK(stage.ours.ledger().ids() == Ids{2, 1, 3});
}

TEST_CASE("O2: a TRUNCATE that waits for a writer would take what it commits, and is refused") {
    Stage stage;
    Session a{stage.shop, "A"};
    Session r{stage.shop, "R"};
    a.run("BEGIN; " + insert(1));
    r.send("TRUNCATE aftertouch.log");
    REQUIRE(stage.observer.waits(r));
    a.run("COMMIT");
    CHECK(!r.answer().state.empty());
    CHECK(r.message().find("DELETE") != std::string::npos);
    CHECK(stage.verdict().empty());
}

TEST_CASE("R1, C7: installing waits for open writers, so that the rebuild has what they write") {
    Shop shop;
    Session table{shop, "table"};
    table.run("CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL)");
    Observer observer{shop};
    Session a{shop, "A"};
    a.run("BEGIN; " + insert(1));
    Ids ids;
    at::Options options;
    options.name = "p";
    at::Pipeline pipeline{at::source<ledger::Item>(),
        [&](const at::Batch<ledger::Item>& batch) {
            ids.insert(ids.end(), batch.ids().begin(), batch.ids().end());
        },
        shop.database, options};
    std::thread installer{[&] { pipeline.drain(); }};
    observer.await_waiter();
    a.run(insert(2) + "; COMMIT");
    installer.join();
    CHECK(ids == Ids{1, 2});
    a.run(insert(3));
    pipeline.drain();
    CHECK(ids == Ids{1, 2, 3});
}

TEST_CASE("R2: a truncation between two pages of a rebuild starts it anew") {
    Shop shop;
    Session a{shop, "A"};
    a.run("CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL); CREATE TABLE copy "
          "(id bigint PRIMARY KEY, version bigint NOT NULL); INSERT INTO item SELECT i, 1 FROM "
          "generate_series(1, 9) AS i");
    at::Options options;
    options.name = "p";
    options.batch_size = 2;
    at::Pipeline pipeline{at::source<ledger::Item>(),
        at::handle(at::on_batch([](const at::Batch<ledger::Item>& batch, Tx& tx) {
            for (const std::int64_t id : batch.missing()) {
                tx.execute("DELETE FROM copy WHERE id = $1", id);
            }
            for (const ledger::Item& item : batch.records()) {
                tx.execute("INSERT INTO copy VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET "
                           "version = excluded.version",
                    item.id, item.version);
            }
        }),
            at::on_rebuild_started([](std::int64_t, Tx& tx) { tx.execute("DELETE FROM copy"); })),
        shop.database, options};
    for (int i = 0; i < 3; ++i) { pipeline.run_once(); }
    CHECK(a.run("SELECT count(*) FROM copy").value() != "0");
    a.run("BEGIN; DELETE FROM item WHERE id = 9; TRUNCATE item; INSERT INTO item VALUES (2, 5), "
          "(100, 1); COMMIT");
    pipeline.drain();
    CHECK(a.run("SELECT string_agg(concat(copy), '' ORDER BY id) FROM copy").value() ==
          "(2,5)(100,1)");
}

TEST_CASE("L1: a reader that was overtaken inside its batch commits nothing, and is told") {
    Stage stage;
    stage.table.run("CREATE TABLE effect (id bigint)");
    const auto note = [](const at::Batch<ledger::Item>& batch, Tx& tx) {
        for (const std::int64_t id : batch.ids()) {
            tx.execute("INSERT INTO effect VALUES ($1)", id);
        }
    };
    Shop& shop = stage.shop;
    Database second_program{shop.place.open()};
    at::Options options;
    options.name = "reader";
    options.observer = {};
    at::Pipeline second{at::source<ledger::Item>().images(),
        [&](const at::Batch<ledger::Item>& batch, Tx& tx) { note(batch, tx); }, second_program,
        options};
    second.drain();
    bool overtaken = false;
    stage.ours.also([&](const at::Batch<ledger::Item>& batch, Tx& tx) {
        note(batch, tx);
        if (overtaken) { return; }
        overtaken = true;
        std::thread{[&] { second.drain(); }}.join(); // paused here, while the other one is faster
    });
    stage.table.run(insert(1) + "; " + insert(2));
    try {
        stage.ours.poll();
    } catch (const at::Error& error) { CHECK(error.code() == at::Errc::fenced); }
    CHECK(stage.table.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM effect").value() ==
          "1 2");
    stage.table.run(insert(3));
    second.drain();
    CHECK(stage.table.run("SELECT string_agg(id::text, ' ' ORDER BY id) FROM effect").value() ==
          "1 2 3");
}

TEST_CASE("P1: the search for changes doesn't trust a log whose numbers are drawn before ids") {
    Stage stage;
    stage.table.run(
        "ALTER TABLE aftertouch.log DROP COLUMN xid; ALTER TABLE aftertouch.log ADD COLUMN xid "
        "xid8 NOT NULL DEFAULT pg_current_xact_id()");
    CHECK_THROWS_SAYING(at::verify(stage.shop.database, at::source<ledger::Item>().images()),
        at::Error, "xid stands behind seq");
}

} // namespace positions
