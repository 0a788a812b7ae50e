// SPDX-License-Identifier: MIT
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <support/captured.hpp>
#include <support/catch.hpp>

// C7: installing while others write, and while others install.

namespace at = aftertouch;
using test::capture_of;
using test::Lab;

namespace {

struct File {
    explicit File(const std::string& name) : path{std::filesystem::temp_directory_path() / name} {
        erase();
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { erase(); }
    void erase() const {
        for (const char* end : {"", "-wal", "-shm", "-journal"}) {
            std::filesystem::remove(path.string() + end);
        }
    }
    std::filesystem::path path;
};

} // namespace

TEST_CASE("B36: installing again 200 times while a writer loops loses nothing", "[threads]") {
    const std::string mode = GENERATE("wal", "delete");
    const File file{"aftertouch_install_" + mode + ".db"};
    const at::sqlite::Options patient{.busy_timeout = std::chrono::seconds{60}};
    Lab lab{file.path.string(), patient};
    lab.run("PRAGMA journal_mode = " + mode + "; PRAGMA synchronous = off");
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE)");
    const at::Capture capture = capture_of("t", {"id", "u"}, {"id"}, true);
    lab.install(capture);

    std::atomic<bool> done{false};
    std::atomic<int> failures{0};
    std::jthread writer{[&] {
        Lab own{file.path.string(), patient};
        own.run("PRAGMA synchronous = off");
        for (int i = 1; !done; ++i) {
            failures +=
                own.attempt("INSERT INTO t (u) VALUES (" + std::to_string(i) + ")") != SQLITE_OK;
        }
    }};
    int installed = 0;
    for (int round = 0; round < 200; ++round) {
        // A newer trigger of somebody else's makes install replace all of ours.
        lab.run("DROP TRIGGER IF EXISTS theirs; CREATE TRIGGER theirs AFTER INSERT ON t BEGIN "
                "SELECT 1; END");
        installed += lab.install(capture) ? 1 : 0;
    }
    done = true;
    writer.join();
    CHECK(installed == 200);
    CHECK(failures == 0);
    const std::int64_t rows = lab.number("SELECT count(*) FROM t");
    CHECK(rows > 0);
    CHECK(lab.number("SELECT count(*) FROM aftertouch_log WHERE operation = 'I'") == rows);
    CHECK(lab.number("SELECT count(*) FROM aftertouch_image_1 WHERE a1 IS NOT NULL") == rows);
    CHECK(lab.differences(capture) == "");
}

TEST_CASE("C7: programs that install at the same time agree", "[threads]") {
    const File file{"aftertouch_install_together.db"};
    const at::sqlite::Options patient{.busy_timeout = std::chrono::seconds{60}};
    for (int round = 0; round < 20; ++round) {
        file.erase();
        Lab lab{file.path.string(), patient};
        lab.run("PRAGMA synchronous = off; CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE)");
        const at::Capture capture = capture_of("t", {"id", "u"}, {"id"}, true);
        std::atomic<int> installed{0};
        std::atomic<int> failures{0};
        {
            std::vector<std::jthread> programs;
            for (int i = 0; i < 4; ++i) {
                programs.emplace_back([&] {
                    try {
                        Lab own{file.path.string(), patient};
                        own.run("PRAGMA synchronous = off");
                        installed += own.install(capture) ? 1 : 0;
                        failures += own.differences(capture).empty() ? 0 : 1;
                    } catch (const at::Error& error) {
                        UNSCOPED_INFO(error.what());
                        ++failures;
                    }
                });
            }
        }
        CHECK(failures == 0);
        CHECK(installed >= 1);
        CHECK(lab.number("SELECT count(*) FROM aftertouch_capture") == 1);
        CHECK(lab.differences(capture) == "");
    }
}

TEST_CASE("C7: install gives up on a lock after the busy timeout, in a sentence") {
    const File file{"aftertouch_install_locked.db"};
    Lab lab{file.path.string(), {.busy_timeout = std::chrono::milliseconds{20}}};
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u)");
    const at::Capture capture = capture_of("t", {"id", "u"}, {"id"});
    Lab writer{file.path.string()};
    writer.run("BEGIN IMMEDIATE");
    try {
        lab.install(capture);
        FAIL("installed under a lock");
    } catch (const at::Error& error) {
        CHECK(error.code() == at::Errc::busy);
        CHECK(error.retryable());
        CHECK(error.what() ==
              file.path.string() +
                  ": SQLite says: database is locked; another connection holds the lock: give "
                  "writers a busy timeout and short transactions, or use WAL (Options::wal)");
    }
    CHECK_FALSE(lab.connection().handle().in_transaction());
    writer.run("COMMIT");
    CHECK(lab.install(capture));
}

TEST_CASE("C7: install and remove don't join a transaction of the application") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u); BEGIN");
    const at::Capture capture = capture_of("t", {"id", "u"}, {"id"});
    const char* sentence =
        "the database in memory is inside a transaction of the application on the same connection: "
        "install and remove when that has ended";
    CHECK_THROWS_SAYING(lab.install(capture), at::Error, sentence);
    CHECK_THROWS_SAYING(lab.remove(capture), at::Error, sentence);
    CHECK(lab.differences(capture) != "");
    lab.run("COMMIT");
    CHECK(lab.install(capture));
}
