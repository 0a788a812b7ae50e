// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

/// \file
/// What the sqlite3 shell is given to do: make the shop, and sell. The same at every run.

namespace shop {

/// The database with its first `count` orders. The shop, not the program that follows it, chooses
/// WAL.
inline std::string opening(std::int64_t count) {
    return R"(
.bail on
.output /dev/null
PRAGMA journal_mode = wal;
PRAGMA synchronous = normal;
CREATE TABLE orders (
    id       INTEGER PRIMARY KEY,
    receipt  TEXT NOT NULL UNIQUE,
    customer TEXT NOT NULL,
    cents    INTEGER NOT NULL,
    note     TEXT NOT NULL);
CREATE TEMP TABLE word (i INTEGER PRIMARY KEY, tea TEXT, thing TEXT);
INSERT INTO word VALUES
    (0, 'green tea', 'tin'), (1, 'black tea', 'pot'), (2, 'mint', 'cup'), (3, 'oolong', 'bag'),
    (4, 'earl grey', 'box'), (5, 'chai', 'jar'), (6, 'rooibos', 'chest');
WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < )" +
           std::to_string(count) + R"()
INSERT INTO orders
    SELECT i, 'R' || i, 'customer ' || (i * 7919 % 1000), i * 104729 % 10000 + 1,
        (SELECT tea FROM word WHERE word.i = number.i % 7) || ' in a ' ||
        (SELECT thing FROM word WHERE word.i = number.i / 7 % 7)
    FROM number;
)";
}

/// An endless day at the shop: sales, and everything else that happens to rows.
class Day {
public:
    explicit Day(std::int64_t orders) : orders_{orders}, next_id_{orders + 1} {}

    /// The next statement, each a transaction of its own.
    std::string next() {
        const std::string old_id = std::to_string(any(orders_) + 1);
        switch (any(12)) {
            case 0: return "UPDATE orders SET cents = cents + 99 WHERE id = " + old_id + ";\n";
            case 1:
                return "UPDATE orders SET customer = " + customer() + " WHERE id = " + old_id +
                       ";\n";
            case 2:
                return "UPDATE orders SET note = 'jasmine for ' || customer WHERE id = " + old_id +
                       ";\n";
            case 3: return "DELETE FROM orders WHERE id = " + old_id + ";\n";
            case 4:
                return "UPDATE orders SET id = " + new_id() + " WHERE id = " + old_id +
                       ";\n"; // another key
            case 5:
                return sale("REPLACE", old_id, "'S" + old_id + "'"); // over the order with this id
            case 6:
                return sale(
                    "REPLACE", new_id(), "'R" + old_id + "'"); // over the one with this receipt
            case 7:
                return "UPDATE orders SET cents = cents + 1 WHERE id BETWEEN " + old_id +
                       " AND 20 + " + old_id + ";\n";
            case 8:
                return "BEGIN; UPDATE orders SET cents = 0 WHERE id = " + old_id +
                       "; ROLLBACK;\n"; // never happened
            default: break;
        }
        const std::string id = new_id();
        return sale("INSERT", id, "'R" + id + "'");
    }

private:
    std::int64_t any(std::int64_t below) {
        random_ = random_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::int64_t>(random_ >> 33U) % below;
    }
    std::string new_id() { return std::to_string(next_id_++); }
    std::string customer() { return "'customer " + std::to_string(any(1000)) + "'"; }
    std::string sale(const std::string& verb, const std::string& id, const std::string& receipt) {
        return verb + " INTO orders VALUES (" + id + ", " + receipt + ", " + customer() + ", " +
               std::to_string(any(10'000)) + ", 'white tea in a tin');\n";
    }

    std::int64_t orders_;
    std::int64_t next_id_;
    std::uint64_t random_ = 7;
};

} // namespace shop
