// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <crash/nemesis_course.hpp>
#include <support/catch.hpp>

#include <aftertouch/sqlite.hpp>

/// \file
/// Several processes run one pipeline over a SQLite file under a lease, while a nemesis kills,
/// freezes and restarts them: nothing is lost, doubled or out of order, and nobody writes without
/// the lease (L1). Then the suite itself is tested, with a fence that is broken on purpose.

namespace nemesis_test {

namespace {

namespace at = aftertouch;
using at::sqlite::Database;
using nemesis::Verdict;

// Who writes has the file's write lock, so what a trigger reads is true until the commit: whoever
// took the lease last, and nobody once it was given back.
constexpr const char* tables =
    "CREATE TABLE item (id INTEGER PRIMARY KEY, version INTEGER NOT NULL);"
    "CREATE TABLE truth (n INTEGER PRIMARY KEY, key TEXT, version INTEGER);"
    "CREATE TABLE ledger (n INTEGER PRIMARY KEY, instance TEXT, change TEXT, key TEXT, version "
    "INTEGER, holder TEXT);"
    "CREATE TABLE total (n INTEGER);"
    "INSERT INTO total VALUES (0);"
    "CREATE TABLE tenure (n INTEGER PRIMARY KEY AUTOINCREMENT, holder TEXT);"
    "CREATE TRIGGER whose AFTER INSERT ON ledger BEGIN "
    "UPDATE ledger SET holder = (SELECT holder FROM tenure ORDER BY n DESC LIMIT 1) "
    "WHERE n = NEW.n; END;";
constexpr const char* notes_of_tenure =
    "CREATE TRIGGER taken AFTER INSERT ON aftertouch_lease BEGIN "
    "INSERT INTO tenure (holder) VALUES (NEW.holder); END;"
    "CREATE TRIGGER handed_over AFTER UPDATE OF holder ON aftertouch_lease WHEN NEW.holder <> "
    "OLD.holder BEGIN INSERT INTO tenure (holder) VALUES (NEW.holder); END;"
    "CREATE TRIGGER given_back AFTER DELETE ON aftertouch_lease BEGIN "
    "INSERT INTO tenure (holder) VALUES (''); END;";

// The file of one course.
class Ground {
public:
    using Database = nemesis_test::Database;
    static constexpr const char* lease = "aftertouch_lease";
    static constexpr const char* long_ago = "julianday('2000-01-01')";
    static constexpr int writers = 1;
    static constexpr bool cuts_off = false; // there are no sessions
    static constexpr const char* strays =
        "SELECT count(*) FROM ledger WHERE instance || ' ' IS NOT substr(holder, 1, "
        "length(instance) + 1)";

    explicit Ground(bool wal) : wal_{wal} {
        remove();
        // It must not wait for one that only the nemesis can thaw.
        database_ = open(std::chrono::milliseconds{300});
        database_->execute(tables);
        nemesis::begin_pipeline(*database_);
        database_->execute(notes_of_tenure);
    }
    Ground(const Ground&) = delete;
    Ground& operator=(const Ground&) = delete;
    ~Ground() {
        database_.reset();
        remove();
    }

    [[nodiscard]] Database& database() { return *database_; }
    [[nodiscard]] std::unique_ptr<Database> open(
        std::chrono::milliseconds patience = std::chrono::seconds{20}) const {
        return std::make_unique<Database>(path_,
            at::sqlite::Options{
                .busy_timeout = patience, .wal = wal_, .on_open = [](sqlite3* handle) {
                    sqlite3_exec(handle, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
                }});
    }
    [[nodiscard]] std::unique_ptr<soak::Program> start(
        const nemesis::Words& words, const std::vector<std::string>& more = {}) const {
        return nemesis::start_program("nemesis_instance", path_, words, more);
    }
    [[nodiscard]] int cut_off(const std::string&, bool) { return 0; }

private:
    void remove() const {
        for (const char* end : {"", "-wal", "-shm", "-journal"}) {
            std::filesystem::remove(path_ + end);
        }
    }

    bool wal_;
    std::string path_ = "nemesis-" + std::to_string(getpid()) + ".db";
    std::unique_ptr<Database> database_;
};

void expect_right(int instances, bool wal) {
    Ground ground{wal};
    nemesis::Nemesis<Ground> course{ground, instances, test::chosen_seed()};
    const Verdict verdict = course.run(nemesis::wanted_harm());
    WARN(verdict.text());
    CHECK(verdict.faults == std::vector<std::string>{});
    CHECK(verdict.changes > nemesis::wanted_harm());
    CHECK(verdict.tenures > nemesis::wanted_harm() / 10);
}

// Several may hold the lease: who has lost it renews it all the same.
constexpr const char* lease_of_several =
    "DROP TABLE aftertouch_lease; CREATE TABLE aftertouch_lease (pipeline TEXT NOT NULL, holder "
    "TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (pipeline, holder));";

// One is overtaken between two batches, and goes on.
[[nodiscard]] std::vector<std::string> overtake(Ground& ground) {
    const nemesis::Words one_words{"one", std::chrono::hours{1}};
    const nemesis::Words two_words{"two", std::chrono::hours{1}};
    Database& database = ground.database();
    at::Pipeline one{at::source<nemesis::Item>().images(), nemesis::Keeper{one_words}, database,
        nemesis::options_of(one_words)};
    at::Pipeline two{at::source<nemesis::Item>().images(), nemesis::Keeper{two_words}, database,
        nemesis::options_of(two_words)};
    nemesis::write_items(database, 1, 1);
    one.drain();
    nemesis::let_lease_end(ground, "one");
    nemesis::write_items(database, 1, 2);
    two.drain();
    nemesis::write_items(database, 1, 3);
    try {
        one.drain();
    } catch (const at::Error& error) { CHECK(error.code() == at::Errc::busy); }
    two.drain();
    std::vector<std::string> faults;
    nemesis::judge(ground, faults);
    return faults;
}

} // namespace

TEST_CASE("L1: two processes and a nemesis, WAL", "[slow]") { expect_right(2, true); }
TEST_CASE("L1: three processes and a nemesis, rollback journal", "[slow]") {
    expect_right(3, false);
}
TEST_CASE("L1: five processes and a nemesis, WAL", "[slow]") { expect_right(5, true); }

TEST_CASE("L1: an instance that is overtaken between two batches writes nothing more") {
    Ground ground{true};
    CHECK(overtake(ground) == std::vector<std::string>{});
}
TEST_CASE("P20: the nemesis finds out a lease that several hold") {
    Ground ground{true};
    ground.database().execute(lease_of_several);
    ground.database().execute(notes_of_tenure);
    CHECK(overtake(ground) ==
          std::vector<std::string>{"2 rows were written by an instance that hadn't the lease"});
}

// The write lock keeps the others out for as long as it is frozen: it commits, and holds the lease
// still.
TEST_CASE("L1: an instance that is frozen inside a batch holds up the others until it goes on") {
    using namespace std::chrono_literals;
    Ground ground{true};
    const nemesis::Gate gate;
    nemesis::write_items(ground.database(), 1, 1);
    const auto one = ground.start({"one", 2s}, gate.words());
    REQUIRE(gate.is_reached());
    one->freeze();
    const nemesis::Gate other{"other"};
    const auto two = ground.start({"two", 2s}, {other.words().back()});
    std::this_thread::sleep_for(3s);
    CHECK(nemesis::last_holder(ground) == "one");
    CHECK(!nemesis::is_drained(ground));
    gate.open();
    one->thaw();
    REQUIRE(nemesis::comes_true([&] { return nemesis::is_drained(ground); }));
    CHECK(nemesis::last_holder(ground) == "one");
    CHECK(other.tells(at::Moment::standby));
    std::vector<std::string> faults;
    nemesis::judge(ground, faults);
    CHECK(faults == std::vector<std::string>{});
}

} // namespace nemesis_test
