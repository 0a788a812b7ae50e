// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include <aftertouch/sqlite.hpp>

/// \file
/// SQLite for the contract tests: where a test's database lies, and what a test does to it behind
/// the library's back. Another engine has a `fixture.hpp` with the same names.

namespace fixture {

namespace at = aftertouch;

using Database = at::sqlite::Database;
using Tx = Database::Transaction;

/// The kinds of database that every promise holds on.
enum class Kind { memory, journal, wal };

[[nodiscard]] inline std::string_view name(Kind kind) {
    switch (kind) {
        case Kind::memory: return "in memory";
        case Kind::journal: return "a file with a rollback journal";
        case Kind::wal: return "a file with a write-ahead log";
    }
    return "";
}

/// Each kind, and those that another program can open too.
[[nodiscard]] inline std::vector<Kind> all_kinds() {
    return {Kind::memory, Kind::journal, Kind::wal};
}
[[nodiscard]] inline std::vector<Kind> shared_kinds() { return {Kind::journal, Kind::wal}; }

/// Those where readers go on while a batch is written, and those where application and pipelines
/// share a connection.
[[nodiscard]] inline std::vector<Kind> kinds_with_free_readers() { return {Kind::wal}; }
[[nodiscard]] inline std::vector<Kind> kinds_with_one_connection() { return {Kind::memory}; }

/// Whether a statement's error ends the transaction that it is in.
inline constexpr bool errors_end_transactions = false;

/// A table of the library's own, for SQL text; and times in a lease: one that is over, and one
/// that isn't.
[[nodiscard]] inline std::string own_table(std::string_view name) {
    return "aftertouch_" + std::string{name};
}
inline constexpr std::string_view long_ago = "julianday('2000-01-01')";
inline constexpr std::string_view far_off = "julianday('2100-01-01')";

/// Whether an application's writes wait for a batch.
inline constexpr bool writers_wait = true;

/// Where the database of one test lies: new, and gone with this object.
class Place {
public:
    explicit Place(Kind kind)
        : kind_{kind}, path_{kind == Kind::memory ? ":memory:" : unused_name()} {
        remove_files();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { remove_files(); }

    /// Opens it as a program of its own would; what is in memory, once. `patience` is how long a
    /// call waits for a lock.
    [[nodiscard]] Database open(
        std::chrono::milliseconds patience = std::chrono::seconds{20}) const {
        return Database{
            path_, {.busy_timeout = patience, .wal = kind_ == Kind::wal, .on_open = prepare}};
    }

    /// Copies the database as it is now, and puts the copy back. Nothing may have it open then.
    void keep_copy() const { copy(path_, path_ + ".copy"); }
    void put_copy_back() const { copy(path_ + ".copy", path_); }

private:
    // What is written needn't outlive the machine: tests kill no kernel.
    static void prepare(sqlite3* handle) {
        sqlite3_exec(handle, "PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON", nullptr, nullptr,
            nullptr);
    }

    [[nodiscard]] static std::string unused_name() {
        static std::atomic<int> number{0};
        return "contract-" + std::to_string(getpid()) + '-' + std::to_string(++number) + ".db";
    }

    static void copy(const std::string& from, const std::string& to) {
        for (const char* suffix : {"", "-wal", "-journal"}) {
            std::filesystem::remove(to + suffix);
            if (std::filesystem::exists(from + suffix)) {
                std::filesystem::copy_file(from + suffix, to + suffix);
            }
        }
        std::filesystem::remove(to + "-shm");
    }

    void remove_files() const {
        if (kind_ == Kind::memory) { return; }
        for (const char* suffix :
            {"", "-wal", "-shm", "-journal", ".copy", ".copy-wal", ".copy-journal"}) {
            std::filesystem::remove(path_ + suffix);
        }
    }

    Kind kind_;
    std::string path_;
};

/// Another program that has begun to write and doesn't commit while this object lives.
class WriteLock {
public:
    explicit WriteLock(const Place& place) : other_{place.open()} {
        other_.execute("BEGIN IMMEDIATE");
    }
    ~WriteLock() { other_.execute("ROLLBACK"); }

private:
    Database other_;
};

/// The kinds on which another program can hold up nothing but a commit, and one that does.
[[nodiscard]] inline std::vector<Kind> kinds_with_commit_lock() { return {Kind::journal}; }
class CommitLock {
public:
    explicit CommitLock(const Place& place) : other_{place.open()} {
        other_.execute(
            "BEGIN; SELECT count(*) FROM aftertouch_log"); // a reader keeps writers from the file
    }
    ~CommitLock() { other_.execute("ROLLBACK"); }

private:
    Database other_;
};

/// A constraint that is looked at when a transaction commits, and a handler's way to break it.
inline void add_deferred_constraint(Database& database) {
    database.execute(
        "CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child (id INTEGER PRIMARY KEY, "
        "parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
}
inline void break_deferred_constraint(Tx& tx) {
    tx.execute("INSERT INTO child (parent) VALUES (1)");
}

/// The table of a customer whose key, a text, is compared without regard to case.
inline void create_case_blind_customers(Database& database) {
    database.execute("CREATE TABLE customer (name TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, rank "
                     "INTEGER NOT NULL)");
}

/// Whether such a key can be captured, or is refused in words.
inline constexpr bool captures_case_blind_keys = true;

/// \name What a test does behind the library's back
/// @{

/// The stored checkpoint of a pipeline; empty if there is none.
[[nodiscard]] inline std::string checkpoint(Database& database, const std::string& pipeline) {
    const auto found = database.query(at::type<std::string>,
        "SELECT checkpoint FROM aftertouch_checkpoint WHERE pipeline = $1", pipeline);
    return found.empty() ? std::string{} : found.front();
}
inline void set_checkpoint(
    Database& database, const std::string& pipeline, const std::string& text) {
    database.execute(
        "UPDATE aftertouch_checkpoint SET checkpoint = $1 WHERE pipeline = $2", text, pipeline);
}
/// How often the checkpoint was written.
[[nodiscard]] inline std::int64_t checkpoint_version(
    Database& database, const std::string& pipeline) {
    const auto found = database.query(at::type<std::int64_t>,
        "SELECT version FROM aftertouch_checkpoint WHERE pipeline = $1", pipeline);
    return found.empty() ? 0 : found.front();
}
/// How many rows the log has.
[[nodiscard]] inline std::int64_t log_size(Database& database) {
    return database.query(at::type<std::int64_t>, "SELECT count(*) FROM aftertouch_log").front();
}
/// Drops what the log holds of one capture, as pruning does.
inline void prune(Database& database, const std::string& capture) {
    database.execute(
        "UPDATE aftertouch_meta SET pruned_through = coalesce((SELECT max(seq) FROM aftertouch_log "
        "WHERE "
        "capture = (SELECT id FROM aftertouch_capture WHERE name = $1)), pruned_through)",
        capture);
    database.execute(
        "DELETE FROM aftertouch_log WHERE seq <= (SELECT pruned_through FROM aftertouch_meta)");
}
/// Drops the log; whoever installs next makes a new one.
inline void drop_log(Database& database) { database.execute("DROP TABLE aftertouch_log"); }
/// Makes the log give out its numbers once more.
inline void set_log_back(Database& database) {
    database.execute(
        "DELETE FROM aftertouch_log; DELETE FROM sqlite_sequence WHERE name = 'aftertouch_log'");
}
/// Gives a row of "order" a customer that the struct can't hold, and a usual one.
inline void spoil_order(Database& database, std::int64_t id) {
    database.execute("UPDATE \"order\" SET customer = x'00ff' WHERE id = $1", id);
}
inline void mend_order(Database& database, std::int64_t id) {
    database.execute("UPDATE \"order\" SET customer = 'mended' WHERE id = $1", id);
}
/// @}

/// Marks what a transaction does from here on as of low priority, and no more.
inline void begin_low_priority(Tx& tx) {
    tx.execute(
        "INSERT INTO aftertouch_low_priority SELECT coalesce(max(seq), 0) FROM aftertouch_log");
}
inline constexpr bool begin_low_priority_is_kept = true; ///< by a commit
inline void end_low_priority(Tx& tx) { tx.execute("DELETE FROM aftertouch_low_priority"); }

/// Whether a handler's COMMIT is prevented, and not only noticed.
inline constexpr bool refuses_commits = true;

/// SQL that runs until it is interrupted.
inline constexpr std::string_view endless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT count(*) FROM n";

/// A way to end the batch's transaction from inside a handler. The tables of the contract are
/// there, "copy" holds a row 1.
struct Ending {
    std::string_view what;
    void (*run)(Tx&);
};
inline const std::vector<Ending> endings{
    {"COMMIT", [](Tx& tx) { tx.execute("COMMIT"); }},
    {"ROLLBACK", [](Tx& tx) { tx.execute("ROLLBACK"); }},
    {"COMMIT, BEGIN", [](Tx& tx) { tx.execute("COMMIT; BEGIN IMMEDIATE"); }},
    {"ROLLBACK, BEGIN", [](Tx& tx) { tx.execute("ROLLBACK; BEGIN IMMEDIATE"); }},
    {"a conflict OR ROLLBACK, swallowed",
        [](Tx& tx) {
            try {
                tx.execute("INSERT OR ROLLBACK INTO copy (id, customer, amount) VALUES (1, '', 0)");
            } catch (const at::Error&) {}
        }},
};

} // namespace fixture
