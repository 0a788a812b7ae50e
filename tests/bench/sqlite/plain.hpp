// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sqlite3.h>
#include <unistd.h>

/// \file
/// SQLite without the library, for the floors: a file of its own, plain statements.

namespace bench {

/// A file for one database, gone with this object.
class File {
public:
    File() : path_{"bench-" + std::to_string(getpid()) + '-' + std::to_string(++number_) + ".db"} {
        remove();
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { remove(); }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    void remove() const {
        for (const char* suffix : {"", "-wal", "-shm"}) { std::filesystem::remove(path_ + suffix); }
    }

    inline static int number_ = 0;
    std::string path_;
};

/// A connection of a program that doesn't know the library: WAL, synchronous NORMAL. An error ends
/// the bench.
class Plain {
public:
    explicit Plain(const std::string& path) {
        sqlite3* raw = nullptr;
        const int code = sqlite3_open(path.c_str(), &raw);
        handle_.reset(raw);
        check(code);
        sqlite3_busy_timeout(raw, 20'000);
        run("PRAGMA journal_mode = wal; PRAGMA synchronous = normal");
    }

    [[nodiscard]] sqlite3* get() const noexcept { return handle_.get(); }

    void run(const std::string& sql) {
        check(sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr));
    }

    /// A statement that lives as long as the connection.
    [[nodiscard]] sqlite3_stmt* prepare(const std::string& sql) {
        sqlite3_stmt* raw = nullptr;
        check(sqlite3_prepare_v3(get(), sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr));
        statements_.emplace_back(raw);
        return raw;
    }

    /// Runs a statement that answers no rows.
    void step(sqlite3_stmt* statement) const {
        const int code = sqlite3_step(statement);
        if (code != SQLITE_DONE) { check(code); }
        sqlite3_reset(statement);
    }

    /// Moves what the write-ahead log holds into the file, so that no measurement pays for another.
    void tidy() { run("PRAGMA wal_checkpoint(truncate)"); }

private:
    struct Close {
        void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
    };

    void check(int code) const {
        if (code == SQLITE_OK) { return; }
        std::fprintf(stderr, "bench: SQLite says: %s\n", sqlite3_errmsg(get()));
        std::exit(1);
    }

    std::unique_ptr<sqlite3, Close> handle_;
    std::vector<std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

} // namespace bench
