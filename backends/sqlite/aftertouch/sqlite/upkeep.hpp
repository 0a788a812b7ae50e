// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <aftertouch/dml.hpp>
#include <aftertouch/row.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/transaction.hpp>

/// \file
/// What keeps the log small: removes from it what every pipeline has handled (O2).

namespace aftertouch::sqlite {

namespace dialect {

/// The last number that may go: every pipeline has passed it, and it isn't the newest, which stays
/// (`high_water`). NULL where there is none. A checkpoint of another log doesn't count: its
/// pipeline rebuilds.
[[nodiscard]] inline std::string prunable(const std::string& schema) {
    return "WITH text AS (SELECT substr(checkpoint, 5) AS rest FROM " + own(schema, "checkpoint") +
           " WHERE substr(checkpoint, 1, 4) = 'at1 '), word AS (SELECT substr(rest, 1, instr(rest, "
           "' ') - 1) AS log, CAST(substr(rest, instr(rest, ' ') + 1) AS INTEGER) AS place FROM "
           "text) SELECT min((SELECT min(w.place) FROM word AS w JOIN " +
           own(schema, "meta") + " AS m JOIN " + own(schema, "capture") +
           " AS c ON w.log = m.log_id || '.' || c.incarnation), (SELECT max(seq) - 1 FROM " +
           own(schema, "log") + "))";
}

/// Of the rows up to $1 the first $2: how many they are, and the last number.
[[nodiscard]] inline std::string first_rows(const std::string& schema) {
    return "SELECT count(*), coalesce(max(seq), 0) FROM (SELECT seq FROM " + own(schema, "log") +
           " WHERE seq <= $1 ORDER BY seq LIMIT $2)";
}

} // namespace dialect

/// Removes some of the log's rows, in a transaction that has begun.
class Pruning {
public:
    /// How many rows go in one transaction: writers wait for that long.
    static constexpr std::int64_t rows_at_once = 10'000;

    explicit Pruning(std::string schema) : schema_{std::move(schema)} {}

    /// Answers how many; fewer than `rows_at_once` where there are no more.
    template <class Transaction>
    [[nodiscard]] std::int64_t remove_some(Transaction& tx) const {
        if (!has_table(tx, "aftertouch_meta")) { return 0; } // nothing was ever installed
        const auto through =
            tx.query(type<std::optional<std::int64_t>>, dialect::prunable(schema_)).front();
        if (!through) { return 0; }
        const Some some =
            tx.query(type<Some>, dialect::first_rows(schema_), *through, rows_at_once).front();
        if (some.rows == 0) { return 0; }
        const std::string up_to = " WHERE seq <= $1";
        tx.execute("UPDATE " + dialect::own(schema_, "meta") +
                       " SET pruned_through = max(pruned_through, $1)",
            some.last);
        for (const std::int64_t capture :
            tx.query(type<std::int64_t>, "SELECT id FROM " + dialect::own(schema_, "capture"))) {
            std::string table = dialect::image_table(capture, 0);
            for (std::size_t part = 0; has_table(tx, table);) {
                tx.execute(
                    "DELETE FROM " + quoted(schema_) + '.' + quoted(table) + up_to, some.last);
                table = dialect::image_table(capture, ++part);
            }
        }
        tx.execute("DELETE FROM " + dialect::own(schema_, "log") + up_to, some.last);
        return some.rows;
    }

private:
    struct Some {
        std::int64_t rows = 0;
        std::int64_t last = 0;
    };

    template <class Transaction>
    [[nodiscard]] bool has_table(Transaction& tx, const std::string& name) const {
        const std::string sql = "SELECT count(*) FROM " + quoted(schema_) +
                                ".sqlite_schema WHERE type = 'table' AND name = $1";
        return tx.query(type<std::int64_t>, sql, name).front() != 0;
    }

    std::string schema_;
};

} // namespace aftertouch::sqlite
