// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <aftertouch/postgres.hpp>

/// \file
/// PostgreSQL for the contract tests: where a test's database lies, and what a test does to it
/// behind the library's back. Another engine has a `fixture.hpp` with the same names.

namespace fixture {

namespace at = aftertouch;

using Database = at::postgres::Database;
using Tx = Database::Transaction;

/// The kinds of database that every promise holds on.
enum class Kind { server };

[[nodiscard]] inline std::string_view name(Kind) { return "on a server"; }

/// Each kind, and those that another program can open too.
[[nodiscard]] inline std::vector<Kind> all_kinds() { return {Kind::server}; }
[[nodiscard]] inline std::vector<Kind> shared_kinds() { return all_kinds(); }

/// Those where readers go on while a batch is written, and those where application and pipelines
/// share a connection.
[[nodiscard]] inline std::vector<Kind> kinds_with_free_readers() { return all_kinds(); }
[[nodiscard]] inline std::vector<Kind> kinds_with_one_connection() { return {}; }

/// Whether a statement's error ends the transaction that it is in.
inline constexpr bool errors_end_transactions = true;

/// A table of the library's own, for SQL text; and times in a lease: one that is over, and one
/// that isn't.
[[nodiscard]] inline std::string own_table(std::string_view name) {
    return "aftertouch." + std::string{name};
}
inline constexpr std::string_view long_ago = "'2000-01-01'::timestamptz";
inline constexpr std::string_view far_off = "'2100-01-01'::timestamptz";

/// Whether an application's writes wait for a batch.
inline constexpr bool writers_wait = false;

/// How a test reaches the server that tests/support/postgres started; AFTERTOUCH_POSTGRES names
/// another one.
[[nodiscard]] inline at::postgres::Parameters server() {
    if (const char* other = std::getenv("AFTERTOUCH_POSTGRES")) {
        return at::postgres::parameters_from(other);
    }
    std::ifstream in{"postgres.socket"};
    std::string folder;
    if (!std::getline(in, folder)) {
        throw std::runtime_error{"there is no server: run by ctest, or start one with "
                                 "tests/support/postgres start FOLDER and run the test there"};
    }
    return {{"host", folder}, {"user", "postgres"}, {"dbname", "postgres"}};
}

/// Where the database of one test lies: new, and gone with this object.
class Place {
public:
    explicit Place(Kind) : name_{unused_name()} { create(name_, "template0"); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
        try {
            drop(name_);
            drop(name_ + "_copy");
        } catch (const at::Error&) {
            // The server is gone, and the database with it.
        }
    }

    /// Opens it as a program of its own would. `patience` is how long a call waits for a lock.
    [[nodiscard]] Database open(
        std::chrono::milliseconds patience = std::chrono::seconds{20}) const {
        return Database{parameters(), {.lock_timeout = patience}};
    }
    [[nodiscard]] at::postgres::Parameters parameters() const {
        at::postgres::Parameters parameters = server();
        parameters.emplace_back("dbname", name_);
        return parameters;
    }

    /// Copies the database as it is now, and puts the copy back. Nothing may have it open then.
    void keep_copy() const { create(name_ + "_copy", name_); }
    void put_copy_back() const {
        drop(name_);
        create(name_, name_ + "_copy");
    }

private:
    [[nodiscard]] static std::string unused_name() {
        static std::atomic<int> number{0};
        return "contract_" + std::to_string(getpid()) + '_' + std::to_string(++number);
    }

    static void create(const std::string& name, const std::string& from) {
        Database{server()}.execute("CREATE DATABASE " + name + " TEMPLATE " + from);
    }
    static void drop(const std::string& name) {
        Database{server()}.execute("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
    }

    std::string name_;
};

/// Another program that has begun to write and doesn't commit while this object lives: it holds
/// what a pipeline needs, its checkpoint, or the source while nothing is installed yet.
class WriteLock {
public:
    explicit WriteLock(const Place& place) : other_{place.open()} {
        const bool installed =
            other_.query(at::type<bool>, "SELECT to_regclass('aftertouch.checkpoint') IS NOT NULL")
                .front();
        other_.execute(std::string{"BEGIN; LOCK TABLE "} +
                       (installed ? "aftertouch.checkpoint" : "\"order\"") +
                       " IN ACCESS EXCLUSIVE MODE");
    }
    ~WriteLock() { other_.execute("ROLLBACK"); }

private:
    Database other_;
};

/// The kinds on which another program can hold up nothing but a commit, and one that does: a
/// deferred trigger on what the handler writes waits for it.
[[nodiscard]] inline std::vector<Kind> kinds_with_commit_lock() { return all_kinds(); }
class CommitLock {
public:
    explicit CommitLock(const Place& place) : other_{place.open()} {
        other_.execute(
            "CREATE TABLE gate (); CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN LOCK TABLE gate IN SHARE MODE; RETURN NULL; END'; CREATE CONSTRAINT TRIGGER "
            "gate AFTER INSERT OR UPDATE ON copy DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
            "EXECUTE "
            "FUNCTION wait_at_gate()");
        other_.execute("BEGIN; LOCK TABLE gate IN ACCESS EXCLUSIVE MODE");
    }
    ~CommitLock() { other_.execute("ROLLBACK"); }

private:
    Database other_;
};

/// A constraint that is looked at when a transaction commits, and a handler's way to break it.
inline void add_deferred_constraint(Database& database) {
    database.execute(
        "CREATE TABLE parent (id integer PRIMARY KEY); CREATE TABLE child (id integer GENERATED "
        "ALWAYS AS IDENTITY PRIMARY KEY, parent integer REFERENCES parent DEFERRABLE INITIALLY "
        "DEFERRED)");
}
inline void break_deferred_constraint(Tx& tx) {
    tx.execute("INSERT INTO child (parent) VALUES (1)");
}

/// The table of a customer whose key, a text, is compared without regard to case.
inline void create_case_blind_customers(Database& database) {
    database.execute(
        "CREATE EXTENSION citext; CREATE TABLE customer (name citext PRIMARY KEY, rank bigint NOT "
        "NULL)");
}
/// Whether such a key can be captured, or is refused in words.
inline constexpr bool captures_case_blind_keys = false;

/// \name What a test does behind the library's back
/// @{

/// The stored checkpoint of a pipeline; empty if there is none.
[[nodiscard]] inline std::string checkpoint(Database& database, const std::string& pipeline) {
    const bool installed =
        database.query(at::type<bool>, "SELECT to_regclass('aftertouch.checkpoint') IS NOT NULL")
            .front();
    if (!installed) { return {}; }
    const auto found = database.query(at::type<std::string>,
        "SELECT checkpoint FROM aftertouch.checkpoint WHERE pipeline = $1", pipeline);
    return found.empty() ? std::string{} : found.front();
}
/// Bytes that no text of the server can hold become question marks.
inline void set_checkpoint(Database& database, const std::string& pipeline, std::string text) {
    for (char& c : text) { c = static_cast<unsigned char>(c) < 0x80 ? c : '?'; }
    database.execute(
        "UPDATE aftertouch.checkpoint SET checkpoint = $1 WHERE pipeline = $2", text, pipeline);
}
/// How often the checkpoint was written.
[[nodiscard]] inline std::int64_t checkpoint_version(
    Database& database, const std::string& pipeline) {
    const auto found = database.query(at::type<std::int64_t>,
        "SELECT version FROM aftertouch.checkpoint WHERE pipeline = $1", pipeline);
    return found.empty() ? 0 : found.front();
}
/// How many rows the log has.
[[nodiscard]] inline std::int64_t log_size(Database& database) {
    return database.query(at::type<std::int64_t>, "SELECT count(*) FROM aftertouch.log").front();
}
/// Drops what the log holds of one capture, as pruning does: the rows of transactions that a
/// snapshot sees. Of the others it must see none, which may run in databases of other tests.
inline void prune(Database& database, const std::string& capture) {
    database.execute(
        "WITH ours AS (SELECT DISTINCT xid::text::bigint AS x FROM aftertouch.log), most AS "
        "(SELECT "
        "xid::text::bigint + 1 AS x FROM aftertouch.log WHERE capture = (SELECT id FROM "
        "aftertouch.capture WHERE name = $1) ORDER BY xid DESC LIMIT 1), least AS (SELECT "
        "greatest(x - 5000, 3) AS x FROM most) UPDATE aftertouch.meta SET through = (least.x || "
        "':' "
        "|| most.x || ':' || array_to_string(ARRAY(SELECT i FROM generate_series(least.x, most.x - "
        "1) AS i WHERE i NOT IN (SELECT x FROM ours)), ','))::pg_snapshot FROM most, least",
        capture);
    database.execute("DELETE FROM aftertouch.log WHERE pg_visible_in_snapshot(xid, (SELECT through "
                     "FROM aftertouch.meta))");
}
/// Drops the log; whoever installs next makes a new one.
inline void drop_log(Database& database) { database.execute("DROP TABLE aftertouch.log"); }
/// Makes the log give out its numbers once more.
inline void set_log_back(Database& database) {
    database.execute("DELETE FROM aftertouch.log; ALTER TABLE aftertouch.log ALTER seq RESTART");
}
/// Gives a row of "order" a customer that the struct can't hold, and a usual one.
inline void spoil_order(Database& database, std::int64_t id) {
    database.execute("ALTER TABLE \"order\" ALTER customer DROP NOT NULL");
    database.execute("UPDATE \"order\" SET customer = NULL WHERE id = $1", id);
}
inline void mend_order(Database& database, std::int64_t id) {
    database.execute("UPDATE \"order\" SET customer = 'mended' WHERE id = $1", id);
}
/// @}

/// Marks what a transaction does from here on as of low priority, and no more.
inline void begin_low_priority(Tx& tx) { tx.execute("SET LOCAL aftertouch.priority = 'low'"); }
inline constexpr bool begin_low_priority_is_kept = false; ///< by a commit
inline void end_low_priority(Tx& tx) { tx.execute("SET LOCAL aftertouch.priority = ''"); }

/// Whether a handler's COMMIT is prevented, and not only noticed.
inline constexpr bool refuses_commits = false;

/// SQL that runs until it is interrupted.
inline constexpr std::string_view endless = "SELECT pg_sleep(3600)";

/// A way to end the batch's transaction from inside a handler. The tables of the contract are
/// there, "copy" holds a row 1.
struct Ending {
    std::string_view what;
    void (*run)(Tx&);
};
inline const std::vector<Ending> endings{
    {"COMMIT", [](Tx& tx) { tx.execute("COMMIT"); }},
    {"ROLLBACK", [](Tx& tx) { tx.execute("ROLLBACK"); }},
    {"COMMIT, BEGIN", [](Tx& tx) { tx.execute("COMMIT; BEGIN"); }},
    {"ROLLBACK, BEGIN", [](Tx& tx) { tx.execute("ROLLBACK; BEGIN"); }},
    {"a conflict, swallowed",
        [](Tx& tx) {
            try {
                tx.execute("INSERT INTO copy (id, customer, amount) VALUES (1, '', 0)");
            } catch (const at::Error&) {}
        }},
};

} // namespace fixture
