// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <crash/adding.hpp>
#include <postgres/fixture.hpp>

/// \file
/// The database in which a pipeline is stopped again and again, and the scenes that it plays.

namespace crash {

using fixture::Database;

/// One database, put back to its beginning before each run.
class Stage {
public:
    Stage() {
        database_.create_table<Order>();
        database_.create_table<Total>();
        database_.execute("CREATE TABLE ledger (change text)");
    }

    /// The rows of the beginning: all handled and out of the log, or with nothing installed yet.
    void set(bool up_to_date) {
        if (up_to_date && kept_) { return put_back(); }
        database_.execute(
            "DROP SCHEMA IF EXISTS aftertouch CASCADE; TRUNCATE \"order\", total, ledger");
        add_orders(database_);
        if (!up_to_date) { return; }
        with_pipeline<Database>(database_, nullptr, [](auto& pipeline) { pipeline.drain(); });
        database_.execute("CREATE SCHEMA kept; CREATE TABLE kept.orders AS TABLE \"order\"; CREATE "
                          "TABLE kept.total AS TABLE total; CREATE TABLE kept.checkpoint AS TABLE "
                          "aftertouch.checkpoint");
        kept_ = true;
        put_back();
    }

    [[nodiscard]] Database& database() noexcept { return database_; }
    [[nodiscard]] const fixture::Place& place() const noexcept { return place_; }
    /// Opens it for a writer, or for the pipeline that is to be stopped; `host` may be another one.
    [[nodiscard]] Database open() const { return place_.open(); }
    [[nodiscard]] Database open_followed(const std::string& host = {}) const {
        at::postgres::Parameters parameters = place_.parameters();
        parameters.emplace_back("application_name", "followed");
        if (!host.empty()) { parameters.emplace_back("host", host); }
        return Database{parameters, {.lock_timeout = std::chrono::seconds{20}}};
    }

    /// Follows on a thread of its own until everything is handled; says what is wrong.
    [[nodiscard]] std::string fault_when_left_alone() {
        std::string fault = fault_left(database_);
        with_pipeline<Database>(database_, nullptr, [&](auto& pipeline) {
            pipeline.start();
            if (pipeline.await_idle(std::chrono::seconds{30}) != at::Awaited::idle) {
                fault = "it didn't come to its end";
            }
            if (pipeline.release() != 0) { pipeline.await_idle(); }
            if (!pipeline.errors().empty()) { fault = pipeline.errors().front().message; }
        });
        return fault.empty() ? fault_now() : fault;
    }
    /// What is wrong where everything is handled.
    [[nodiscard]] std::string fault_now() {
        return fault_at_end(database_, database_,
            "SELECT coalesce(sum(coalesce(keys, 1)), 0)::bigint FROM aftertouch.log");
    }

private:
    // Making it anew takes longer than what is tested with it. No trigger captures this.
    void put_back() {
        database_.execute(
            "BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM \"order\"; INSERT "
            "INTO \"order\" TABLE kept.orders; DELETE FROM total; INSERT INTO total TABLE "
            "kept.total; DELETE FROM ledger; DELETE FROM aftertouch.log; DELETE FROM "
            "aftertouch.checkpoint; INSERT INTO aftertouch.checkpoint TABLE kept.checkpoint; "
            "DELETE FROM aftertouch.dead_letter; COMMIT");
    }

    fixture::Place place_{fixture::Kind::server};
    Database database_{place_.open()};
    bool kept_ = false;
};

/// Whether a connection was opened for the pipeline that is to be stopped.
[[nodiscard]] inline bool is_followed(const PGconn* connection) {
    const char* name = PQparameterStatus(connection, "application_name");
    return name != nullptr && std::string_view{name} == "followed";
}

/// One batch, as Pipeline::run_once.
using RunOnce = std::function<bool()>;

/// Where in its work a pipeline is stopped: `armed` says from when on.
struct Scene {
    std::string what;
    bool up_to_date = true; ///< before it begins
    std::function<void(Database&, const RunOnce&, const std::function<void()>& armed,
        const std::function<void()>& release)>
        play;
    int every = 1; ///< how many places lie from one stop to the next, but at night
    std::size_t lanes = 1;
};

[[nodiscard]] inline const std::vector<Scene>& scenes() {
    static const std::vector<Scene> all{
        {"live", true,
            [](Database& database, const RunOnce& run_once, const auto& armed, const auto&) {
                while (run_once()) {}
                change_orders(database);
                armed();
                while (run_once()) {}
            }},
        // Its batches send what those of "live" do.
        {"replay", true,
            [](Database& database, const RunOnce& run_once, const auto& armed, const auto&) {
                change_orders(database);
                armed();
                while (run_once()) {}
            },
            4},
        // Changes come between the pages: of keys that were reached and of keys that weren't. Most
        // of its places lie in the installation, which is one transaction.
        {"first start and rebuild", false,
            [](Database& database, const RunOnce& run_once, const auto& armed, const auto&) {
                armed();
                for (int page = 0; run_once(); ++page) {
                    if (page == 1) { change_orders(database); }
                }
            },
            3},
        {"dead letters", true,
            set_aside_and_release<Database, RunOnce, std::function<void()>, std::function<void()>>,
            4},
        // Which place comes next is chance. Who goes on behind a kill has one lane.
        {"live, in three lanes", true,
            [](Database& database, const RunOnce& run_once, const auto& armed, const auto&) {
                while (run_once()) {}
                change_orders(database);
                armed();
                while (run_once()) {}
            },
            4, 3},
    };
    return all;
}

/// Runs a batch as an application does that has a loop of its own: what passes by itself is tried
/// again.
template <class Pipeline>
[[nodiscard]] bool keep_running(Pipeline& pipeline) {
    for (;;) {
        try {
            return pipeline.run_once();
        } catch (const at::Error& error) {
            if (!error.retryable()) { throw; }
        }
    }
}

} // namespace crash
