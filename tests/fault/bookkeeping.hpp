// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <unistd.h>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

/// \file
/// A pipeline that shows what was lost or done twice, for suites that break something under it: it
/// adds differences, and writes down each change that it was given.

namespace test {

namespace at = aftertouch;

struct Order {
    std::int64_t id = 0;
    std::string customer;
    std::int64_t amount = 0;
};

struct Total {
    std::string customer;
    std::int64_t amount = 0;
};

} // namespace test

template <>
struct aftertouch::EntityTraits<test::Total> {
    static constexpr auto key = aftertouch::key<&test::Total::customer>;
};

namespace test {

/// How much of a suite is run: every `stride()`-th point (`AFTERTOUCH_FAULT_STRIDE`, for
/// sanitizers and other slow builds).
[[nodiscard]] inline int stride() {
    const char* text = std::getenv("AFTERTOUCH_FAULT_STRIDE");
    const int asked = text == nullptr ? 1 : std::atoi(text);
    return asked < 1 ? 1 : asked;
}

/// The handler. Its ledger has no unique key, which would hide what comes twice.
class Bookkeeper {
public:
    /// With `forgiving` it goes on after a statement that failed, as no handler should.
    explicit Bookkeeper(bool forgiving = false) : forgiving_{forgiving} {}

    template <class Tx>
    void rebuild_started(std::int64_t, Tx& tx) {
        tx.execute("DELETE FROM total");
        tx.execute("DELETE FROM ledger");
    }

    template <class Tx>
    void operator()(const at::Batch<Order>& batch, Tx& tx) {
        for (const at::Change<Order>& change : batch.changes()) {
            if (change.before() != nullptr) {
                add(tx, change.before()->customer, -change.before()->amount);
            }
            if (change.after() != nullptr) {
                add(tx, change.after()->customer, change.after()->amount);
            }
            run(tx, "INSERT INTO ledger (change) VALUES ($1)", change.idempotency_key());
        }
    }

private:
    template <class Tx>
    void add(Tx& tx, const std::string& customer, std::int64_t amount) {
        run(tx,
            "INSERT INTO total (customer, amount) VALUES ($1, $2) "
            "ON CONFLICT (customer) DO UPDATE SET amount = amount + excluded.amount",
            customer, amount);
    }

    template <class Tx, class... Arguments>
    void run(Tx& tx, const std::string& sql, const Arguments&... arguments) {
        try {
            tx.execute(sql, arguments...);
        } catch (const at::Error&) {
            if (!forgiving_) { throw; }
        }
    }

    bool forgiving_;
};

inline const auto orders = at::source<Order>().images();

/// A program that follows a database.
struct Follower {
    at::sqlite::Database database;
    at::Pipeline<decltype(at::source<Order>().images()), Bookkeeper, at::sqlite::Database> pipeline;

    explicit Follower(
        const std::string& path, std::chrono::milliseconds patience = {}, bool forgiving = false)
        : database{path, {.busy_timeout = patience}},
          pipeline{orders, Bookkeeper{forgiving}, database,
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
    database.execute("UPDATE \"order\" SET amount = amount + 1, customer = 'c' || (id % 4) "
                     "WHERE id % 2 = 0");
    database.execute("DELETE FROM \"order\" WHERE id % 7 = 0");
    database.execute("UPDATE \"order\" SET id = id + 100 WHERE id < 4");
    database.execute("REPLACE INTO \"order\" VALUES (7, 'c7', 70), (8, 'c5', 50)");
}

/// A database with its tables and 16 orders.
inline void make_database(const std::string& path, bool wal) {
    at::sqlite::Database database{path, {.wal = wal}};
    database.create_table<Order>();
    database.create_table<Total>();
    database.execute("CREATE TABLE ledger (change TEXT)");
    for (std::int64_t id = 1; id <= 16; ++id) {
        database.execute(
            "INSERT INTO \"order\" VALUES ($1, $2, $3)", id, "c" + std::to_string(id % 3), id);
    }
}

[[nodiscard]] inline std::int64_t number(at::sqlite::Database& database, const std::string& sql) {
    return database.query(at::type<std::int64_t>, sql).at(0);
}

/// What is wrong before everything is handled; empty is what it must be.
[[nodiscard]] inline std::string damage(at::sqlite::Database& database) {
    if (database.query(at::type<std::string>, "PRAGMA integrity_check").at(0) != "ok") {
        return "the file is damaged";
    }
    if (number(database, "SELECT count(*) - count(DISTINCT change) FROM ledger") != 0) {
        return "a change was handled twice";
    }
    return {};
}

/// What is wrong when everything is handled.
[[nodiscard]] inline std::string damage_at_end(at::sqlite::Database& database) {
    if (std::string found = damage(database); !found.empty()) { return found; }
    const std::string scratch = "SELECT customer, sum(amount) FROM \"order\" GROUP BY customer "
                                "HAVING sum(amount) <> 0";
    const std::string derived = "SELECT customer, amount FROM total WHERE amount <> 0";
    const auto less = [&](const std::string& one, const std::string& other) {
        return number(
            database, "SELECT count(*) FROM (SELECT * FROM (" + one + ") EXCEPT " + other + ")");
    };
    if (less(scratch, derived) != 0 || less(derived, scratch) != 0) {
        return "the totals differ from a computation from scratch";
    }
    return {};
}

/// Whether a message says something to a person.
[[nodiscard]] inline bool is_sentence(const std::string& text) {
    return text.size() > 20 && text.find(' ') != std::string::npos &&
           text.find("std::") == std::string::npos;
}

} // namespace test
