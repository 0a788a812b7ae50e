// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <soak/course.hpp>
#include <soak/shop.hpp>

/// \file
/// One course of the soak: starts the programs, kills the follower, prunes, and judges at the end.

namespace soak {

/// The database of one course, and what happens to it.
class Ground {
public:
    explicit Ground(Course course) : course_{std::move(course)}, random_{course_.seed} {
        remove();
        database_ = open(path_);
        pruner_ = open(path_, std::chrono::milliseconds{200});
        database_->execute(tables);
        database_->execute(ledger_tables);
        open(ledger_path_)->execute(ledger_tables);
        // The follower installs; then it is broken, if it is to be.
        follow_to_the_end();
        for (const std::string& name :
            course_.drop_guards ? guards() : std::vector<std::string>{}) {
            database_->execute("DROP TRIGGER " + at::quoted(name));
        }
        if (!course_.sabotage.empty()) { database_->execute(course_.sabotage); }
    }
    Ground(const Ground&) = delete;
    Ground& operator=(const Ground&) = delete;
    ~Ground() {
        database_.reset();
        pruner_.reset();
        remove();
    }

    /// Twice: the second time numbers go on behind a log that was emptied.
    [[nodiscard]] Verdict run() {
        verdict_.seed = course_.seed;
        constexpr int rounds = 2;
        for (int round = 0; round < rounds; ++round) {
            write_and_kill(round * course_.writers, course_.changes / rounds);
            const auto began = std::chrono::steady_clock::now();
            follow_to_the_end();
            verdict_.drained_in = std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now() - began);
            prune();
        }
        judge();
        verdict_.log_rows_at_end = number("SELECT count(*) FROM aftertouch_log");
        return verdict_;
    }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// What a follower of this course is called with.
    [[nodiscard]] std::vector<std::string> words(std::vector<std::string> more = {}) const {
        std::vector<std::string> all{path_, ledger_path_};
        // Installing is done before anything is broken.
        if (installed_) { all.insert(all.end(), course_.follower.begin(), course_.follower.end()); }
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    /// Waits until every change is in the ledger; false when the time is over.
    [[nodiscard]] bool await_handled(std::chrono::seconds timeout) {
        const auto until = std::chrono::steady_clock::now() + timeout;
        const std::string open = "SELECT (SELECT count(*) FROM truth) - (SELECT count(*) FROM "
                                 "ledger WHERE pipeline <> 'touched item')";
        while (number(open) != 0) {
            if (std::chrono::steady_clock::now() > until) { return false; }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        return true;
    }

private:
    [[nodiscard]] std::unique_ptr<at::sqlite::Database> open(const std::string& path,
        std::chrono::milliseconds patience = std::chrono::minutes{2}) const {
        return std::make_unique<at::sqlite::Database>(path,
            at::sqlite::Options{
                .busy_timeout = patience, .wal = course_.wal, .on_open = [](sqlite3* handle) {
                    sqlite3_exec(handle, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
                }});
    }
    [[nodiscard]] std::int64_t number(const std::string& sql) {
        return database_->query(at::type<std::int64_t>, sql).at(0);
    }
    [[nodiscard]] std::vector<std::string> guards() {
        return database_->query(at::type<std::string>,
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%BEFORE%'");
    }

    void follow_to_the_end() {
        Program follower{"soak_follower", words({"drain"})};
        if (follower.wait() != 0) { verdict_.faults.emplace_back("a follower failed"); }
        installed_ = true;
    }

    void write_and_kill(int first_writer, std::int64_t changes) {
        std::vector<std::unique_ptr<Program>> writers;
        for (int i = 1; i <= course_.writers; ++i) {
            writers.push_back(std::make_unique<Program>("soak_writer",
                std::vector<std::string>{path_, std::to_string(first_writer + i),
                    std::to_string(random_()), std::to_string(changes / course_.writers + 1)}));
        }
        const auto all_ended = [&] {
            return std::all_of(
                writers.begin(), writers.end(), [](auto& writer) { return writer->ended(); });
        };
        while (!all_ended()) { kill_a_follower(); }
        for (const auto& writer : writers) {
            if (writer->wait() != 0) { verdict_.faults.emplace_back("a writer failed"); }
        }
    }

    void kill_a_follower() {
        Program follower{"soak_follower", words()};
        const auto patience =
            std::chrono::milliseconds{10 + random_() % (random_() % 4 == 0 ? 40 : 400)};
        std::this_thread::sleep_for(patience);
        verdict_.peak_kilobytes = std::max(verdict_.peak_kilobytes, follower.peak_kilobytes());
        if (follower.ended()) {
            verdict_.faults.emplace_back("a follower ended");
        } else {
            follower.kill();
            ++verdict_.kills;
        }
        if (random_() % 3 != 0) { return; }
        try {
            prune();
        } catch (const at::Error& error) {
            if (error.code() != at::Errc::busy) { throw; } // the writers are faster: another time
        }
    }

    // More than Database::prune does: the newest row goes too, and numbers come from the sequence.
    void prune() {
        pruner_->transaction([&](auto& tx) {
            std::int64_t passed = INT64_MAX;
            const auto texts =
                tx.query(at::type<std::string>, "SELECT checkpoint FROM aftertouch_checkpoint");
            for (const std::string& text : texts) {
                const auto checkpoint = at::checkpoint_from(text);
                const auto at = checkpoint ? at::sqlite::Position::from(checkpoint->position)
                                           : std::optional<at::sqlite::Position>{};
                passed = std::min(passed, at ? at->seq : 0);
            }
            if (texts.size() != 3) { return; }
            for (const std::string& table : tx.query(at::type<std::string>,
                     "SELECT name FROM sqlite_schema WHERE name LIKE 'aftertouch_image_%'")) {
                tx.execute("DELETE FROM " + at::quoted(table) + " WHERE seq <= $1", passed);
            }
            tx.execute("DELETE FROM aftertouch_log WHERE seq <= $1", passed);
            tx.execute(
                "UPDATE aftertouch_meta SET pruned_through = max(pruned_through, $1)", passed);
        });
        ++verdict_.pruned;
    }

    [[nodiscard]] static StatesOfKeys states(
        at::sqlite::Database& database, const std::string& sql) {
        return states_of(database.query(at::type<Said>, sql));
    }

    void judge() {
        const bool beside = std::count(course_.follower.begin(), course_.follower.end(), "beside");
        const auto other = beside ? open(ledger_path_) : nullptr;
        at::sqlite::Database& ledger = beside ? *other : *database_;
        const auto count = [&](const std::string& sql) {
            return ledger.query(at::type<std::int64_t>, sql).at(0);
        };
        verdict_.changes = number("SELECT count(*) FROM truth");
        verdict_.handled = count("SELECT count(*) FROM ledger");
        if (database_->query(at::type<std::string>, "PRAGMA integrity_check").at(0) != "ok") {
            verdict_.faults.emplace_back("the file is damaged");
        }
        if (count("SELECT count(*) - count(DISTINCT pipeline || change) FROM ledger WHERE change "
                  "IS NOT NULL") != 0) {
            verdict_.faults.emplace_back("a change was handled twice");
        }
        if (count("SELECT count(*) FROM ledger WHERE operation IN ('present', 'touched') AND "
                  "pipeline <> 'touched item'") != 0) {
            verdict_.faults.emplace_back("there was a rebuild, or a change without its image");
        }
        for (const char* source : {"item", "stock"}) {
            const auto truth =
                states(*database_, "SELECT key, version FROM truth WHERE source = '" +
                                       std::string{source} + "' ORDER BY n");
            compare_images(source, truth,
                states(ledger, "SELECT key, version FROM ledger WHERE pipeline = '" +
                                   std::string{source} + "' ORDER BY n"),
                verdict_.faults);
            if (std::string{source} == "item" && !beside) {
                compare_reads(truth,
                    states(ledger,
                        "SELECT key, version FROM ledger WHERE operation = 'read' ORDER BY n"),
                    verdict_.faults);
            }
        }
    }

    void remove() const {
        for (const std::string& path : {path_, ledger_path_}) {
            for (const char* end : {"", "-wal", "-shm", "-journal"}) {
                std::filesystem::remove(path + end);
            }
        }
    }

    Course course_;
    std::mt19937_64 random_;
    std::string path_ = "soak-" + std::to_string(getpid()) + ".db";
    std::string ledger_path_ = "soak-" + std::to_string(getpid()) + "-ledger.db";
    std::unique_ptr<at::sqlite::Database> database_;
    std::unique_ptr<at::sqlite::Database> pruner_;
    Verdict verdict_;
    bool installed_ = false;
};

[[nodiscard]] inline Verdict run(const Course& course) { return Ground{course}.run(); }

} // namespace soak
