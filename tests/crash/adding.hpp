// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <aftertouch/aftertouch.hpp>

/// \file
/// What a process does that is stopped in the middle of it, on any engine: a handler that adds
/// differences, changes for it, and what must hold behind it.

namespace crash {

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

} // namespace crash

template <>
struct aftertouch::EntityTraits<crash::Total> {
    static constexpr auto key = aftertouch::key<&crash::Total::customer>;
};

namespace crash {

inline const auto totals = at::source<Order>().images();

/// Adds differences, and writes down each change that it was given: both show what comes twice, or
/// not at all.
template <class Database>
class Adding {
public:
    /// With `beside` it keeps its ledger beside the transaction: a double.
    explicit Adding(Database* beside = nullptr) : beside_{beside} {}

    template <class Tx>
    void rebuild_started(std::int64_t, Tx& tx) {
        tx.execute("DELETE FROM total");
        write(tx, "DELETE FROM ledger");
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
            write(tx, "INSERT INTO ledger (change) VALUES ($1)", change.idempotency_key());
        }
    }

private:
    template <class Tx>
    static void add(Tx& tx, const std::string& customer, std::int64_t amount) {
        tx.execute("INSERT INTO total (customer, amount) VALUES ($1, $2) ON CONFLICT (customer) DO "
                   "UPDATE SET amount = total.amount + excluded.amount",
            customer, amount);
    }

    template <class Tx, class... Arguments>
    void write(Tx& tx, const std::string& sql, const Arguments&... arguments) {
        if (beside_ == nullptr) {
            tx.execute(sql, arguments...);
        } else {
            beside_->execute(sql, arguments...);
        }
    }

    Database* beside_;
};

/// A pipeline with small batches, passed to `work`.
template <class Database, class Work>
void with_pipeline(Database& database, Database* beside, Work work) {
    at::Pipeline pipeline{totals, Adding<Database>{beside}, database,
        {.name = "totals", .batch_size = 5, .observer = {}}};
    work(pipeline);
}

template <class Database>
void add_orders(Database& database) {
    for (std::int64_t id = 1; id <= 16; ++id) {
        database.execute(
            "INSERT INTO \"order\" VALUES ($1, $2, $3)", id, "c" + std::to_string(id % 3), id);
    }
}

template <class Database>
void change_orders(Database& database) {
    database.execute(
        "UPDATE \"order\" SET amount = amount + 1, customer = 'c' || (id % 4) WHERE id % 2 = 0");
    database.execute("DELETE FROM \"order\" WHERE id % 7 = 0");
    database.execute("UPDATE \"order\" SET id = id + 100 WHERE id < 4");
    database.execute("INSERT INTO \"order\" VALUES (7, 'c7', 70), (50, 'c5', 50)");
}

template <class Database>
[[nodiscard]] std::int64_t number(Database& database, const std::string& sql) {
    return database.query(at::type<std::int64_t>, sql).at(0);
}

/// What is wrong already: nothing was handled twice.
template <class Database>
[[nodiscard]] std::string fault_left(Database& ledger) {
    return number(ledger, "SELECT count(*) - count(DISTINCT change) FROM ledger") != 0
               ? "a change was handled twice"
               : std::string{};
}

/// What is wrong when everything is handled. `logged` counts the changes in the log.
template <class Database>
[[nodiscard]] std::string fault_at_end(
    Database& database, Database& ledger, const std::string& logged) {
    if (std::string fault = fault_left(ledger); !fault.empty()) { return fault; }
    const std::string scratch = "SELECT customer, sum(amount) FROM \"order\" GROUP BY customer";
    const std::string derived = "SELECT customer, amount FROM total WHERE amount <> 0";
    const auto differ = [&](const std::string& one, const std::string& other) {
        return number(database, "SELECT count(*) FROM (SELECT * FROM (" + one + ") AS one EXCEPT " +
                                    other + ") AS differing") != 0;
    };
    if (differ(scratch, derived) || differ(derived, scratch)) {
        return "the totals differ from a computation from scratch";
    }
    const bool rebuilt =
        number(ledger, "SELECT count(*) FROM ledger WHERE change LIKE '%:r2:%'") != 0;
    const std::string handled = "SELECT count(*) FROM ledger WHERE change NOT LIKE '%:r%'";
    if (!rebuilt && number(ledger, handled) > number(database, logged)) {
        return "more changes were handled than there are";
    }
    return {};
}

} // namespace crash
