// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "ledger.hpp"

/// \file
/// Other ways to follow a log of overlapping transactions, each as it is widely used, and each
/// refuted by a schedule: the same checker that passes the library must catch them. Beside them,
/// as control, the rule that the library has, in a few lines.

namespace test {

/// How a reader chooses what comes next.
enum class Rule {
    number,               ///< what has a higher number than the last one
    number_below_horizon, ///< the same, of transactions older than the oldest that runs
    transaction,          ///< transactions older than the oldest that runs, by their ids
    horizon_window,       ///< the same, by number
    row_version,          ///< between two snapshots, by the row's system column xmin
    late_snapshot,        ///< between two snapshots, taken by a transaction that has an id
    bound_before,         ///< between two snapshots, searched from the last number before the first
    window                ///< between two snapshots: the control
};

/// A reader by one of these rules, over `log`, which lies as the library's does.
class Scheme {
public:
    Scheme(const Shop& shop, Rule rule, std::string log = "aftertouch.log")
        : session_{shop, "scheme"}, rule_{rule}, log_{std::move(log)} {
        const bool by_number = rule == Rule::number || rule == Rule::number_below_horizon;
        const bool by_id = rule == Rule::transaction || rule == Rule::horizon_window;
        place_ =
            by_number
                ? "0"
                : session_
                      .run(by_id ? "SELECT " + horizon()
                                 : "SELECT coalesce(pg_sequence_last_value('aftertouch.log_seq_"
                                   "seq'), 0), pg_current_snapshot()")
                      .rows.front()
                      .back();
    }

    /// `meanwhile` runs where the transaction has begun, and its id is taken if the rule says so.
    void poll(const std::function<void()>& meanwhile = {}) {
        session_.run("BEGIN");
        // Its own transaction isn't among those that the snapshot says are running.
        if (rule_ == Rule::late_snapshot) { session_.run("SELECT pg_current_xact_id()"); }
        if (meanwhile) { meanwhile(); }
        const std::string last = last_number();
        for (const auto& row : session_.run(next()).rows) {
            if (rule_ == Rule::number || rule_ == Rule::number_below_horizon) {
                place_ = row[1].empty() ? place_ : row[1];
            } else {
                place_ = row[0];
            }
            if (!row[1].empty()) { take(row[2], row[3]); }
        }
        if (!work_.empty()) { session_.run(work_); }
        session_.run("COMMIT");
        bound_ = last;
    }

    [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }
    [[nodiscard]] std::string verdict(Session& session) {
        poll();
        return ledger_.verdict(session);
    }
    /// What its transaction does beside reading, each time.
    void also(std::string sql) { work_ = std::move(sql); }

private:
    [[nodiscard]] std::string last_number() {
        return session_
            .run("SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('" + log_ +
                 "', 'seq')), 0)")
            .value();
    }

    // Below this every transaction of the database had ended. (Other tests' databases are left out,
    // so that a schedule stays the same beside them.)
    [[nodiscard]] static std::string horizon() {
        return "coalesce((SELECT x FROM (SELECT backend_xid::text::xid8 AS x FROM pg_stat_activity "
               "WHERE datname = current_database() UNION ALL SELECT transaction::text::xid8 FROM "
               "pg_prepared_xacts WHERE database = current_database()) AS r WHERE x IS NOT NULL "
               "ORDER BY x LIMIT 1), pg_snapshot_xmax(pg_current_snapshot()))";
    }

    // Place behind this read, number, operation, image: one statement, one snapshot.
    [[nodiscard]] std::string next() const {
        const std::string now = "pg_current_snapshot()";
        std::string end = now;
        std::string where;
        std::string order = "l.seq";
        switch (rule_) {
            case Rule::number: where = "l.seq > " + place_; break;
            case Rule::number_below_horizon:
                where = "l.seq > " + place_ + " AND l.xid < " + horizon();
                break;
            case Rule::transaction: order = "l.xid, l.seq"; [[fallthrough]];
            case Rule::horizon_window:
                end = horizon();
                where = "l.xid >= '" + place_ + "' AND l.xid < p.place";
                break;
            case Rule::row_version:
                where = "NOT pg_visible_in_snapshot(l.xmin::text::xid8, '" + place_ + "')";
                break;
            case Rule::bound_before:
                where = "l.seq > " + bound_ + " AND NOT pg_visible_in_snapshot(l.xid, '" + place_ +
                        "')";
                break;
            case Rule::late_snapshot:
            case Rule::window: where = "NOT pg_visible_in_snapshot(l.xid, '" + place_ + "')"; break;
        }
        return "WITH p AS MATERIALIZED (SELECT " + end +
               " AS place) SELECT p.place, l.seq, l.op, l.image FROM p LEFT JOIN LATERAL (SELECT "
               "l.seq, l.xid, l.op, l.image FROM " +
               log_ + " AS l WHERE l.image IS NOT NULL AND " + where + ") AS l ON true ORDER BY " +
               order;
    }

    // `(7,1)(7,2)`: what an image of an item is.
    void take(const std::string& operation, const std::string& image) {
        const auto number = [&](std::size_t from, char before) {
            return std::atoll(image.c_str() + image.find(before, from) + 1);
        };
        const std::size_t second = image.find("(", 1);
        Handled handled{number(0, '('), {}, {}};
        if (operation != "I") { handled.before = number(0, ','); }
        if (operation != "D") {
            handled.after = number(second == std::string::npos ? 0 : second, ',');
        }
        ledger_.take(handled);
    }

    Session session_;
    Rule rule_;
    std::string log_;
    std::string place_;
    std::string bound_ = "0";
    std::string work_;
    Ledger ledger_;
};

} // namespace test
