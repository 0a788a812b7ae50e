// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <crash/nemesis_course.hpp>
#include <support/catch.hpp>

#include <aftertouch/sqlite.hpp>

/// \file
/// Several processes run one pipeline over a SQLite file under a lease, while a nemesis kills,
/// freezes and restarts them: nothing is lost, doubled or out of order, and nobody writes without
/// the lease (L1). Then the suite itself is tested, with a fence that is broken on purpose.

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
    using Database = ::Database;
    static constexpr const char* lease = "aftertouch_lease";
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
    nemesis::Nemesis<Ground> course{
        ground, instances, test::chosen_seed() + static_cast<unsigned>(instances)};
    const Verdict verdict = course.run(nemesis::wanted_harm());
    WARN(verdict.text());
    CHECK(verdict.faults == std::vector<std::string>{});
    CHECK(verdict.changes > nemesis::wanted_harm());
    CHECK(verdict.tenures > nemesis::wanted_harm() / 4);
}

} // namespace

TEST_CASE("L1: two processes and a nemesis, WAL", "[slow]") { expect_right(2, true); }
TEST_CASE("L1: three processes and a nemesis, rollback journal", "[slow]") {
    expect_right(3, false);
}
TEST_CASE("L1: five processes and a nemesis, WAL", "[slow]") { expect_right(5, true); }
