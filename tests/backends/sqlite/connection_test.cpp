// SPDX-License-Identifier: MIT
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <support/catch.hpp>

#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/connection.hpp>

using namespace aftertouch;
using sqlite::Handle;
using sqlite::Options;

namespace {

// What opening says; "opened" if it doesn't throw.
std::string opening(const std::string& path, const Options& options, Errc expected) {
    try {
        const Handle handle{path, options};
        return "opened";
    } catch (const Error& error) {
        CHECK(error.code() == expected);
        return error.what();
    }
}

} // namespace

TEST_CASE("connection: a file that is no database is refused with its name") {
    std::ofstream{"no-database.db"} << std::string(4096, 'x');
    const std::string said = opening("no-database.db", {}, Errc::not_a_database);
    CHECK_THAT(said, Catch::Matchers::Contains("no-database.db"));
    CHECK_THAT(said, Catch::Matchers::Contains("check the path"));
    std::filesystem::remove("no-database.db");
}

TEST_CASE("connection: a folder that doesn't exist is an error with the path") {
    CHECK_THAT(opening("no/such/folder/x.db", {}, Errc::database),
        Catch::Matchers::Contains("no/such/folder/x.db"));
}

TEST_CASE("connection: a shared cache is refused, in words") {
    CHECK_THAT(opening("file:x?mode=memory&cache=shared", {}, Errc::invalid_argument),
        Catch::Matchers::Contains("without cache=shared"));
}

TEST_CASE("connection: a null handle can't be borrowed") {
    CHECK_THROWS_WITH(Handle{nullptr}, Catch::Matchers::Contains("open the database first"));
}

TEST_CASE("connection: a journal mode changes only when asked, and a reader writes nothing") {
    const auto mode = [](const Handle& handle) {
        std::string found;
        sqlite3_exec(
            handle.get(), "PRAGMA journal_mode",
            [](void* out, int, char** values, char**) {
                *static_cast<std::string*>(out) = values[0];
                return 0;
            },
            &found, nullptr);
        return found;
    };
    { CHECK(mode(Handle{"modes.db", {}}) == "delete"); }
    { CHECK(mode(Handle{"modes.db", {.wal = true}}) == "wal"); }
    { CHECK(mode(Handle{"modes.db", {}}) == "wal"); }
    {
        const Handle reader{"modes.db", {.read_only = true}};
        CHECK(reader.read_only());
        CHECK_THROWS_WITH(reader.require_writable(), Catch::Matchers::Contains("can't be written"));
    }
    for (const char* suffix : {"", "-wal", "-shm"}) {
        std::filesystem::remove(std::string{"modes.db"} + suffix);
    }
}

TEST_CASE("connection: on_open sees every connection first, and what is in memory is private") {
    int opened = 0;
    const Handle handle{
        ":memory:", {.on_open = [&](sqlite3* raw) { opened += raw != nullptr ? 1 : 0; }}};
    CHECK(opened == 1);
    CHECK(handle.is_private());
    CHECK(handle.name() == "the database in memory");
    CHECK_FALSE(handle.in_transaction());
}

TEST_CASE("connection: SQLite's codes become ours, extended ones too") {
    CHECK(sqlite::detail::errc_of(SQLITE_BUSY_SNAPSHOT) == Errc::busy);
    CHECK(sqlite::detail::errc_of(SQLITE_READONLY_DBMOVED) == Errc::read_only);
    CHECK(sqlite::detail::errc_of(SQLITE_IOERR_FSYNC) == Errc::database);
    CHECK(sqlite::detail::errc_of(SQLITE_FULL) == Errc::disk_full);
    CHECK(sqlite::detail::errc_of(SQLITE_CONSTRAINT_UNIQUE) == Errc::constraint);
}

TEST_CASE("connection: who lacks a table is told what makes it, but for the library's own") {
    const Handle handle{":memory:", {}};
    const auto message = [&](const std::string& table) {
        const std::string sql = "SELECT * FROM " + table;
        const int code = sqlite3_exec(handle.get(), sql.c_str(), nullptr, nullptr, nullptr);
        return std::string{sqlite::detail::error_of(handle.get(), code, "x", sql).what()};
    };
    CHECK(message("label") == "x: SQLite says: no such table: label; create the table "
                              "(Database::create_table<T>() makes an entity's)");
    CHECK(message("aftertouch_log") == "x: SQLite says: no such table: aftertouch_log");
}
