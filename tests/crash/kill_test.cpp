// SPDX-License-Identifier: MIT
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <crash/adding.hpp>
#include <support/catch.hpp>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

/// \file
/// A process that follows a database is killed (SIGKILL) before and after every statement that it
/// runs, each in a run of its own, until a run comes to its end. What it left is checked, then
/// another process goes on from there.

namespace at = aftertouch;

namespace kills {

namespace {

// Counts the statements of every connection; both ends of each count.
struct Fuse {
    static inline bool armed = false;
    static inline int left = 0;

    static int burn(unsigned, void*, void*, void*) {
        if (armed && --left == 0) { kill(getpid(), SIGKILL); }
        return 0;
    }
};

void install_fuse(sqlite3* handle) {
    sqlite3_trace_v2(handle, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, &Fuse::burn, nullptr);
    sqlite3_exec(handle, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
}

struct Scene {
    std::string what;
    bool wal = false;
    std::function<void(at::sqlite::Database&, const std::function<bool()>& run_once,
        const std::function<void()>& release)>
        play;
    bool up_to_date = true; // before it begins
};

const std::string path = "kill-" + std::to_string(getpid()) + ".db";
const std::string ledger_path = "kill-" + std::to_string(getpid()) + "-ledger.db";

void remove_files() {
    for (const std::string& file : {path, ledger_path, path + ".fresh", ledger_path + ".fresh"}) {
        for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
            std::filesystem::remove(file + suffix);
        }
    }
}

[[nodiscard]] at::sqlite::Database open(bool wal = false) {
    return at::sqlite::Database{path, {.wal = wal, .on_open = install_fuse}};
}

void make_database(const Scene& scene, bool beside) {
    remove_files();
    at::sqlite::Database database = open(scene.wal);
    database.create_table<crash::Order>();
    database.create_table<crash::Total>();
    database.execute("CREATE TABLE ledger (change TEXT)");
    at::sqlite::Database ledger{ledger_path};
    ledger.execute("CREATE TABLE ledger (change TEXT)");
    crash::add_orders(database);
    if (scene.up_to_date) {
        crash::with_pipeline(
            database, beside ? &ledger : nullptr, [](auto& pipeline) { pipeline.drain(); });
    }
}

// Making a database takes longer than what is tested with it: it is made once and copied.
void copy_database(const std::string& from, const std::string& to) {
    for (const char* suffix : {"-wal", "-shm", "-journal"}) {
        std::filesystem::remove(to + suffix);
    }
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
}

// Plays the scene in a child that dies at its n-th statement; false if it came to its end.
[[nodiscard]] bool dies(const Scene& scene, int n, bool beside) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            at::sqlite::Database database = open();
            at::sqlite::Database ledger{ledger_path};
            Fuse::left = n;
            crash::with_pipeline(database, beside ? &ledger : nullptr, [&](auto& pipeline) {
                scene.play(
                    database, [&] { return pipeline.run_once(); }, [&] { pipeline.release(); });
            });
        } catch (const std::exception& error) {
            std::cerr << scene.what << ", statement " << n << ": " << error.what() << std::endl;
            _exit(2);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) { return true; }
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    return false;
}

// What was handled is what the checkpoint says, and nothing twice.
[[nodiscard]] std::string fault_left(at::sqlite::Database& database, at::sqlite::Database& ledger) {
    return database.query(at::type<std::string>, "PRAGMA integrity_check").at(0) == "ok"
               ? crash::fault_left(ledger)
               : "the file is damaged";
}

struct Result {
    int kills = 0;
    std::vector<std::string> faults;
};

[[nodiscard]] Result kill_everywhere(const Scene& scene, bool beside = false) {
    Result result;
    const int stride = beside ? 3 : 1;
    make_database(scene, beside);
    copy_database(path, path + ".fresh");
    copy_database(ledger_path, ledger_path + ".fresh");
    for (int n = 1;; n += stride) {
        copy_database(path + ".fresh", path);
        copy_database(ledger_path + ".fresh", ledger_path);
        if (!dies(scene, n, beside)) { break; }
        ++result.kills;
        at::sqlite::Database database = open();
        at::sqlite::Database beside_ledger{ledger_path};
        at::sqlite::Database& ledger = beside ? beside_ledger : database;
        std::string fault = fault_left(database, ledger);
        crash::with_pipeline(database, beside ? &beside_ledger : nullptr, [](auto& pipeline) {
            pipeline.drain();
            if (pipeline.release() != 0) { pipeline.drain(); }
        });
        if (fault.empty()) {
            fault = crash::fault_at_end(database, ledger, "SELECT count(*) FROM aftertouch_log");
        }
        if (!fault.empty()) {
            result.faults.push_back("killed at statement end " + std::to_string(n) + ": " + fault);
        }
    }
    remove_files();
    return result;
}

// What is killed, and where in its work.
void live(at::sqlite::Database& database, const std::function<bool()>& run_once,
    const std::function<void()>&) {
    while (run_once()) {}
    crash::change_orders(database);
    Fuse::armed = true;
    while (run_once()) {}
}

void replay(at::sqlite::Database& database, const std::function<bool()>& run_once,
    const std::function<void()>&) {
    crash::change_orders(database);
    Fuse::armed = true;
    while (run_once()) {}
}

// Changes come between the pages: of keys that were reached and of keys that weren't.
void rebuild(at::sqlite::Database& database, const std::function<bool()>& run_once,
    const std::function<void()>&) {
    Fuse::armed = true;
    for (int page = 0; run_once(); ++page) {
        if (page == 1) { crash::change_orders(database); }
    }
}

void set_aside(at::sqlite::Database& database, const std::function<bool()>& run_once,
    const std::function<void()>& release) {
    crash::set_aside_and_release(database, run_once, [] { Fuse::armed = true; }, release);
}

void expect_no_fault(const Scene& scene) {
    const Result result = kill_everywhere(scene);
    WARN(scene.what << ": killed " << result.kills << " times");
    CHECK(result.kills > 100);
    CHECK(result.faults == std::vector<std::string>{});
}

} // namespace

TEST_CASE("K1: killed before and after every statement while it follows, rollback journal") {
    expect_no_fault({"live", false, live, true});
}
TEST_CASE("K1: killed before and after every statement while it follows, WAL") {
    expect_no_fault({"live", true, live, true});
}
TEST_CASE("K1: killed before and after every statement of a replay, rollback journal") {
    expect_no_fault({"replay", false, replay, true});
}
TEST_CASE("K1: killed before and after every statement of a replay, WAL") {
    expect_no_fault({"replay", true, replay, true});
}
TEST_CASE(
    "K1: killed before and after every statement of a first start and rebuild, rollback journal") {
    expect_no_fault({"rebuild", false, rebuild, false});
}
TEST_CASE("K1: killed before and after every statement of a first start and rebuild, WAL") {
    expect_no_fault({"rebuild", true, rebuild, false});
}

TEST_CASE("F3: killed before and after every statement while records are set aside and released") {
    expect_no_fault({"dead letters", true, set_aside, true});
}

TEST_CASE("K1: effects beside the transaction are doubled by a kill, and this suite notices") {
    const Result result = kill_everywhere({"replay", false, replay, true}, true);
    CHECK(result.kills > 10);
    CHECK(!result.faults.empty());
}

} // namespace kills
