// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <sqlite/plain.hpp>

/// \file
/// The table that every bench works on, and the log of a program that follows it by hand.

namespace bench {

struct Item {
    std::int64_t id;
    std::int64_t customer;
    std::string status;
    std::int64_t amount;
    double price;
    std::string note;
};

inline void create_items(Plain& db) {
    db.run("CREATE TABLE item (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, status TEXT NOT "
           "NULL, amount INTEGER NOT NULL, price REAL NOT NULL, note TEXT NOT NULL)");
}

/// Inserts rows `first` to `first + count - 1` in one statement.
inline void insert_items(Plain& db, std::int64_t first, std::int64_t count) {
    db.run("INSERT INTO item WITH RECURSIVE n(i) AS (SELECT " + std::to_string(first) +
           " UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(first + count - 1) +
           ") SELECT i, i % 1000, 'open', i % 50, i * 0.5, 'a note about it' FROM n");
}

/// The tables of a program that does by hand what the library does: log and checkpoint.
inline void create_log(Plain& db) {
    db.run("CREATE TABLE log (seq INTEGER PRIMARY KEY AUTOINCREMENT, capture, operation, at, key);"
           "CREATE TABLE checkpoint (pipeline TEXT PRIMARY KEY NOT NULL, position INTEGER NOT "
           "NULL);"
           "INSERT INTO checkpoint VALUES ('bench', 0)");
}

/// Its triggers: the key, the operation and the time of each change.
inline void create_touch_triggers(Plain& db) {
    db.run(R"(
CREATE TRIGGER item_insert AFTER INSERT ON item BEGIN
  INSERT INTO log (capture, operation, at, key) VALUES (1, 'I', julianday('now'), NEW.id);
END;
CREATE TRIGGER item_update AFTER UPDATE ON item BEGIN
  INSERT INTO log (capture, operation, at, key)
    SELECT 1, 'D', julianday('now'), OLD.id WHERE OLD.id IS NOT NEW.id;
  INSERT INTO log (capture, operation, at, key) VALUES (1, 'U', julianday('now'), NEW.id);
END;
CREATE TRIGGER item_delete AFTER DELETE ON item BEGIN
  INSERT INTO log (capture, operation, at, key) VALUES (1, 'D', julianday('now'), OLD.id);
END;
)");
}

/// Its triggers that also keep the row before and after, in a table with typed columns.
inline void create_image_triggers(Plain& db) {
    db.run(R"(
CREATE TABLE image (seq INTEGER PRIMARY KEY,
  b_id INTEGER, b_customer INTEGER, b_status TEXT, b_amount INTEGER, b_price REAL, b_note TEXT,
  a_id INTEGER, a_customer INTEGER, a_status TEXT, a_amount INTEGER, a_price REAL, a_note TEXT);
CREATE TRIGGER item_insert AFTER INSERT ON item BEGIN
  INSERT INTO log (capture, operation, at, key) VALUES (1, 'I', julianday('now'), NEW.id);
  INSERT INTO image (seq, a_id, a_customer, a_status, a_amount, a_price, a_note)
    VALUES (last_insert_rowid(), NEW.id, NEW.customer, NEW.status, NEW.amount, NEW.price, NEW.note);
END;
CREATE TRIGGER item_update AFTER UPDATE ON item BEGIN
  INSERT INTO log (capture, operation, at, key) VALUES (1, 'U', julianday('now'), NEW.id);
  INSERT INTO image VALUES (last_insert_rowid(),
    OLD.id, OLD.customer, OLD.status, OLD.amount, OLD.price, OLD.note,
    NEW.id, NEW.customer, NEW.status, NEW.amount, NEW.price, NEW.note);
END;
CREATE TRIGGER item_delete AFTER DELETE ON item BEGIN
  INSERT INTO log (capture, operation, at, key) VALUES (1, 'D', julianday('now'), OLD.id);
  INSERT INTO image (seq, b_id, b_customer, b_status, b_amount, b_price, b_note)
    VALUES (last_insert_rowid(), OLD.id, OLD.customer, OLD.status, OLD.amount, OLD.price, OLD.note);
END;
)");
}

} // namespace bench
