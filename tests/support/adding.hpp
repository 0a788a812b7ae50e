// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <aftertouch/aftertouch.hpp>

/// \file
/// A handler that shows what was lost or done twice, for suites that break something under its
/// pipeline: it adds differences, and writes down each change that it was given. On any engine.

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

inline const auto orders = at::source<Order>().images();

/// The handler. Its ledger has no unique key, which would hide what comes twice.
template <class Database>
class Adding {
public:
    struct How {
        Database* beside = nullptr; ///< it keeps its ledger there, beside the transaction: a double
        bool forgiving = false; ///< it goes on after a statement that failed, as no handler should
        const bool* picky = nullptr; ///< while that is true it wants every fifth order set aside
    };

    Adding() = default;
    explicit Adding(How how) : how_{how} {}

    template <class Tx>
    void rebuild_started(std::int64_t, Tx& tx) {
        tx.execute("DELETE FROM total");
        in_ledger(tx, "DELETE FROM ledger");
    }

    template <class Tx>
    at::Outcome operator()(const at::Batch<Order>& batch, Tx& tx) {
        const bool picky = how_.picky != nullptr && *how_.picky;
        std::multimap<std::string, std::int64_t> amounts; // in one order, or lanes deadlock
        for (const at::Change<Order>& change : batch.changes()) {
            if (picky && change.key() % 5 == 0) { return at::Outcome::park; }
            if (change.before() != nullptr) {
                amounts.emplace(change.before()->customer, -change.before()->amount);
            }
            if (change.after() != nullptr) {
                amounts.emplace(change.after()->customer, change.after()->amount);
            }
            in_ledger(tx, "INSERT INTO ledger (change) VALUES ($1)", change.idempotency_key());
        }
        for (const auto& [customer, amount] : amounts) { add(tx, customer, amount); }
        return at::Outcome::done;
    }

private:
    template <class Tx>
    void add(Tx& tx, const std::string& customer, std::int64_t amount) {
        run(tx,
            "INSERT INTO total (customer, amount) VALUES ($1, $2) ON CONFLICT (customer) DO "
            "UPDATE SET amount = total.amount + excluded.amount",
            customer, amount);
    }

    template <class Tx, class... Arguments>
    void in_ledger(Tx& tx, const std::string& sql, const Arguments&... arguments) {
        if (how_.beside == nullptr) {
            run(tx, sql, arguments...);
        } else {
            how_.beside->execute(sql, arguments...);
        }
    }

    template <class Tx, class... Arguments>
    void run(Tx& tx, const std::string& sql, const Arguments&... arguments) {
        try {
            tx.execute(sql, arguments...);
        } catch (const at::Error&) {
            if (!how_.forgiving) { throw; }
        }
    }

    How how_{};
};

/// What there is in the beginning: 16 rows.
template <class Database>
void add_orders(Database& database) {
    for (std::int64_t id = 1; id <= 16; ++id) {
        database.execute(
            "INSERT INTO \"order\" VALUES ($1, $2, $3)", id, "c" + std::to_string(id % 3), id);
    }
}

/// What happens to them: 8 updates, 2 deletions, 3 changes of key.
template <class Database>
void change_rows(Database& database) {
    database.execute(
        "UPDATE \"order\" SET amount = amount + 1, customer = 'c' || (id % 4) WHERE id % 2 = 0");
    database.execute("DELETE FROM \"order\" WHERE id % 7 = 0");
    database.execute("UPDATE \"order\" SET id = id + 100 WHERE id < 4");
}

template <class Database>
[[nodiscard]] std::int64_t number(Database& database, const std::string& sql) {
    return database.query(at::type<std::int64_t>, sql).at(0);
}

/// What is wrong already: nothing was handled twice.
template <class Database>
[[nodiscard]] std::string fault_in_ledger(Database& ledger) {
    return number(ledger, "SELECT count(*) - count(DISTINCT change) FROM ledger") != 0
               ? "a change was handled twice"
               : std::string{};
}

/// What is wrong when everything is handled.
template <class Database>
[[nodiscard]] std::string fault_in_totals(Database& database) {
    const std::string scratch = "SELECT customer, sum(amount) FROM \"order\" GROUP BY customer "
                                "HAVING sum(amount) <> 0";
    const std::string derived = "SELECT customer, amount FROM total WHERE amount <> 0";
    const auto differ = [&](const std::string& one, const std::string& other) {
        return number(database, "SELECT count(*) FROM (SELECT * FROM (" + one + ") AS one EXCEPT " +
                                    other + ") AS differing") != 0;
    };
    return differ(scratch, derived) || differ(derived, scratch)
               ? "the totals differ from a computation from scratch"
               : std::string{};
}

} // namespace test
