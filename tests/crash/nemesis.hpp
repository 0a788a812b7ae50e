// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <aftertouch/aftertouch.hpp>

/// \file
/// One instance of a pipeline that several processes run under a lease: what the programs of the
/// nemesis do. `CONNECTION NAME LEASE SEED WORD...`: the lease is told in milliseconds; a seed that
/// isn't 0 makes a handler slow now and then.
///
/// `wait_at=FILE`: inside the first batch, behind its writes, it makes FILE.reached and waits until
/// there is FILE. `tell=FILE`: writes there what the pipeline tells. `lanes=N`: it has so many.

namespace nemesis {

namespace at = aftertouch;

struct Item {
    std::int64_t id = 0;
    std::int64_t version = 0;
};

inline constexpr const char* pipeline_name = "items";

/// How an instance is called, but for the database.
struct Words {
    std::string name;
    std::chrono::milliseconds lease{0};
    std::uint64_t seed = 0;
    std::string gate{};
    std::string told{};
    std::size_t lanes = 1;

    [[nodiscard]] static Words from(int count, char** words) {
        Words all{words[2], std::chrono::milliseconds{std::atoll(words[3])},
            std::strtoull(words[4], nullptr, 10)};
        for (int i = 5; i < count; ++i) {
            const std::string_view word = words[i];
            if (word.starts_with("wait_at=")) { all.gate = word.substr(8); }
            if (word.starts_with("tell=")) { all.told = word.substr(5); }
            if (word.starts_with("lanes=")) { all.lanes = std::stoul(std::string{word.substr(6)}); }
        }
        return all;
    }
};

/// Keeps what it is handed, and which instance kept it. *Threads*: any.
class Keeper {
public:
    explicit Keeper(Words words) : words_{std::move(words)}, random_{words_.seed} {}

    template <class Tx>
    void operator()(const at::Batch<Item>& batch, Tx& tx) {
        const bool slow = words_.seed != 0 && draw() % 6 == 0;
        const bool slow_at_once = draw() % 2 == 0;
        if (slow && slow_at_once) { dawdle(); }
        std::int64_t count = 0;
        for (const at::Change<Item>& change : batch.changes()) {
            tx.execute(
                "INSERT INTO ledger (instance, change, key, version) VALUES ($1, $2, $3, $4)",
                words_.name, change.idempotency_key(), std::to_string(change.key()),
                change.after()->version);
            ++count;
        }
        tx.execute("UPDATE total SET n = n + $1", count); // a row that each instance writes
        if (slow && !slow_at_once) { dawdle(); }
        if (!words_.gate.empty()) { wait_at_gate(); }
    }

private:
    // Longer than the lease, at times.
    void dawdle() { std::this_thread::sleep_for(std::chrono::milliseconds{20 + draw() % 381}); }
    std::uint64_t draw() {
        const std::lock_guard lock{*mutex_};
        return random_();
    }

    void wait_at_gate() const {
        std::ofstream{words_.gate + ".reached"}.close();
        while (!std::filesystem::exists(words_.gate)) {
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
    }

    Words words_;
    std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>(); // it is moved
    std::mt19937_64 random_;
};

inline volatile std::sig_atomic_t asked_to_end = 0;

/// Hears SIGTERM from here on. Whoever starts it holds the signal back, so that it isn't lost.
inline void hear_end() {
    std::signal(SIGTERM, [](int) { asked_to_end = 1; });
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &end, nullptr);
}

[[nodiscard]] inline at::Options options_of(const Words& words) {
    at::Options options{.name = pipeline_name, .batch_size = 50};
    options.lease = words.lease;
    options.lanes = words.lanes;
    if (words.lanes != 1) { options.batch_size = 20; } // a backlog soon: that is shared
    options.instance = words.name;
    options.observer = [told = words.told](const at::Report& report) {
        if (!told.empty()) { std::ofstream{told, std::ios::app} << log_line(report) << '\n'; }
    };
    return options;
}

/// Opens it, though whoever ends sessions is at work already.
template <class Open>
[[nodiscard]] auto open_in_the_end(Open open) {
    for (int attempt = 0;; ++attempt) {
        try {
            return open();
        } catch (const at::Error&) {
            if (attempt == 100) { throw; }
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
}

/// Follows until it is told to end (SIGTERM) or killed. Ends by itself only where the pipeline has
/// failed: what the nemesis does is no failure.
template <class Database>
[[nodiscard]] int follow(Database& database, const Words& words) {
    Keeper keeper{words};
    at::Pipeline pipeline{at::source<Item>().images(),
        [&](const at::Batch<Item>& batch, typename Database::Transaction& tx) {
            keeper(batch, tx);
        },
        database, options_of(words)};
    pipeline.start();
    while (asked_to_end == 0) {
        const bool failed = pipeline.status().state == at::State::failed;
        for (const at::Failure& failure : pipeline.errors()) {
            if (failed) { std::cerr << words.name << ": " << failure.message << std::endl; }
        }
        if (failed) { return 3; }
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    pipeline.stop();
    return 0;
}

/// The program: `open(connection)` makes the database.
template <class Open>
[[nodiscard]] int run_instance(int count, char** words, Open open) {
    if (count < 5) {
        std::cerr << "usage: " << words[0] << " CONNECTION NAME LEASE SEED WORD..." << std::endl;
        return 2;
    }
    hear_end();
    try {
        const auto database = open_in_the_end([&] { return open(std::string{words[1]}); });
        return follow(*database, Words::from(count, words));
    } catch (const std::exception& error) {
        std::cerr << words[2] << ": " << error.what() << std::endl;
        return 3;
    }
}

} // namespace nemesis
