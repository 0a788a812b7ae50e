// SPDX-License-Identifier: MIT
// P1 to P3: the schedules in which other ways to follow a log lose changes, or turn those of one
// record round. Each is played by real sessions; the library is right, and the other way is caught.
#include <cstdint>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "schemes.hpp"

using namespace test;

namespace order {

namespace {

using Ids = std::vector<std::int64_t>;

std::string insert(int id) { return "INSERT INTO item VALUES (" + std::to_string(id) + ", 1)"; }
std::string raise(int id) {
    return "UPDATE item SET version = version + 1 WHERE id = " + std::to_string(id);
}

/// A log of our own beside the library's, filled by a trigger of another kind.
void add_other_log(Session& session, const std::string& trigger) {
    session.run(
        "CREATE TABLE other_log (xid xid8 DEFAULT pg_current_xact_id(), seq bigint GENERATED "
        "ALWAYS AS IDENTITY, op \"char\", image text); CREATE FUNCTION note() RETURNS trigger "
        "LANGUAGE plpgsql AS $$ BEGIN INSERT INTO other_log (op, image) VALUES (left(TG_OP, 1), "
        "CASE TG_OP WHEN 'INSERT' THEN concat(NEW) WHEN 'DELETE' THEN concat(OLD) ELSE "
        "concat(OLD, NEW) END); RETURN coalesce(NEW, OLD); END $$; " +
        trigger);
}

} // namespace

TEST_CASE("P1: a lower number that is committed later isn't stepped over, as by `seq > last`") {
    Stage stage;
    Scheme naive{stage.shop, Rule::number};
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    a.run("BEGIN; " + insert(1));
    b.run(insert(2));
    naive.poll();
    stage.ours.poll();
    CHECK(stage.ours.ledger().ids() == Ids{2});
    a.run("COMMIT");
    CHECK(stage.verdict().empty());
    CHECK(stage.ours.ledger().ids() == Ids{2, 1});
    CHECK(naive.verdict(stage.table) == "item 1 is at 1, and was followed to nothing; ");
}

TEST_CASE("P2: a record's changes come by commit, not by the ids of transactions") {
    Stage stage;
    Scheme by_id{stage.shop, Rule::transaction};
    Scheme control{stage.shop, Rule::window};
    stage.table.run(insert(7));
    for (Scheme* scheme : {&by_id, &control}) { scheme->poll(); }
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    a.run("BEGIN; SELECT pg_current_xact_id()");
    b.run(raise(7));
    a.run(raise(7) + "; COMMIT");
    by_id.poll();
    control.poll();
    CHECK(stage.verdict().empty());
    CHECK(!by_id.ledger().in_order());
    CHECK(control.verdict(stage.table).empty());
}

TEST_CASE("P1: numbers below the oldest running transaction are no cure") {
    Stage stage;
    Scheme naive{stage.shop, Rule::number_below_horizon};
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    a.run("BEGIN; SELECT pg_current_xact_id()");
    b.run("BEGIN; " + insert(1));
    a.run(insert(2) + "; COMMIT");
    naive.poll();
    stage.ours.poll();
    CHECK(stage.ours.ledger().ids() == Ids{2});
    b.run("COMMIT");
    CHECK(stage.verdict().empty());
    CHECK(naive.verdict(stage.table) == "item 1 is at 1, and was followed to nothing; ");
}

TEST_CASE("P2, P3: a bystander's transaction neither turns changes round nor delays them") {
    Stage stage;
    Scheme by_horizon{stage.shop, Rule::horizon_window};
    stage.table.run(insert(7));
    by_horizon.poll();
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    Session d{stage.shop, "D"};
    a.run("BEGIN; SELECT pg_current_xact_id()");
    d.run("BEGIN; SELECT pg_current_xact_id()");
    b.run(raise(7));
    a.run(raise(7) + "; COMMIT");
    by_horizon.poll();
    CHECK(by_horizon.ledger().ids() == Ids{7, 7});
    CHECK(stage.verdict().empty()); // D is still open
    d.run("COMMIT");
    by_horizon.poll();
    CHECK(!by_horizon.ledger().in_order());
    CHECK(stage.verdict().empty());
}

TEST_CASE("P1: a bound that was read before the snapshot steps over what runs above its end") {
    Stage stage;
    Scheme bounded{stage.shop, Rule::bound_before};
    Scheme control{stage.shop, Rule::window};
    Session a{stage.shop, "A"};
    a.run("BEGIN; " + insert(1));
    for (Scheme* scheme : {&bounded, &control}) { scheme->poll(); }
    stage.ours.poll();
    a.run("COMMIT");
    CHECK(stage.verdict().empty());
    CHECK(control.verdict(stage.table).empty());
    CHECK(bounded.verdict(stage.table) == "item 1 is at 1, and was followed to nothing; ");
}

TEST_CASE("P1: what is written in subtransactions goes by the top one's id") {
    Stage stage;
    Scheme by_version{stage.shop, Rule::row_version};
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    a.run("BEGIN; SELECT pg_current_xact_id(); SAVEPOINT a; " + insert(1) +
          "; DO $$ BEGIN INSERT INTO item VALUES (2, 1); EXCEPTION WHEN division_by_zero THEN "
          "NULL; END $$");
    b.run(insert(3) + "; " + insert(4));
    stage.ours.poll();
    by_version.poll();
    a.run("COMMIT");
    CHECK(stage.verdict().empty());
    CHECK(stage.ours.ledger().ids() == Ids{3, 4, 1, 2});
    CHECK(!by_version.verdict(stage.table).empty());
}

TEST_CASE("P1: more subtransactions than a snapshot can list, some of them rolled back") {
    Stage stage;
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    a.run("BEGIN");
    for (int i = 1; i <= 160; ++i) {
        a.run("SAVEPOINT s; " + insert(i) + (i % 3 == 0 ? "; ROLLBACK TO s" : ""));
        if (i % 40 == 0) {
            b.run(insert(1000 + i));
            stage.ours.poll();
        }
    }
    CHECK(stage.ours.ledger().ids() == Ids{1040, 1080, 1120, 1160});
    a.run("COMMIT");
    CHECK(stage.verdict().empty());
    CHECK(stage.ours.ledger().ids().size() == 4 + 160 - 53);
}

TEST_CASE("P3: a prepared transaction holds up nothing, and isn't lost") {
    Stage stage;
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    const std::string name = "'order_" + std::to_string(getpid()) + "'";
    a.run("BEGIN; " + insert(1) + "; PREPARE TRANSACTION " + name);
    for (int i = 2; i < 40; ++i) { // more windows than a position keeps marks for
        b.run(insert(i));
        stage.ours.poll();
    }
    CHECK(stage.ours.ledger().ids().size() == 38);
    b.run("COMMIT PREPARED " + name);
    CHECK(stage.verdict().empty());
    a.run("BEGIN; " + raise(1) + "; PREPARE TRANSACTION " + name);
    stage.ours.poll();
    b.run("ROLLBACK PREPARED " + name);
    b.run(raise(1));
    CHECK(stage.verdict().empty());
}

TEST_CASE("P2: a sequence that hands numbers out by twenties turns changes round, and is refused") {
    Stage stage;
    Scheme control{stage.shop, Rule::window};
    stage.table.run(insert(7) + "; " + insert(8));
    REQUIRE(control.verdict(stage.table).empty());
    stage.table.run("ALTER TABLE aftertouch.log ALTER seq SET CACHE 20");
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    b.run(raise(8)); // takes twenty numbers for itself
    a.run(raise(7));
    b.run(raise(7));
    control.poll();
    CHECK(!control.ledger().in_order());
    CHECK_THROWS_SAYING(
        at::verify(stage.shop.database, at::source<ledger::Item>().images()), at::Error, "CACHE");
}

TEST_CASE("P1: a deferred trigger is no cure: its transaction can still wait inside its commit") {
    Stage stage;
    add_other_log(stage.table,
        "CREATE CONSTRAINT TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON item DEFERRABLE INITIALLY "
        "DEFERRED FOR EACH ROW EXECUTE FUNCTION note(); CREATE TABLE gate (); CREATE FUNCTION "
        "wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.id = 1 THEN LOCK TABLE gate; "
        "END IF; RETURN NEW; END $$; CREATE CONSTRAINT TRIGGER b AFTER INSERT ON item DEFERRABLE "
        "INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()");
    Scheme deferred{stage.shop, Rule::number, "other_log"};
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    Session gate{stage.shop, "gate"};
    gate.run("BEGIN; LOCK TABLE gate");
    a.send(insert(1));
    REQUIRE(stage.observer.waits(a)); // in its commit
    b.run(insert(2));
    deferred.poll();
    stage.ours.poll();
    CHECK(stage.ours.ledger().ids() == Ids{2});
    gate.run("COMMIT");
    CHECK(a.answer().state.empty());
    CHECK(stage.verdict().empty());
    CHECK(deferred.verdict(stage.table) == "item 1 is at 1, and was followed to nothing; ");
}

TEST_CASE("P2: writers of every isolation level that want one row") {
    for (const std::string level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
        INFO(level);
        Stage stage;
        stage.table.run(insert(7));
        Session a{stage.shop, "A"};
        Session b{stage.shop, "B"};
        const std::string begin = "BEGIN ISOLATION LEVEL " + level + "; SELECT count(*) FROM item";
        a.run(begin);
        b.run(begin);
        a.run(raise(7));
        b.send(raise(7));
        REQUIRE(stage.observer.waits(b));
        stage.ours.poll();
        a.run("COMMIT");
        const std::string state = b.answer().state;
        CHECK(state == (level == "READ COMMITTED" ? "" : "40001"));
        CHECK(stage.verdict().empty());
        b.run("COMMIT");
        CHECK(stage.verdict().empty());
        CHECK(stage.ours.ledger().ids().size() == (level == "READ COMMITTED" ? 3 : 2));
    }
}

TEST_CASE(
    "P2: a key that may be written twice until commit turns its changes round, and is refused") {
    Stage stage;
    Scheme control{stage.shop, Rule::window};
    stage.table.run(insert(7));
    REQUIRE(control.verdict(stage.table).empty());
    stage.table.run("ALTER TABLE item DROP CONSTRAINT item_pkey; ALTER TABLE item ADD CONSTRAINT "
                    "item_pkey PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED");
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    a.run("BEGIN; INSERT INTO item VALUES (7, 10)"); // doesn't wait
    b.run("DELETE FROM item WHERE version = 1");
    a.run("COMMIT");
    control.poll();
    CHECK(!control.ledger().in_order());
    CHECK_THROWS_SAYING(at::verify(stage.shop.database, at::source<ledger::Item>().images()),
        at::Error, "isn't deferrable");
}

TEST_CASE("P2: a trigger that runs before the row is written draws its number too early") {
    Stage stage;
    add_other_log(stage.table, "CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON item FOR "
                               "EACH ROW EXECUTE FUNCTION note()");
    Scheme before{stage.shop, Rule::window, "other_log"};
    stage.table.run(insert(7));
    REQUIRE(before.verdict(stage.table).empty());
    Session a{stage.shop, "A"};
    Session b{stage.shop, "B"};
    b.run("BEGIN; DELETE FROM item");
    a.send("INSERT INTO item VALUES (7, 10)");
    REQUIRE(stage.observer.waits(a)); // for the key, with a number of its own already
    b.run("INSERT INTO item VALUES (7, 2); DELETE FROM item; COMMIT");
    CHECK(a.answer().state.empty());
    before.poll();
    CHECK(!before.ledger().in_order());
    CHECK(stage.verdict().empty());
}

TEST_CASE(
    "P2: a trigger of the user's that changes the row again: whoever reads the row is right") {
    Stage stage{
        "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL); CREATE FUNCTION "
        "again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE item SET version = version + "
        "1 WHERE id = NEW.id AND version < 3; RETURN NEW; END $$; CREATE TRIGGER again AFTER "
        "INSERT ON item FOR EACH ROW EXECUTE FUNCTION again(); CREATE TABLE copy (id bigint "
        "PRIMARY KEY, version bigint NOT NULL)"};
    stage.ours.also([](const at::Batch<ledger::Item>& batch, Tx& tx) {
        for (const ledger::Item& item : batch.records()) {
            tx.execute("INSERT INTO copy VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET version = "
                       "excluded.version",
                item.id, item.version);
        }
    });
    stage.table.run(insert(1) + "; INSERT INTO item VALUES (2, 1), (3, 2), (4, 3)");
    stage.ours.poll();
    CHECK(stage.table
              .run("SELECT count(*) FROM item NATURAL FULL JOIN copy WHERE item IS NULL OR copy IS "
                   "NULL")
              .value() == "0");
    // What the images say is published: the update stands before the insert that it follows.
    CHECK(!stage.ours.ledger().in_order());
}

} // namespace order
