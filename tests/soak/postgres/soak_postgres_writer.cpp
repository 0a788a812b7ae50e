// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <libpq-fe.h>

/// \file
/// A program that changes the shop's tables and knows nothing of Aftertouch:
/// `soak_postgres_writer CONNECTION NUMBER SEED CHANGES PAUSE`, with so many milliseconds between
/// two transactions. What it did to each key it writes down in `truth`.

namespace {

// The transaction can't go on: somebody else was in the way.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Connection {
public:
    explicit Connection(const char* text) : server_{PQconnectdb(text)} {
        if (PQstatus(server_) != CONNECTION_OK) { give_up("connecting"); }
        run("SET deadlock_timeout = '20ms'; SET client_min_messages = warning");
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { PQfinish(server_); }

    // Says how many rows were written. Throws `Refused` for a conflict with another writer.
    std::int64_t run(const std::string& sql) {
        PGresult* const result = PQexec(server_, sql.c_str());
        const std::int64_t rows = std::atoll(PQcmdTuples(result));
        finish(result, sql);
        return rows;
    }

    void copy(const std::string& sql, const std::string& lines) {
        PGresult* const result = PQexec(server_, sql.c_str());
        if (PQresultStatus(result) != PGRES_COPY_IN) { return finish(result, sql); }
        PQclear(result);
        if (PQputCopyData(server_, lines.data(), static_cast<int>(lines.size())) != 1 ||
            PQputCopyEnd(server_, nullptr) != 1) {
            give_up(sql.c_str());
        }
        finish(PQgetResult(server_), sql);
        PQclear(PQgetResult(server_)); // the end, a null
    }

private:
    [[noreturn]] void give_up(const char* what) {
        std::fprintf(stderr, "writer: %s: %s\n", what, PQerrorMessage(server_));
        std::exit(2);
    }

    void finish(PGresult* result, const std::string& sql) {
        const ExecStatusType status = PQresultStatus(result);
        const char* field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        const std::string state = field == nullptr ? "" : field;
        PQclear(result);
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) { return; }
        for (const char* conflict : {"40P01", "40001", "23505"}) {
            if (state == conflict) { throw Refused{state}; }
        }
        give_up(sql.c_str());
    }

    PGconn* server_;
};

class Writer {
public:
    Writer(const char* connection, std::int64_t number, std::uint64_t seed)
        : connection_{connection},
          random_{seed},
          number_{number},
          version_{number * 1'000'000'000} {}

    // One transaction; answers how many changes of items were committed.
    std::int64_t transact() {
        told_ = 0;
        try {
            connection_.run(one_in(10) ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "BEGIN");
            if (one_in(4)) { run("SELECT pg_current_xact_id()"); } // long before the first change
            if (one_in(16)) {
                be_long();
            } else if (one_in(5)) {
                change_in_bulk();
            } else {
                be_short();
            }
            if (one_in(3)) { echo(); }
            return finish() ? told_ : 0;
        } catch (const Refused&) {
            connection_.run("ROLLBACK");
            return 0;
        }
    }

private:
    std::int64_t below(int n) {
        return static_cast<std::int64_t>(random_() % static_cast<unsigned>(n));
    }
    bool one_in(int n) { return below(n) == 0; }
    std::string next_version() { return std::to_string(++version_); }
    void run(const std::string& sql) { connection_.run(sql); }
    void pause(int most) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1 + below(most)});
    }

    bool finish() {
        if (one_in(12)) {
            run("ROLLBACK");
            return false;
        }
        if (!one_in(20)) {
            run("COMMIT");
            return true;
        }
        const std::string name =
            "'soak_" + std::to_string(version_) + '_' + std::to_string(random_()) + "'";
        run("PREPARE TRANSACTION " + name);
        pause(30);
        const bool kept = !one_in(3);
        run((kept ? "COMMIT PREPARED " : "ROLLBACK PREPARED ") + name);
        return kept;
    }

    // Mostly in the order of the keys, so that few deadlock.
    void be_short() {
        std::vector<std::int64_t> keys(static_cast<std::size_t>(1 + below(8)));
        for (std::int64_t& key : keys) { key = 1 + below(hot); }
        if (!one_in(10)) { std::sort(keys.begin(), keys.end()); }
        for (const std::int64_t key : keys) {
            guarded([&] { change(key); });
        }
    }

    // Overlaps with many: holds rows that nobody else wants, and one that others do at its end.
    void be_long() {
        for (int left = 2 + static_cast<int>(below(4)); left > 0; --left) {
            change_item(private_key(static_cast<std::int64_t>(below(rows))));
            pause(80);
        }
        change(1 + below(hot));
    }

    // Savepoints, released and rolled back to.
    template <class Work>
    void guarded(Work work) {
        if (!one_in(6)) { return work(); }
        const std::int64_t told_before = told_;
        run("SAVEPOINT inner_part");
        try {
            work();
            if (one_in(3)) {
                run("ROLLBACK TO inner_part");
                told_ = told_before;
            }
        } catch (const Refused& refused) {
            if (std::strcmp(refused.what(), "23505") != 0) { throw; }
            run("ROLLBACK TO inner_part");
            told_ = told_before;
        }
        run("RELEASE inner_part");
    }

    void tell(const char* source, const std::string& key, const std::string& version) {
        run("INSERT INTO truth (source, key, version) VALUES ('" + std::string{source} + "', '" +
            key + "', " + version + ")");
        ++told_;
    }
    // Tells of what a statement with RETURNING did, in the same statement.
    void tell_all(const std::string& statement, const std::string& told) {
        const std::int64_t written = connection_.run(
            "WITH c AS (" + statement + ") INSERT INTO truth (source, key, version) " + told);
        if (told.starts_with("SELECT 'item'")) { told_ += written; }
    }
    void tell_items(const std::string& statement) {
        tell_all(statement + " RETURNING id, version", "SELECT 'item', id::text, version FROM c");
    }
    void tell_gone(const std::string& statement) {
        tell_all(statement + " RETURNING id", "SELECT 'item', id::text, NULL FROM c");
    }

    void change(std::int64_t key) {
        if (one_in(4)) {
            change_stock();
        } else {
            change_item(key);
        }
    }

    [[nodiscard]] std::string values(std::int64_t id) {
        return std::to_string(id) + ", " + std::to_string(below(accounts)) + ", " +
               std::to_string(below(1000) - 300) + ", " + next_version();
    }

    void change_item(std::int64_t key) {
        const std::string id = std::to_string(key);
        switch (below(9)) {
            case 0: tell_gone("DELETE FROM item WHERE id = " + id); break;
            case 1:
                tell_items("INSERT INTO item VALUES (" + values(key) + ") ON CONFLICT DO NOTHING");
                break;
            case 2: move(key); break;
            case 3: merge(key); break;
            case 4: // gone, and there again
                tell_gone("DELETE FROM item WHERE id = " + id);
                tell_items("INSERT INTO item VALUES (" + values(key) + ")");
                break;
            case 5:
                tell_items("UPDATE item SET amount = amount + 1, version = " + next_version() +
                           " WHERE id = " + id);
                break;
            default:
                tell_items("INSERT INTO item VALUES (" + values(key) +
                           ") ON CONFLICT (id) DO UPDATE SET account = excluded.account, amount = "
                           "excluded.amount, version = excluded.version");
        }
    }

    // To another key, if it is free.
    void move(std::int64_t key) {
        const std::string from = std::to_string(key);
        const std::string to = std::to_string(1 + below(hot));
        if (from == to) { return; }
        tell_all("UPDATE item SET id = " + to + ", version = " + next_version() +
                     " WHERE id = " + from +
                     " AND NOT EXISTS (SELECT 1 FROM item WHERE id = " + to + ") RETURNING version",
            "SELECT 'item', k, v FROM c, LATERAL (VALUES ('" + from + "', NULL::bigint), ('" + to +
                "', c.version)) AS x (k, v)");
    }

    void merge(std::int64_t key) {
        const std::string id = std::to_string(key);
        const std::string version = next_version();
        run("MERGE INTO item USING (VALUES (" + id +
            "::bigint)) AS n (id) ON item.id = n.id WHEN "
            "MATCHED THEN UPDATE SET amount = amount - 2, version = " +
            version + " WHEN NOT MATCHED THEN INSERT VALUES (n.id, 1, 1, " + version + ")");
        tell("item", id, version);
    }

    [[nodiscard]] std::int64_t private_key(std::int64_t i) const { return number_ * 1'000'000 + i; }

    // Statements over many rows, mostly this writer's own.
    void change_in_bulk() {
        const std::int64_t begin = below(rows);
        const std::int64_t end = begin + 1 + below(120);
        const std::string range = "BETWEEN " + std::to_string(private_key(begin)) + " AND " +
                                  std::to_string(private_key(end));
        switch (below(6)) {
            case 0: tell_gone("DELETE FROM item WHERE id " + range); break;
            case 1: copy(begin, end, range); break;
            case 2:
                tell_items("UPDATE item SET amount = amount + 1, version = " + next_version() +
                           " WHERE id " + range);
                break;
            case 3: move_many(range); break;
            case 4: // rows that others want too
                tell_items("UPDATE item SET amount = amount * 2 % 1000, version = " +
                           next_version() + " WHERE id IN (SELECT id FROM item WHERE id BETWEEN " +
                           std::to_string(begin % hot) + " AND " +
                           std::to_string(begin % hot + 10) + " ORDER BY id FOR UPDATE)");
                break;
            default:
                tell_items("INSERT INTO item SELECT i, i % 7, i % 100, " + next_version() +
                           " FROM generate_series(" + std::to_string(private_key(begin)) + ", " +
                           std::to_string(private_key(end)) +
                           ") AS i ON CONFLICT (id) DO UPDATE SET amount = item.amount + 3, "
                           "version = excluded.version");
        }
    }

    void copy(std::int64_t begin, std::int64_t end, const std::string& range) {
        tell_gone("DELETE FROM item WHERE id " + range);
        const std::string version = next_version();
        std::string lines;
        for (std::int64_t i = begin; i <= end; ++i) {
            lines += std::to_string(private_key(i)) + "\t" + std::to_string(i % accounts) + "\t" +
                     std::to_string(i % 50) + "\t" + version + "\n";
        }
        connection_.copy("COPY item FROM STDIN", lines);
        told_ += connection_.run(
            "INSERT INTO truth (source, key, version) SELECT 'item', id::text, version FROM item "
            "WHERE id " +
            range);
    }

    // Their keys change; what is at the new ones makes way.
    void move_many(const std::string& range) {
        const std::string by = std::to_string(10 * rows);
        tell_gone("DELETE FROM item WHERE id - " + by + ' ' + range);
        tell_all("UPDATE item SET id = id + " + by + ", version = " + next_version() +
                     " WHERE id " + range + " RETURNING id, version",
            "SELECT 'item', k, v FROM c, LATERAL (VALUES ((c.id - " + by +
                ")::text, NULL::bigint), (c.id::text, c.version)) AS x (k, v)");
    }

    void change_stock() {
        const std::string area = one_in(2) ? "north" : "south";
        const std::string bin = std::to_string(1 + below(60));
        const std::string there = " WHERE area = '" + area + "' AND bin = " + bin;
        const std::string told = "SELECT 'stock', area || bin, version FROM c";
        switch (below(5)) {
            case 0:
                tell_all("DELETE FROM stock" + there + " RETURNING area, bin",
                    "SELECT 'stock', area || bin, NULL FROM c");
                break;
            case 1: // straight into the partition
                tell_all("UPDATE stock_" + area + " SET version = " + next_version() + there +
                             " RETURNING area, bin, version",
                    told);
                break;
            case 2: { // the row moves to the other partition
                const std::string to = area == "north" ? "south" : "north";
                tell_all("UPDATE stock SET area = '" + to + "', version = " + next_version() +
                             there + " AND NOT EXISTS (SELECT 1 FROM stock WHERE area = '" + to +
                             "' AND bin = " + bin + ") RETURNING bin, version",
                    "SELECT 'stock', k, v FROM c, LATERAL (VALUES ('" + area +
                        "' || c.bin, NULL::bigint), ('" + to +
                        "' || c.bin, c.version)) AS x (k, "
                        "v)");
                break;
            }
            default:
                tell_all("INSERT INTO stock VALUES ('" + area + "', " + bin + ", " +
                             next_version() +
                             ") ON CONFLICT (area, bin) DO UPDATE SET version = excluded.version "
                             "RETURNING area, bin, version",
                    told);
        }
    }

    // One row, at the end of the transaction: the follower locks several of them.
    void echo() {
        const std::string id = std::to_string(1 + below(40));
        tell_all("INSERT INTO echo VALUES (" + id + ", " + next_version() +
                     ", 2) ON CONFLICT (id) DO UPDATE SET version = excluded.version, hops = 2 "
                     "RETURNING id, version, hops",
            "SELECT 'echo', id::text, version * 10 + hops FROM c");
    }

    static constexpr int hot = 200;
    static constexpr int rows = 300;
    static constexpr int accounts = 50;
    Connection connection_;
    std::mt19937_64 random_;
    std::int64_t number_;
    std::int64_t version_;
    std::int64_t told_ = 0;
};

} // namespace

int main(int count, char** arguments) {
    if (count != 6) {
        std::fputs("usage: soak_postgres_writer CONNECTION NUMBER SEED CHANGES PAUSE\n", stderr);
        return 2;
    }
    Writer writer{arguments[1], std::atoll(arguments[2]), std::strtoull(arguments[3], nullptr, 10)};
    const std::int64_t wanted = std::atoll(arguments[4]);
    const std::chrono::milliseconds pause{std::atoll(arguments[5])};
    for (std::int64_t done = 0; done < wanted;) {
        done += writer.transact();
        std::this_thread::sleep_for(pause);
    }
    return 0;
}
