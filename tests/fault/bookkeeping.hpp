// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <type_traits>

#include <unistd.h>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <support/adding.hpp>
#include <support/soak.hpp>

/// \file
/// A pipeline on SQLite for suites that break something under it, and what must hold then.

namespace test {

/// A program that follows a database.
struct Follower {
    at::sqlite::Database database;
    at::Pipeline<std::remove_const_t<decltype(orders)>, Adding<at::sqlite::Database>,
        at::sqlite::Database>
        pipeline;

    explicit Follower(
        const std::string& path, std::chrono::milliseconds patience = {}, bool forgiving = false)
        : database{path, {.busy_timeout = patience}},
          pipeline{orders, Adding<at::sqlite::Database>{{.forgiving = forgiving}}, database,
              {.name = "totals", .batch_size = 5, .observer = {}}} {}
};

/// The files of one database of this process, gone with this object.
class Files {
public:
    explicit Files(const std::string& name) : path_{name + '-' + std::to_string(getpid()) + ".db"} {
        remove();
    }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
    ~Files() { remove(); }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    void remove() const {
        for (const char* end : {"", "-wal", "-shm", "-journal"}) {
            std::filesystem::remove(path_ + end);
        }
    }
    /// As a crash would leave it, or a database that is closed.
    void copy_from(const Files& other) const {
        remove();
        for (const char* end : {"", "-wal", "-journal"}) {
            if (std::filesystem::exists(other.path_ + end)) {
                std::filesystem::copy_file(other.path_ + end, path_ + end);
            }
        }
    }

private:
    std::string path_;
};

/// Another program's changes: of every kind, with a row that is displaced.
inline void change_orders(at::sqlite::Database& database) {
    change_rows(database);
    database.execute("REPLACE INTO \"order\" VALUES (7, 'c7', 70), (8, 'c5', 50)");
}

/// A database with its tables and 16 orders.
inline void make_database(const std::string& path, bool wal) {
    at::sqlite::Database database{path, {.wal = wal}};
    database.create_table<Order>();
    database.create_table<Total>();
    database.execute("CREATE TABLE ledger (change TEXT)");
    add_orders(database);
}

/// What is wrong before everything is handled; empty is what it must be.
[[nodiscard]] inline std::string damage(at::sqlite::Database& database) {
    if (database.query(at::type<std::string>, "PRAGMA integrity_check").at(0) != "ok") {
        return "the file is damaged";
    }
    return fault_in_ledger(database);
}

/// What is wrong when everything is handled.
[[nodiscard]] inline std::string damage_at_end(at::sqlite::Database& database) {
    if (std::string found = damage(database); !found.empty()) { return found; }
    return fault_in_totals(database);
}

/// Whether a message says something to a person.
[[nodiscard]] inline bool is_sentence(const std::string& text) {
    return text.size() > 20 && text.find(' ') != std::string::npos &&
           text.find("std::") == std::string::npos;
}

} // namespace test
