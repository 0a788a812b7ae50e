// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <postgres/fixture.hpp>
#include <soak/judge.hpp>
#include <soak/postgres/shop.hpp>
#include <soak/program.hpp>

/// \file
/// One course of the soak: starts the programs, kills the follower, prunes, and judges at the end.

namespace soak {

/// What prunes, as it lies for a DBA.
[[nodiscard]] inline std::string pruning_script() {
    std::ifstream file{AFTERTOUCH_SOURCE_DIR "/sql/postgres/prune.sql"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

struct Course {
    std::int64_t changes = 0; ///< of items, at least
    int rounds = 1;
    int writers = 24;
    int pause = 0;                       ///< milliseconds between two transactions of a writer
    int prune_in = 250;                  ///< milliseconds between two prunings
    int pairs = 3;                       ///< once in so many turns two follow at once
    std::vector<std::string> follower{}; ///< words for the follower
    std::string sabotage{}; ///< SQL behind the library's back, before the writers begin
    std::string prune = pruning_script(); ///< what prunes
    std::uint64_t seed = test::chosen_seed();
};

/// The database of one course, and what happens to it.
class Ground {
public:
    explicit Ground(Course course) : course_{std::move(course)}, random_{course_.seed} {
        database_.execute(tables);
        // The follower installs; then it is broken, if it is to be.
        follow_to_the_end();
        if (!course_.sabotage.empty()) { database_.execute(course_.sabotage); }
    }

    /// Drained and compared after each round, so that no later rebuild covers what went wrong.
    [[nodiscard]] Verdict run() {
        verdict_.seed = course_.seed;
        for (int round = 0; round < course_.rounds; ++round) {
            write_and_kill(round * course_.writers);
            const auto began = std::chrono::steady_clock::now();
            follow_to_the_end();
            verdict_.drained_in = std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now() - began);
            if (const std::int64_t wrong = number(wrong_totals); wrong != 0) {
                fault(std::to_string(wrong) + " totals differ from a computation from scratch");
            }
            prune();
        }
        judge();
        return verdict_;
    }

    /// Prunes beside a follower until the log is empty, for a while: each pipeline passes what
    /// isn't its own. Answers how many rows are left.
    [[nodiscard]] std::int64_t empty_log() {
        const Program follower{"soak_postgres_follower", words()};
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
        std::int64_t left = number("SELECT count(*) FROM aftertouch.log");
        while (left != 0 && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds{100});
            prune();
            left = number("SELECT count(*) FROM aftertouch.log");
        }
        return left;
    }

private:
    void fault(std::string what) { verdict_.faults.push_back(std::move(what)); }

    [[nodiscard]] std::string connection() const {
        std::string text;
        for (const auto& [keyword, value] : place_.parameters()) {
            text += keyword + "='" + value + "' ";
        }
        return text;
    }
    [[nodiscard]] std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
        std::vector<std::string> all{connection()};
        // Installing is done before anything is broken.
        if (installed_) { all.insert(all.end(), course_.follower.begin(), course_.follower.end()); }
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    [[nodiscard]] std::int64_t number(const std::string& sql) {
        return database_.query(at::type<std::int64_t>, sql).at(0);
    }
    void prune() {
        database_.execute(course_.prune);
        ++verdict_.pruned;
    }

    void follow_to_the_end() {
        Program follower{"soak_postgres_follower", words({"drain"})};
        if (follower.wait() != 0) { fault("a follower failed at the end"); }
        installed_ = true;
    }

    void write_and_kill(int first_writer) {
        std::vector<std::unique_ptr<Program>> writers;
        const std::int64_t each = course_.changes / course_.rounds / course_.writers + 1;
        for (int i = 1; i <= course_.writers; ++i) {
            writers.push_back(std::make_unique<Program>("soak_postgres_writer",
                std::vector<std::string>{connection(), std::to_string(first_writer + i),
                    std::to_string(random_()), std::to_string(each),
                    std::to_string(course_.pause)}));
        }
        const auto all_ended = [&] {
            return std::all_of(
                writers.begin(), writers.end(), [](auto& writer) { return writer->ended(); });
        };
        for (int turn = 0; !all_ended(); ++turn) { kill_followers(turn == 1); }
        for (const auto& writer : writers) {
            if (writer->wait() != 0) { fault("a writer failed"); }
        }
    }

    // One follows, or two at once, one of which may stand still for a while.
    void kill_followers(bool rebuild) {
        Program one{"soak_postgres_follower",
            words(rebuild ? std::vector<std::string>{"rebuild"} : std::vector<std::string>{})};
        pause();
        const bool both = random_() % static_cast<unsigned>(course_.pairs) == 0;
        if (both) {
            if (random_() % 2 == 0) { one.freeze(); }
            Program other{"soak_postgres_follower", words()};
            pause();
            end(other);
            one.thaw();
        }
        pause();
        end(one);
        if (random_() % 3 == 0) { pause(); } // nobody follows
    }

    // Lets them go on for a while, and prunes beside them.
    void pause() {
        for (auto left = static_cast<int>(50 + random_() % 700); left > 0;
            left -= course_.prune_in) {
            std::this_thread::sleep_for(
                std::chrono::milliseconds{std::min(left, course_.prune_in)});
            if (left >= course_.prune_in) { prune(); }
        }
    }

    void end(Program& follower) {
        verdict_.peak_kilobytes = std::max(verdict_.peak_kilobytes, follower.peak_kilobytes());
        if (follower.ended()) { return fault("a follower ended"); }
        follower.kill();
        ++verdict_.kills;
    }

    [[nodiscard]] StatesOfKeys states(const std::string& sql) {
        return states_of(database_.query(at::type<Said>, sql));
    }
    [[nodiscard]] StatesOfKeys truth(const std::string& source, const char* version) {
        return states(std::string{"SELECT key, "} + version + " FROM truth WHERE source = '" +
                      source + "' ORDER BY n");
    }
    [[nodiscard]] StatesOfKeys told(const std::string& pipeline) {
        return states(
            "SELECT key, version FROM ledger WHERE pipeline = '" + pipeline + "' ORDER BY n");
    }

    void judge() {
        verdict_.changes = number("SELECT count(*) FROM truth WHERE source = 'item'");
        verdict_.handled = number("SELECT count(*) FROM ledger");
        if (number("SELECT count(*) - count(DISTINCT (pipeline, change)) FROM ledger WHERE change "
                   "IS NOT NULL") != 0) {
            fault("a change was handled twice");
        }
        if (number("SELECT count(*) FROM ledger WHERE operation = 'present'") != 0) {
            fault("there was a rebuild");
        }
        for (const char* source : {"item", "stock", "echo"}) {
            compare_images(source, truth(source, "version"), told(source), verdict_.faults);
        }
        // A touch tells whether the row was gone, not its version.
        compare_images(
            "touched item", truth("item", "0 * version"), told("touched item"), verdict_.faults);
        compare_reads(truth("item", "version"), told("read item"), verdict_.faults);
    }

    Course course_;
    std::mt19937_64 random_;
    fixture::Place place_{fixture::Kind::server};
    fixture::Database database_{place_.open(std::chrono::minutes{1})};
    Verdict verdict_;
    bool installed_ = false;
};

} // namespace soak
