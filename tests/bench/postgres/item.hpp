// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <postgres/server.hpp>

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

inline void create_items(Plain& db, const std::string& table = "item") {
    db.run("DROP TABLE IF EXISTS " + table + "; CREATE TABLE " + table +
           " (id bigint PRIMARY KEY, customer bigint NOT NULL, status text NOT NULL, amount bigint "
           "NOT NULL, price double precision NOT NULL, note text NOT NULL)");
}

[[nodiscard]] inline std::string insert_items(
    const std::string& table, std::int64_t first, std::int64_t count) {
    return "INSERT INTO " + table +
           " SELECT i, i % 1000, 'open', i % 50, i * 0.5, 'a note about "
           "it' FROM generate_series(" +
           std::to_string(first) + ", " + std::to_string(first + count - 1) + ") AS i";
}

/// The log of a program that does by hand what the library does, once for each way to fill it.
inline void create_log(Plain& db, const std::string& log) {
    db.run("DROP TABLE IF EXISTS " + log + " CASCADE; CREATE TABLE " + log +
           " (xid xid8 NOT NULL DEFAULT pg_current_xact_id(), seq bigint GENERATED ALWAYS AS "
           "IDENTITY, op \"char\" NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(), key "
           "bigint, pod bigint[]); CREATE INDEX ON " +
           log + " (seq)");
}

/// AFTER ROW triggers: the key and the operation of each change.
inline void create_row_triggers(Plain& db, const std::string& table, const std::string& log) {
    for (const std::string operation : {"insert", "update", "delete"}) {
        const std::string name = log + "_" + operation;
        const std::string row = operation == "delete" ? "OLD" : "NEW";
        const char letter = static_cast<char>(operation[0] - 'a' + 'A');
        std::string key_change;
        if (operation == "update") {
            key_change = "IF OLD.id <> NEW.id THEN INSERT INTO " + log +
                         " (op, key) VALUES ('D', OLD.id); END IF; ";
        }
        db.run("CREATE OR REPLACE FUNCTION " + name +
               "() RETURNS trigger LANGUAGE plpgsql AS $$ "
               "BEGIN " +
               key_change + "INSERT INTO " + log + " (op, key) VALUES ('" + letter + "', " + row +
               ".id); RETURN NULL; END $$; CREATE TRIGGER " + name + " AFTER " + operation +
               " ON " + table + " FOR EACH ROW EXECUTE FUNCTION " + name + "()");
    }
}

/// AFTER STATEMENT triggers that write pods of 500 keys. They don't see that a key changes.
inline void create_pod_triggers(Plain& db, const std::string& table, const std::string& log) {
    for (const std::string operation : {"insert", "update", "delete"}) {
        const std::string name = log + "_" + operation;
        const std::string side = operation == "delete" ? "OLD" : "NEW";
        const char letter = static_cast<char>(operation[0] - 'a' + 'A');
        db.run(
            "CREATE OR REPLACE FUNCTION " + name +
            "() RETURNS trigger LANGUAGE plpgsql AS $$ "
            "BEGIN INSERT INTO " +
            log + " (op, pod) SELECT '" + letter +
            "', a[i:i + 499] FROM (SELECT array_agg(id) AS a FROM changed) AS all_keys, "
            "generate_series(1, cardinality(a), 500) AS i; RETURN NULL; END $$; CREATE TRIGGER " +
            name + " AFTER " + operation + " ON " + table + " REFERENCING " + side +
            " TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION " + name + "()");
    }
}

} // namespace bench
