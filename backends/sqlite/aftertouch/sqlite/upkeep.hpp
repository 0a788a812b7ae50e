// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/identifier.hpp>
#include <aftertouch/row.hpp>
#include <aftertouch/script.hpp>
#include <aftertouch/sqlite/dialect.hpp>

/// \file
/// What keeps the log small: removes from it what every pipeline has handled (O2).

namespace aftertouch::sqlite {

namespace dialect {

/// The last number that may go: every pipeline has passed it, and it isn't the newest, which stays
/// (`high_water`). NULL where there is none. A checkpoint of another log doesn't count: its
/// pipeline rebuilds.
[[nodiscard]] inline std::string prunable(const std::string& schema) {
    return "WITH text AS (SELECT substr(checkpoint, 5) AS rest FROM " + own(schema, "checkpoint") +
           " WHERE substr(checkpoint, 1, 4) = 'at1 '),\n  word AS (SELECT substr(rest, 1, "
           "instr(rest, ' ') - 1) AS log, min(CAST(substr(rest, instr(rest, ' ') + 1) AS INTEGER), "
           "coalesce(" +
           low_place("rest") +
           ", 9223372036854775807)) AS "
           "place FROM text)\nSELECT min((SELECT min(w.place) FROM word AS w JOIN " +
           own(schema, "meta") + " AS m JOIN " + own(schema, "capture") +
           " AS c ON w.log = m.log_id || '.' || c.incarnation),\n  (SELECT max(seq) - 1 FROM " +
           own(schema, "log") + "))";
}

/// Of the rows up to $1 the first $2: how many they are, and the last number.
[[nodiscard]] inline std::string first_rows(const std::string& schema) {
    return "SELECT count(*), coalesce(max(seq), 0) FROM (SELECT seq FROM " + own(schema, "log") +
           " WHERE seq <= $1 ORDER BY seq LIMIT $2)";
}

} // namespace dialect

/// The statements that prune a schema's log, for the library and for a person.
class Pruning {
public:
    /// How many rows go in one transaction: writers wait for that long.
    static constexpr std::int64_t rows_at_once = 10'000;

    explicit Pruning(std::string schema) : schema_{std::move(schema)} {}

    /// Removes as many, in a transaction that has begun. Answers how many there were.
    template <class Transaction>
    [[nodiscard]] std::int64_t remove_some(Transaction& tx) const {
        if (!has_table(tx, "aftertouch_meta")) { return 0; } // nothing was ever installed
        const auto through =
            tx.query(type<std::optional<std::int64_t>>, dialect::prunable(schema_)).front();
        if (!through) { return 0; }
        const Some some =
            tx.query(type<Some>, dialect::first_rows(schema_), *through, rows_at_once).front();
        if (some.rows == 0) { return 0; }
        tx.execute(note("$1"), some.last);
        for (const std::string& removal : removals(tx)) { tx.execute(removal); }
        return some.rows;
    }

    /// All of it, for a person to run.
    template <class Database>
    [[nodiscard]] Script script(Database& database) const {
        Script script;
        script.add("Notes what every pipeline has handled: one that needs it later rebuilds. The\n"
                   "newest row stays: SQLite counts on from it. A pipeline that is gone for good\n"
                   "keeps everything: delete its row from aftertouch_checkpoint first.",
            note("coalesce((" + dialect::prunable(schema_) + "), 0)"));
        const char* comment = "Removes it.";
        for (std::string& removal : removals(database)) {
            script.add(std::exchange(comment, ""), std::move(removal));
        }
        return script.in_transaction("Prunes the log. Writers wait until it is through: on a large "
                                     "log Database::prune() holds them up less.",
            "BEGIN IMMEDIATE");
    }

private:
    struct Some {
        std::int64_t rows = 0;
        std::int64_t last = 0;
    };

    [[nodiscard]] std::string note(const std::string& through) const {
        return "UPDATE " + dialect::own(schema_, "meta") +
               " SET pruned_through = max(pruned_through, " + through + ")";
    }

    // From the log, and from every table of images.
    template <class Queries>
    [[nodiscard]] std::vector<std::string> removals(Queries& queries) const {
        std::vector<std::string> removals;
        const auto remove = [&](const std::string& table) {
            removals.push_back("DELETE FROM " + quoted(schema_) + '.' + quoted(table) +
                               " WHERE seq <= (SELECT pruned_through FROM " +
                               dialect::own(schema_, "meta") + ")");
        };
        remove("aftertouch_log");
        for (const std::int64_t capture : queries.query(
                 type<std::int64_t>, "SELECT id FROM " + dialect::own(schema_, "capture"))) {
            std::string table = dialect::image_table(capture, 0);
            for (std::size_t part = 0; has_table(queries, table);) {
                remove(table);
                table = dialect::image_table(capture, ++part);
            }
        }
        return removals;
    }

    template <class Queries>
    [[nodiscard]] bool has_table(Queries& queries, const std::string& name) const {
        const std::string sql = "SELECT count(*) FROM " + quoted(schema_) +
                                ".sqlite_schema WHERE type = 'table' AND name = $1";
        return queries.query(type<std::int64_t>, sql, name).front() != 0;
    }

    std::string schema_;
};

} // namespace aftertouch::sqlite
