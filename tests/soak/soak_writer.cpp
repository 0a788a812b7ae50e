// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sqlite3.h>

/// \file
/// A program that changes the shop's tables and knows nothing of Aftertouch:
/// `soak_writer FILE NUMBER SEED CHANGES`. What it did to each key it writes down in `truth`.

namespace {

[[noreturn]] void give_up(sqlite3* handle, const char* what) {
    std::fprintf(stderr, "writer: %s: %s\n", what, sqlite3_errmsg(handle));
    std::exit(2);
}

class Connection {
public:
    explicit Connection(const char* path) {
        if (sqlite3_open(path, &handle_) != SQLITE_OK) { give_up(handle_, path); }
        sqlite3_busy_timeout(handle_, 120'000);
        run("PRAGMA synchronous = OFF");
        run("PRAGMA foreign_keys = ON");
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() {
        for (const auto& [sql, statement] : statements_) { sqlite3_finalize(statement); }
        sqlite3_close(handle_);
    }

    using Arguments = std::vector<std::optional<std::string>>;

    // Runs a statement; false if a constraint refused it. Numbers go as text into columns that
    // have a type.
    bool run(const std::string& sql, const Arguments& arguments = {}) {
        return each(sql, arguments, [](sqlite3_stmt*) {});
    }
    std::vector<std::string> column(const std::string& sql, const Arguments& arguments = {}) {
        std::vector<std::string> found;
        each(sql, arguments, [&](sqlite3_stmt* row) {
            found.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(row, 0)));
        });
        return found;
    }
    [[nodiscard]] bool changed() const { return sqlite3_changes(handle_) != 0; }

private:
    template <class Row>
    bool each(const std::string& sql, const Arguments& arguments, Row row) {
        sqlite3_stmt*& statement = statements_[sql];
        if (statement == nullptr &&
            sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
            give_up(handle_, sql.c_str());
        }
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            const int at = static_cast<int>(i) + 1;
            if (arguments[i]) {
                sqlite3_bind_text(statement, at, arguments[i]->c_str(), -1, SQLITE_TRANSIENT);
            } else {
                sqlite3_bind_null(statement, at);
            }
        }
        int code = SQLITE_ROW;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) { row(statement); }
        sqlite3_reset(statement);
        if (code != SQLITE_DONE && code != SQLITE_CONSTRAINT) { give_up(handle_, sql.c_str()); }
        return code == SQLITE_DONE;
    }

    sqlite3* handle_ = nullptr;
    std::map<std::string, sqlite3_stmt*> statements_;
};

class Writer {
public:
    Writer(const char* path, std::int64_t number, std::uint64_t seed)
        : connection_{path}, random_{seed}, version_{number * 1'000'000'000} {}

    // Some statements in one transaction; answers how many changes were committed.
    std::int64_t transact() {
        connection_.run("BEGIN IMMEDIATE");
        told_ = 0;
        for (int left = 1 + below(30); left > 0; --left) {
            const bool inner = one_in(6);
            const std::int64_t told_before = told_;
            if (inner) { connection_.run("SAVEPOINT inner_part"); }
            change();
            if (inner && one_in(3)) {
                connection_.run("ROLLBACK TO inner_part");
                told_ = told_before;
            }
            if (inner) { connection_.run("RELEASE inner_part"); }
        }
        const bool kept = !one_in(10);
        connection_.run(kept ? "COMMIT" : "ROLLBACK");
        return kept ? told_ : 0;
    }

private:
    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    bool one_in(int n) { return below(n) == 0; }
    std::string number(int n) { return std::to_string(1 + below(n)); }
    std::string next_version() { return std::to_string(++version_); }

    std::optional<std::string> code() {
        return one_in(2) ? std::optional{"c" + number(80)} : std::nullopt;
    }
    // 7 and 1007 are one place to the index.
    std::optional<std::string> place() {
        return one_in(2) ? std::optional{std::to_string(1000 * below(2) + below(60))}
                         : std::nullopt;
    }

    void tell(const char* source, const std::string& key, std::optional<std::string> version) {
        connection_.run("INSERT INTO truth (source, key, version) VALUES (?, ?, ?)",
            {source, key, std::move(version)});
        ++told_;
    }

    void change() {
        if (one_in(3)) {
            change_stock();
        } else {
            change_item();
        }
    }

    void change_item() {
        const std::string id = number(150);
        const std::string version = next_version();
        switch (below(10)) {
            case 0:
                if (connection_.run(
                        "INSERT INTO item VALUES (?, ?, ?, ?)", {id, code(), place(), version})) {
                    tell("item", id, version);
                }
                break;
            case 1:
                connection_.run("UPDATE item SET version = ?2 WHERE id = ?1", {id, version});
                if (connection_.changed()) { tell("item", id, version); }
                break;
            case 2:
                connection_.run("DELETE FROM item WHERE id = ?", {id});
                if (connection_.changed()) { tell("item", id, {}); }
                break;
            case 3: change_key(id, version); break;
            case 4: replace(id, version); break;
            case 5: displace(id, version); break;
            case 6: upsert(id, version); break;
            case 7: ignore(id, version); break;
            case 8: change_many(id, version); break;
            default: move_onto(id, version);
        }
    }

    void change_key(const std::string& id, const std::string& version) {
        const std::string to = number(150);
        if (to != id &&
            connection_.run(
                "UPDATE item SET id = ?2, version = ?3 WHERE id = ?1", {id, to, version}) &&
            connection_.changed()) {
            tell("item", id, {});
            tell("item", to, version);
        }
    }

    // Rows that a statement with REPLACE removes.
    void tell_displaced(const std::string& but, const std::optional<std::string>& code,
        const std::optional<std::string>& place) {
        for (const std::string& gone : connection_.column(
                 "SELECT id FROM item WHERE id <> ?1 AND (code = ?2 OR (place IS NOT NULL AND "
                 "place % 1000 = ?3 % 1000))",
                 {but, code, place})) {
            tell("item", gone, {});
        }
    }
    [[nodiscard]] bool is_there(const std::string& id) {
        return !connection_.column("SELECT id FROM item WHERE id = ?", {id}).empty();
    }

    void replace(const std::string& id, const std::string& version) {
        const auto new_code = code();
        const auto new_place = place();
        if (is_there(id)) { tell("item", id, {}); }
        tell_displaced(id, new_code, new_place);
        connection_.run(
            "REPLACE INTO item VALUES (?, ?, ?, ?)", {id, new_code, new_place, version});
        tell("item", id, version);
    }

    void displace(const std::string& id, const std::string& version) {
        if (!is_there(id)) { return; }
        const auto new_code = code();
        const auto new_place = place();
        tell_displaced(id, new_code, new_place);
        connection_.run(
            "UPDATE OR REPLACE item SET code = ?2, place = ?3, version = ?4 WHERE id = ?1",
            {id, new_code, new_place, version});
        tell("item", id, version);
    }

    // A key change onto a row that is there.
    void move_onto(const std::string& id, const std::string& version) {
        const std::string to = number(150);
        if (to == id || !is_there(id)) { return; }
        if (is_there(to)) { tell("item", to, {}); }
        connection_.run(
            "UPDATE OR REPLACE item SET id = ?2, version = ?3 WHERE id = ?1", {id, to, version});
        tell("item", id, {});
        tell("item", to, version);
    }

    void upsert(const std::string& id, const std::string& version) {
        connection_.run("INSERT INTO item VALUES (?, NULL, NULL, ?) ON CONFLICT (id) DO UPDATE SET "
                        "version = excluded.version",
            {id, version});
        tell("item", id, version);
    }

    void ignore(const std::string& id, const std::string& version) {
        connection_.run(
            "INSERT OR IGNORE INTO item VALUES (?, ?, ?, ?)", {id, code(), place(), version});
        if (connection_.changed()) { tell("item", id, version); }
    }

    void change_many(const std::string& id, const std::string& version) {
        const Connection::Arguments range{id, std::to_string(std::atoi(id.c_str()) + 4)};
        for (const std::string& one :
            connection_.column("SELECT id FROM item WHERE id BETWEEN ? AND ?", range)) {
            tell("item", one, version);
        }
        connection_.run("UPDATE item SET version = ?3 WHERE id BETWEEN ?1 AND ?2",
            {range[0], range[1], version});
    }

    void change_stock() {
        const std::string area = one_in(2) ? "north" : "south";
        const std::string bin = number(40);
        const std::string version = next_version();
        switch (below(5)) {
            case 0:
                connection_.run("INSERT INTO stock VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "
                                "version = excluded.version",
                    {area, bin, version});
                tell("stock", area + bin, version);
                break;
            case 1:
                connection_.run("DELETE FROM stock WHERE area = ? AND bin = ?", {area, bin});
                if (connection_.changed()) { tell("stock", area + bin, {}); }
                break;
            case 2:
                if (!connection_
                        .column("SELECT bin FROM stock WHERE area = ? AND bin = ?", {area, bin})
                        .empty()) {
                    tell("stock", area + bin, {});
                }
                connection_.run("REPLACE INTO stock VALUES (?, ?, ?)", {area, bin, version});
                tell("stock", area + bin, version);
                break;
            case 3: change_area(area, bin, version); break;
            default:
                connection_.run("UPDATE stock SET version = ?3 WHERE area = ?1 AND bin = ?2",
                    {area, bin, version});
                if (connection_.changed()) { tell("stock", area + bin, version); }
        }
    }

    void change_area(const std::string& area, const std::string& bin, const std::string& version) {
        const std::string to = area == "north" ? "south" : "north";
        if (connection_.run("UPDATE stock SET area = ?3, version = ?4 WHERE area = ?1 AND bin = ?2",
                {area, bin, to, version}) &&
            connection_.changed()) {
            tell("stock", area + bin, {});
            tell("stock", to + bin, version);
        }
    }

    Connection connection_;
    std::mt19937_64 random_;
    std::int64_t version_;
    std::int64_t told_ = 0;
};

} // namespace

int main(int count, char** arguments) {
    if (count != 5) {
        std::fputs("usage: soak_writer FILE NUMBER SEED CHANGES\n", stderr);
        return 2;
    }
    Writer writer{arguments[1], std::atoll(arguments[2]), std::strtoull(arguments[3], nullptr, 10)};
    const std::int64_t wanted = std::atoll(arguments[4]);
    for (std::int64_t done = 0; done < wanted;) {
        done += writer.transact();
        sqlite3_sleep(1); // SQLite's locks aren't had in turn: others would wait for ever
    }
    return 0;
}
