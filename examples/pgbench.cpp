// PostgreSQL's own benchmark, pgbench, keeps a bank busy with eight clients; a program follows it,
// and keeps three summaries.
//
// Run with: examples/run pgbench (on a server of its own; or on the empty database that PGHOST,
// PGDATABASE and PGUSER name)
//
// Expect: the program is killed twice and goes on; its summaries equal a computation from scratch.
//
// expect: 1\. pgbench makes a bank
// expect: Killed while it rebuilds
// expect: Killed while it follows
// expect: Everything is handled
// expect: balance by branch +3 rows: equal
// expect: debts by branch +3 rows: equal
// expect: payments by day and branch +[0-9,]+ rows: equal
// expect: All is equal
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/postgres.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "pgbench/story.hpp"
#include "support/process.hpp"
#include "support/screen.hpp"

namespace at = aftertouch;

struct Teller { // pgbench's own tables, with the columns that count here
    std::int32_t tid;
    std::int32_t bid; // branch
    std::int32_t tbalance;
};
template <>
struct aftertouch::EntityTraits<Teller> {
    static constexpr auto table = "pgbench_tellers";
    static constexpr auto key = at::key<&Teller::tid>;
};

struct Account {
    std::int32_t aid;
    std::int32_t bid;
    std::int32_t abalance;
};
template <>
struct aftertouch::EntityTraits<Account> {
    static constexpr auto table = "pgbench_accounts";
    static constexpr auto key = at::key<&Account::aid>;
};

struct Payment {
    std::int64_t id; // pgbench_history has no key: the story adds this column
    std::int32_t bid;
    std::int32_t delta;
    at::Timestamp mtime;
};
template <>
struct aftertouch::EntityTraits<Payment> {
    static constexpr auto table = "pgbench_history";
};

// Reads again: whatever happened to a teller, the total of its branch is computed anew. (Were
// tellers to change their branch, the old branch would be known from images alone.)
struct KeepBalances {
    void operator()(const at::Batch<Teller>& batch, auto& tx) const {
        std::set<std::int32_t> branches;
        for (const Teller& teller : batch.records()) { branches.insert(teller.bid); }
        for (const std::int32_t branch : branches) {
            tx.execute("INSERT INTO branch_balance SELECT bid, sum(tbalance) FROM pgbench_tellers "
                       "WHERE bid = $1 GROUP BY bid "
                       "ON CONFLICT (bid) DO UPDATE SET balance = excluded.balance",
                branch);
        }
    }
};

// Adds differences: takes off what an account was, and adds what it is. Each change counts once,
// since what is written through tx is committed together with how far the pipeline has come.
struct KeepDebts {
    void rebuild_started(std::int64_t, auto& tx) const { tx.execute("DELETE FROM branch_debt"); }

    void operator()(const at::Batch<Account>& batch, auto& tx) const {
        struct Debts {
            std::int64_t accounts = 0;
            std::int64_t debtors = 0;
            std::int64_t owed = 0;
        };
        std::map<std::int32_t, Debts> differences;
        const auto add = [&](const Account* account, std::int64_t sign) {
            if (account == nullptr) { return; }
            Debts& difference = differences[account->bid];
            difference.accounts += sign;
            if (account->abalance >= 0) { return; }
            difference.debtors += sign;
            difference.owed -= sign * account->abalance;
        };
        for (const auto& change : batch.changes()) {
            add(change.before(), -1);
            add(change.after(), 1);
        }
        for (const auto& [branch, more] : differences) {
            tx.execute(
                "INSERT INTO branch_debt VALUES ($1, $2, $3, $4) ON CONFLICT (bid) DO UPDATE "
                "SET accounts = branch_debt.accounts + excluded.accounts, "
                "debtors = branch_debt.debtors + excluded.debtors, "
                "owed = branch_debt.owed + excluded.owed",
                branch, more.accounts, more.debtors, more.owed);
        }
    }
};

// The same for the payments of a day.
struct KeepDays {
    void rebuild_started(std::int64_t, auto& tx) const { tx.execute("DELETE FROM branch_day"); }

    void operator()(const at::Batch<Payment>& batch, auto& tx) const {
        std::map<std::pair<std::chrono::sys_days, std::int32_t>,
            std::pair<std::int64_t, std::int64_t>>
            days;
        const auto add = [&](const Payment* payment, std::int64_t sign) {
            if (payment == nullptr) { return; }
            auto& [payments, sum] =
                days[{std::chrono::floor<std::chrono::days>(payment->mtime), payment->bid}];
            payments += sign;
            sum += sign * payment->delta;
        };
        for (const auto& change : batch.changes()) {
            add(change.before(), -1);
            add(change.after(), 1);
        }
        for (const auto& [day, more] : days) {
            tx.execute("INSERT INTO branch_day VALUES ($1, $2, $3, $4) ON CONFLICT (day, bid) DO "
                       "UPDATE SET payments = branch_day.payments + excluded.payments, "
                       "total = branch_day.total + excluded.total",
                day.first, day.second, more.first, more.second);
        }
    }
};

// The program that follows the bank, a process of its own: until its input ends, or it is killed.
int follow() {
    at::postgres::Database bank{""};
    const auto tellers = at::source<Teller>();
    const auto accounts = at::source<Account>().images();
    const auto payments = at::source<Payment>().images();
    at::Pipeline balances{tellers, KeepBalances{}, bank, {.name = "balances"}};
    // Four slices of the accounts beside each other: KeepDebts is fit for that, since it adds in
    // one statement, and in the order of branches in every lane.
    at::Pipeline debts{accounts, KeepDebts{}, bank, {.name = "debts", .lanes = 4}};
    at::Pipeline days{payments, KeepDays{}, bank, {.name = "days"}};
    balances.start();
    debts.start();
    days.start();

    support::Progress progress;
    while (!support::input_has_ended()) {
        progress.show(support::progress_of(balances.status()) + "   " +
                      support::progress_of(debts.status()) + "   " +
                      support::progress_of(days.status()));
    }
    bool idle = true;
    std::int64_t changes = 0;
    const auto finish = [&](auto& pipeline) {
        idle = pipeline.await_idle() == at::Awaited::idle && idle;
        changes += pipeline.status().changes;
    };
    finish(balances);
    finish(debts);
    finish(days);
    progress.end(
        "Everything is handled: " + support::grouped(changes) + " changes since this start.");
    return idle ? 0 : 1;
}

int main(int count, char** arguments) {
    try {
        if (count == 2 && std::string{arguments[1]} == "follow") { return follow(); }
        at::postgres::Database bank{""};
        const pgbench::Bank story{bank, arguments[0]};
        const bool equal =
            story.tell(std::chrono::seconds{count == 2 ? std::stoi(arguments[1]) : 10});
        at::remove(bank, at::source<Teller>(), at::source<Account>().images(),
            at::source<Payment>().images());
        return equal ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << "pgbench: " << error.what() << '\n';
        return 1;
    }
}
