// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <crash/nemesis.hpp>
#include <soak/judge.hpp>
#include <soak/program.hpp>

/// \file
/// What tests of several instances need: how one is started and held up, what is written, and how
/// the ledger is compared with what was committed.
///
/// A ground is the database of a test: `Database`, `database()`, `open()`, `start(words)`,
/// `cut_off(name)`, `cuts_off`, `writers`, `lease` (the table), `long_ago` (a time in it) and
/// `strays` (SQL that counts the ledger's rows of instances that had lost the lease, or didn't have
/// it yet).

namespace nemesis {

using Milliseconds = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// A table's only number.
template <class Database>
[[nodiscard]] std::int64_t number(Database& database, const std::string& sql) {
    return database.query(at::type<std::int64_t>, sql).at(0);
}

/// Installs the capture and writes the first checkpoint, so that all that follows are changes.
template <class Database>
void begin_pipeline(Database& database) {
    at::Pipeline pipeline{at::source<Item>().images(), [](const at::Batch<Item>&) {}, database,
        {.name = pipeline_name, .observer = {}}};
    pipeline.drain();
}

/// Writes versions of two items, and says so, in one transaction.
template <class Database>
void write_items(Database& database, std::int64_t number, std::int64_t i) {
    database.transaction([&](auto& tx) {
        for (const std::int64_t id : {i % 7, 7 + (i * number) % 5}) {
            const std::int64_t version = number * 1'000'000 + i;
            tx.execute("INSERT INTO item VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET version = "
                       "excluded.version",
                id, version);
            tx.execute(
                "INSERT INTO truth (key, version) VALUES ($1, $2)", std::to_string(id), version);
        }
    });
}

/// What the ledger has against what was committed, and whose its rows are.
template <class Ground>
void judge(Ground& ground, std::vector<std::string>& faults) {
    auto& database = ground.database();
    const auto states = [&](const std::string& table) {
        return soak::states_of(database.query(
            at::type<soak::Said>, "SELECT key, version FROM " + table + " ORDER BY n"));
    };
    soak::compare_images("item", states("truth"), states("ledger"), faults);
    const auto expect = [&](const std::string& sql, const std::string& what) {
        const std::int64_t found = number(database, sql);
        if (found != 0) { faults.push_back(std::to_string(found) + what); }
    };
    expect("SELECT count(*) - count(DISTINCT change) FROM ledger", " changes were handled twice");
    expect("SELECT (SELECT n FROM total) - (SELECT count(*) FROM truth)", " too many in the total");
    expect(ground.strays, " rows were written by an instance that hadn't the lease");
}

/// Waits, for long: what is waited for doesn't depend on how fast the machine is. Where somebody
/// has locked what is looked at, it isn't true yet.
template <class Condition>
[[nodiscard]] bool comes_true(Condition condition, Milliseconds patience = Milliseconds{30'000}) {
    for (const auto until = Clock::now() + patience; Clock::now() < until;) {
        try {
            if (condition()) { return true; }
        } catch (const at::Error& error) {
            if (error.code() != at::Errc::busy) { throw; }
        }
        std::this_thread::sleep_for(Milliseconds{5});
    }
    return false;
}

/// Whether all that was committed is in the ledger.
template <class Ground>
[[nodiscard]] bool is_drained(Ground& ground) {
    return number(ground.database(), "SELECT (SELECT count(*) FROM truth) - (SELECT count(*) FROM "
                                     "ledger)") == 0;
}

/// Who took the lease last; empty for nobody.
template <class Ground>
[[nodiscard]] std::string last_holder(Ground& ground) {
    const auto all = ground.database().query(
        at::type<std::string>, "SELECT holder FROM tenure ORDER BY n DESC LIMIT 1");
    return all.empty() ? std::string{} : all.front().substr(0, all.front().find(' '));
}
/// As if time had passed without a renewal.
template <class Ground>
void let_lease_end(Ground& ground, const std::string& holder) {
    ground.database().execute("UPDATE " + std::string{ground.lease} +
                                  " SET until = " + ground.long_ago + " WHERE holder LIKE $1",
        holder + " %");
}

/// What a handler waits at (`wait_at`), and where an instance tells what it does (`tell`).
class Gate {
public:
    explicit Gate(const std::string& name = "gate")
        : path_{"nemesis-" + std::to_string(getpid()) + '.' + name} {
        remove();
    }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate() { remove(); }

    [[nodiscard]] std::vector<std::string> words() const {
        return {"wait_at=" + path_, "tell=" + told()};
    }
    [[nodiscard]] bool is_reached() const {
        return comes_true([&] { return std::filesystem::exists(path_ + ".reached"); });
    }
    void open() const { std::ofstream{path_}.close(); }
    /// Whether it has told a moment, or does so soon.
    [[nodiscard]] bool tells(at::Moment moment) const {
        return comes_true([&] {
            std::ifstream file{told()};
            for (std::string line; std::getline(file, line);) {
                if (line.starts_with(at::name(moment))) { return true; }
            }
            return false;
        });
    }

private:
    [[nodiscard]] std::string told() const { return path_ + ".told"; }
    void remove() const {
        for (const char* end : {"", ".reached", ".told"}) { std::filesystem::remove(path_ + end); }
    }

    std::string path_;
};

/// A program that hears SIGTERM when it is ready to.
[[nodiscard]] inline std::unique_ptr<soak::Program> start_program(const std::string& program,
    const std::string& connection, const Words& words, const std::vector<std::string>& more) {
    std::vector<std::string> all{
        connection, words.name, std::to_string(words.lease.count()), std::to_string(words.seed)};
    all.insert(all.end(), more.begin(), more.end());
    sigset_t end;
    sigset_t before;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, &before);
    auto started = std::make_unique<soak::Program>(program, all);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

} // namespace nemesis
