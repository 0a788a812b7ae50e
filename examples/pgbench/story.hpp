// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/postgres.hpp>

#include "../support/compare.hpp"
#include "../support/process.hpp"
#include "../support/screen.hpp"

/// \file
/// The story: pgbench keeps a bank busy, the program is started and killed, and in the end somebody
/// else counts.

namespace pgbench {

namespace at = aftertouch;
using support::compare;
using support::grouped;
using support::number;
using support::Process;
using Clock = std::chrono::steady_clock;
using Database = at::postgres::Database;

inline constexpr int branches = 3;

/// pgbench with these arguments, its output thrown away.
inline std::vector<std::string> command(const std::string& arguments) {
    return {"sh", "-c", "exec pgbench " + arguments + " > /dev/null 2>&1"};
}

/// The bank's tables, from here until this object goes.
class Bank {
public:
    Bank(Database& database, std::string program)
        : database_{database}, program_{std::move(program)} {
        if (number(database_, "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'") != 0) {
            throw std::runtime_error(database_.name() +
                                     " has tables of pgbench already: drop them, or name another "
                                     "database in PGDATABASE");
        }
        make();
    }
    Bank(const Bank&) = delete;
    Bank& operator=(const Bank&) = delete;
    ~Bank() {
        try {
            drop();
        } catch (const at::Error&) {
            // The server is gone, or somebody holds them: the next run says so.
        }
    }

    /// Runs `program follow` beside pgbench, kills it twice, and compares. *Returns* whether all
    /// that it derived is right.
    [[nodiscard]] bool tell(std::chrono::seconds least) const {
        const auto end = Clock::now() + least;
        Process clients{command("--no-vacuum --client=8 --jobs=2 --time=3600")};

        say("\n2. Eight clients of pgbench pay in and out, as fast as they can. The program "
            "starts. "
            "It keeps the balance of\n"
            "   each branch (it reads the tellers again), its debts, and its payments by day (it "
            "adds differences). All of it\n"
            "   is new: a rebuild hands over every row, while the clients go on.");
        {
            Process first{follow(), true};
            wait_while(first, clients, [&] { return counted() < branches * 40'000; });
            kill_it(first);
        }
        say("\n3. The program starts again. Its rebuilds go on where they were. Meanwhile somebody "
            "moves accounts to other\n"
            "   branches, books payments at other days, and strikes some out.");
        {
            Process second{follow(), true};
            wait_while(second, clients, [&] { return support::rebuilding(database_); });
            correct();
            const auto then = std::max(end, Clock::now() + std::chrono::seconds{2});
            wait_while(second, clients, [&] { return Clock::now() < then; });
            kill_it(second);
        }
        say("\n4. The clients go on alone. Then the program starts a third time, and catches up.");
        correct();
        const auto more = payments() + 1000;
        Process third{follow(), true};
        wait_while(third, clients, [&] { return payments() < more; });
        close(clients);
        if (third.wait() != 0) { throw std::runtime_error("the program failed"); }

        say("\n5. The clients are done, after " + grouped(payments()) +
            " payments. What was derived, and what pgbench's tables say now:");
        const bool equal = compare_all();
        say(equal ? "\nAll is equal: killed twice, and no change was lost or counted twice."
                  : "\nNOT all is equal: what the program derived is wrong.");
        return equal;
    }

private:
    static void say(const std::string& text) { std::cout << text << std::endl; }
    [[nodiscard]] std::vector<std::string> follow() const { return {program_, "follow"}; }

    void make() const {
        say("1. pgbench makes a bank: " + std::to_string(branches) + " branches, " +
            std::to_string(branches * 10) + " tellers, " + grouped(branches * 100'000) +
            " accounts.");
        Process maker{command("--initialize --quiet --scale=" + std::to_string(branches))};
        const int status = maker.wait();
        if (status == 127) {
            throw std::runtime_error(
                "there is no pgbench: install it (apt-get install postgresql)");
        }
        if (status != 0) { throw std::runtime_error("pgbench could not make its tables"); }
        database_.execute(
            "ALTER TABLE pgbench_history ADD id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY; "
            "CREATE TABLE branch_balance (bid integer PRIMARY KEY, balance bigint NOT NULL); "
            "CREATE TABLE branch_debt (bid integer PRIMARY KEY, accounts bigint NOT NULL, debtors "
            "bigint NOT NULL, owed bigint NOT NULL); "
            "CREATE TABLE branch_day (day date, bid integer, payments bigint NOT NULL, total "
            "bigint NOT NULL, PRIMARY KEY (day, bid))");
    }
    void drop() const {
        database_.execute(
            "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, "
            "pgbench_tellers, branch_balance, branch_debt, branch_day");
    }

    template <class Condition>
    void wait_while(const Process& program, const Process& clients, Condition condition) const {
        const auto deadline = Clock::now() + std::chrono::minutes{3};
        while (condition()) {
            if (!program.running()) { throw std::runtime_error("the program ended by itself"); }
            if (!clients.running()) { throw std::runtime_error("pgbench ended by itself"); }
            if (Clock::now() > deadline) { throw std::runtime_error("the program doesn't get on"); }
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
    }

    void kill_it(Process& program) const {
        program.kill(SIGKILL);
        if (program.wait() != -SIGKILL) { throw std::runtime_error("the program ended by itself"); }
        support::end_of_progress();
        say(std::string{"   Killed while it "} +
            (support::rebuilding(database_) ? "rebuilds" : "follows") + " (SIGKILL). It knows " +
            grouped(counted()) + " accounts and " +
            grouped(
                number(database_, "SELECT coalesce(sum(payments), 0)::bigint FROM branch_day")) +
            " payments, of " + grouped(payments()) + ".");
    }

    // Ends pgbench, and waits until the server has ended what it began.
    void close(Process& clients) const {
        clients.kill(SIGTERM);
        static_cast<void>(clients.wait());
        const auto deadline = Clock::now() + std::chrono::minutes{1};
        while (number(database_, "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
                                 "'pgbench' AND datname = current_database()") != 0) {
            if (Clock::now() > deadline) { throw std::runtime_error("pgbench doesn't end"); }
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
    }

    void correct() const {
        database_.execute("UPDATE pgbench_accounts SET bid = bid % " + std::to_string(branches) +
                          " + 1 WHERE aid % 500 = 7; "
                          "UPDATE pgbench_history SET mtime = mtime - interval '1 day' * (id % 3) "
                          "WHERE id % 50 = 3; "
                          "DELETE FROM pgbench_history WHERE id % 100 = 5");
    }

    [[nodiscard]] std::int64_t payments() const {
        return number(database_, "SELECT count(*) FROM pgbench_history");
    }
    /// The accounts that are in the summary of debts.
    [[nodiscard]] std::int64_t counted() const {
        return number(database_, "SELECT coalesce(sum(accounts), 0)::bigint FROM branch_debt");
    }

    [[nodiscard]] bool compare_all() const {
        bool equal = compare(database_, "balance by branch            ",
            "SELECT bid, balance FROM branch_balance",
            "SELECT bid, sum(tbalance) FROM pgbench_tellers GROUP BY bid");
        equal &= compare(database_, "debts by branch              ",
            "SELECT bid, accounts, debtors, owed FROM branch_debt",
            "SELECT bid, count(*), count(*) FILTER (WHERE abalance < 0), sum(greatest(-abalance, "
            "0)) FROM pgbench_accounts GROUP BY bid");
        equal &= compare(database_, "payments by day and branch   ",
            "SELECT day, bid, payments, total FROM branch_day WHERE payments <> 0",
            "SELECT mtime::date, bid, count(*), sum(delta) FROM pgbench_history GROUP BY 1, 2");
        return equal;
    }

    Database& database_;
    std::string program_;
};

} // namespace pgbench
