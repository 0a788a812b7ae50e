// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <crash/nemesis_course.hpp>
#include <postgres/fixture.hpp>
#include <support/catch.hpp>

/// \file
/// Several processes run one pipeline over a PostgreSQL database under a lease, while a nemesis
/// kills, freezes and restarts them and ends their sessions: nothing is lost, doubled or out of
/// order, and nobody commits after another one has taken over (L1). Then the suite itself is
/// tested, with a fence that is broken on purpose.

namespace nemesis_test {

namespace {

namespace at = aftertouch;
using fixture::Database;
using nemesis::Verdict;

constexpr const char* tables =
    "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL);"
    "CREATE TABLE truth (n bigint GENERATED ALWAYS AS IDENTITY, key text, version bigint);"
    "CREATE TABLE ledger (n bigint GENERATED ALWAYS AS IDENTITY, instance text, change text, key "
    "text, version bigint, xid xid8 DEFAULT pg_current_xact_id());"
    "CREATE TABLE total (n bigint);"
    "INSERT INTO total VALUES (0);"
    "CREATE TABLE tenure (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, holder text, seen "
    "pg_snapshot);";
// The trigger runs when the statement that takes the lease is through, so it has the lease's row
// and the checkpoint's; its own statement sees what was committed until then. What the one before
// commits later isn't in the snapshot.
constexpr const char* notes_of_tenure =
    "CREATE FUNCTION note_tenure() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO tenure "
    "(holder, seen) SELECT NEW.holder, pg_current_snapshot(); RETURN NULL; END';"
    "CREATE TRIGGER tenure AFTER INSERT OR UPDATE OF holder ON aftertouch.lease FOR EACH ROW "
    "EXECUTE FUNCTION note_tenure()";

// The database of one course.
class Ground {
public:
    using Database = nemesis_test::Database;
    static constexpr const char* lease = "aftertouch.lease";
    static constexpr const char* long_ago = "'2000-01-01'::timestamptz";
    static constexpr int writers = 2;
    static constexpr bool cuts_off = true;
    // A row was committed in the last tenure whose beginning doesn't see it. A lease that was given
    // back counts as its last holder's until the next one takes it: giving it back fences nothing,
    // and a COMMIT that was on its way may still be carried out.
    static constexpr const char* of_others =
        "SELECT coalesce(sum(rows), 0)::bigint FROM (SELECT xid, instance, count(*) AS rows FROM "
        "ledger GROUP BY xid, instance) AS batch WHERE (SELECT split_part(holder, ' ', 1) FROM "
        "tenure WHERE NOT pg_visible_in_snapshot(xid, seen) ORDER BY n DESC LIMIT 1) IS DISTINCT "
        "FROM instance";
    // Those that share lanes write beside the holder.
    const char* strays = of_others;

    explicit Ground(std::size_t lanes = 1) : lanes_{lanes} {
        if (lanes != 1) { strays = "SELECT 0::bigint"; }
        database_.execute(tables);
        nemesis::begin_pipeline(database_);
        database_.execute(notes_of_tenure);
    }

    [[nodiscard]] Database& database() { return database_; }
    [[nodiscard]] std::unique_ptr<Database> open() const {
        return std::make_unique<Database>(place_.parameters());
    }
    [[nodiscard]] std::unique_ptr<soak::Program> start(
        const nemesis::Words& words, std::vector<std::string> more = {}) const {
        more.push_back("lanes=" + std::to_string(lanes_));
        std::string connection = "application_name='" + words.name + "'";
        for (const auto& [keyword, value] : place_.parameters()) {
            connection += ' ' + keyword + "='" + value + '\'';
        }
        return nemesis::start_program("nemesis_postgres_instance", connection, words, more);
    }
    // Ends sessions of an instance: one, or all of them.
    [[nodiscard]] int cut_off(const std::string& name, bool all) {
        return static_cast<int>(database_
                .query(at::type<std::int64_t>,
                    "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM "
                    "pg_stat_activity WHERE datname = current_database() AND application_name = $1 "
                    "ORDER BY random() LIMIT $2) AS session",
                    name, std::int64_t{all ? 100 : 1})
                .front());
    }

private:
    std::size_t lanes_; // of each instance
    fixture::Place place_{fixture::Kind::server};
    Database database_{place_.open()};
};

void expect_right(int instances, std::size_t lanes = 1, int harm = nemesis::wanted_harm()) {
    Ground ground{lanes};
    nemesis::Nemesis<Ground> course{ground, instances, test::chosen_seed()};
    const Verdict verdict = course.run(harm);
    WARN(verdict.text());
    CHECK(verdict.faults == std::vector<std::string>{});
    CHECK(verdict.changes > harm);
    CHECK(verdict.tenures > harm / 10);
    CHECK(verdict.cuts > 0);
    CHECK((nemesis::number(ground.database(), Ground::of_others) != 0) == (lanes != 1));
}

// Takeovers don't make the checkpoint's version rise any more.
constexpr const char* no_fence =
    "CREATE FUNCTION unfence() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.checkpoint = "
    "OLD.checkpoint AND NEW.version = OLD.version + 1 THEN NEW.version := OLD.version; END IF; "
    "RETURN NEW; END';"
    "CREATE TRIGGER unfence BEFORE UPDATE ON aftertouch.checkpoint FOR EACH ROW EXECUTE FUNCTION "
    "unfence()";

// One is overtaken inside a batch and can't know of it, for it renews every quarter of an hour. The
// next one waits for rows that the first has locked, so that the first one commits, if it can.
[[nodiscard]] std::vector<std::string> overtake(Ground& ground) {
    using namespace std::chrono_literals;
    const nemesis::Gate gate;
    const auto one = ground.start({"one", 1h}, gate.words());
    nemesis::write_items(ground.database(), 1, 1);
    REQUIRE(gate.is_reached());
    const auto two = ground.start({"two", 1h});
    nemesis::let_lease_end(ground, "one");
    REQUIRE(nemesis::comes_true([&] { return nemesis::last_holder(ground) == "two"; }));
    gate.open();
    REQUIRE(nemesis::comes_true([&] { return nemesis::is_drained(ground); }));
    for (const auto& program : {one.get(), two.get()}) { program->ask_to_end(); }
    CHECK(one->wait() == 0);
    CHECK(two->wait() == 0);
    std::vector<std::string> faults;
    nemesis::judge(ground, faults);
    return faults;
}

} // namespace

TEST_CASE("L1: two processes and a nemesis", "[slow]") { expect_right(2); }
TEST_CASE("L1: three processes and a nemesis", "[slow]") { expect_right(3); }
TEST_CASE("L1: five processes and a nemesis", "[slow]") { expect_right(5); }
TEST_CASE("L2: three processes that share lanes, and a nemesis", "[slow]") {
    expect_right(3, 4, nemesis::wanted_harm() / 2);
}

TEST_CASE("L1: an instance that is overtaken inside a batch, and doesn't know, commits nothing") {
    Ground ground;
    CHECK(overtake(ground) == std::vector<std::string>{});
    CHECK(nemesis::number(
              ground.database(), "SELECT count(*) FROM ledger WHERE instance = 'one'") == 0);
}
TEST_CASE("P20: the nemesis finds out a takeover that doesn't fence") {
    Ground ground;
    ground.database().execute(no_fence);
    CHECK(overtake(ground) ==
          std::vector<std::string>{"2 rows were written by an instance that hadn't the lease"});
}

// 5c: the server ends a batch whose process is silent, before the lease ends.
TEST_CASE("L1: an instance that is frozen inside a batch locks no rows of the next one's") {
    using namespace std::chrono_literals;
    Ground ground;
    Database& database = ground.database();
    const nemesis::Gate gate;
    const auto one = ground.start({"one", 2s}, gate.words());
    nemesis::write_items(database, 1, 1);
    REQUIRE(gate.is_reached());
    CHECK_THROWS_AS(database.query(at::type<std::int64_t>, "SELECT n FROM total FOR UPDATE NOWAIT"),
        at::Error); // it has the row
    one->freeze();
    const auto two = ground.start({"two", 2s});
    REQUIRE(nemesis::comes_true([&] { return nemesis::is_drained(ground); }));
    CHECK(nemesis::last_holder(ground) == "two");
    gate.open();
    one->thaw();
    CHECK(gate.tells(at::Moment::standby));
    nemesis::write_items(database, 1, 2);
    REQUIRE(nemesis::comes_true([&] { return nemesis::is_drained(ground); }));
    CHECK(!one->ended());
    CHECK(nemesis::number(database, "SELECT count(*) FROM ledger WHERE instance <> 'two'") == 0);
    std::vector<std::string> faults;
    nemesis::judge(ground, faults);
    CHECK(faults == std::vector<std::string>{});
}

} // namespace nemesis_test
