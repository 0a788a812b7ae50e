// SPDX-License-Identifier: MIT
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fault/bookkeeping.hpp>
#include <fault/faulty_disk.hpp>
#include <support/catch.hpp>

/// \file
/// The n-th call to the disk fails, for every n, once or for good. Then the disk is repaired, and
/// the pipeline goes on by itself, is started again, or another process goes on after a crash.

namespace {

using test::Breakage;
using test::Fault;
using test::FaultyDisk;
using test::Files;
using test::Follower;

namespace at = aftertouch;

enum class Work { live, replay, rebuild };

struct Scene {
    Work work = Work::live;
    bool wal = false;
    bool forgiving =
        false; // the handler swallows errors: what failed is missing, nothing comes twice
};

struct Result {
    int points = 0;
    int errors = 0;
    std::vector<std::string> faults;
};

// One run: the scene with its n-th call broken, and what came of it.
class Attempt {
public:
    Attempt(const Scene& scene, const Files& fresh) : scene_{scene} { files_.copy_from(fresh); }

    /// False if the scene came to its end before the n-th call.
    bool break_at(const Fault& fault, int n) {
        if (scene_.work == Work::live) {
            turns(1);
            change();
        }
        FaultyDisk::arm(fault, n);
        // A disk that is broken for good is asked a few times more, as a supervisor would.
        for (int errors = 0, page = 0; errors < 3; ++page) {
            const std::optional<bool> busy = turn();
            if (!busy) { ++errors; }
            if (busy == false) { break; }
            if (scene_.work == Work::rebuild && page == 1) { change(); }
        }
        FaultyDisk::lift();
        return FaultyDisk::broken() != 0;
    }

    /// What is wrong behind it, three ways to go on; empty is what it must be.
    std::string go_on(int way) {
        const Files after_crash{"vfs-crash"};
        std::string path = files_.path();
        if (way == 2) {
            after_crash.copy_from(files_);
            path = after_crash.path();
        }
        if (way != 0) { follower_.reset(); }
        if (!follower_) { follower_.emplace(path, patience, scene_.forgiving); }
        note(test::damage(follower_->database));
        try {
            follower_->pipeline.drain();
        } catch (const std::exception& error) {
            note(std::string{"repaired, but "} + error.what());
        }
        if (scene_.forgiving) {
            note(test::damage(follower_->database));
        } else {
            note(test::damage_at_end(follower_->database));
            if (problem_.empty() && scene_.work != Work::rebuild) { check_ledger(); }
        }
        follower_.reset();
        return problem_;
    }

    [[nodiscard]] int errors() const noexcept { return errors_; }

private:
    static constexpr std::chrono::milliseconds patience{0};

    // One batch: whether there was one, or nothing after an error.
    std::optional<bool> turn() {
        try {
            if (!follower_) { follower_.emplace(files_.path(), patience, scene_.forgiving); }
            return follower_->pipeline.run_once();
        } catch (const at::Error& error) {
            if (!test::is_sentence(error.what())) {
                note("no sentence: " + std::string{error.what()});
            }
        } catch (const std::exception& error) {
            note("not one of our errors: " + std::string{error.what()});
        }
        ++errors_;
        return std::nullopt;
    }
    void turns(int n) {
        for (int i = 0; i < n; ++i) { static_cast<void>(turn()); }
    }

    // Another program writes, whatever the pipeline has gone through.
    void change() {
        const FaultyDisk::Repaired repaired;
        try {
            at::sqlite::Database other{files_.path(), {.busy_timeout = patience}};
            test::change_orders(other);
        } catch (const at::Error& error) {
            note(std::string{"the writer was kept out: "} + error.what());
        }
    }

    // Every change came exactly once: rows of the rebuild, and the log behind it.
    void check_ledger() {
        auto& database = follower_->database;
        const auto handled =
            test::number(database, "SELECT count(*) FROM ledger WHERE change NOT LIKE '%:r%'");
        if (handled != handed_over) { note(std::to_string(handled) + " changes were handled"); }
    }

    void note(const std::string& problem) {
        if (problem_.empty()) { problem_ = problem; }
    }

    // 8 updates, 2 deletions, 3 changes of key, 1 row replaced and 1 inserted.
    static constexpr std::int64_t handed_over = 8 + 2 + 2 * 3 + 2 + 1;

    Scene scene_;
    Files files_{"vfs"};
    std::optional<Follower> follower_;
    std::string problem_;
    int errors_ = 0;
};

void make_fresh(const Scene& scene, const Files& fresh) {
    test::make_database(fresh.path(), scene.wal);
    if (scene.work == Work::rebuild) { return; }
    Follower follower{fresh.path()};
    follower.pipeline.drain();
    if (scene.work == Work::replay) { test::change_orders(follower.database); }
}

[[nodiscard]] Result break_everywhere(const Scene& scene, const Fault& fault) {
    FaultyDisk::install();
    const Files fresh{"vfs-fresh"};
    make_fresh(scene, fresh);
    Result result;
    for (int n = 1;; n += test::stride()) {
        Attempt attempt{scene, fresh};
        const bool broken = attempt.break_at(fault, n);
        const std::string problem = attempt.go_on(n / test::stride() % 3);
        if (!problem.empty()) {
            result.faults.push_back("call " + std::to_string(n) + " broken: " + problem);
        }
        if (!broken) { break; }
        ++result.points;
        result.errors += attempt.errors();
    }
    return result;
}

void expect_no_fault(const Scene& scene) {
    struct Kind {
        const char* what;
        Fault fault;
    };
    for (const Kind& kind : {
             Kind{"I/O error, once", {Breakage::io_error}},
             Kind{"I/O error, for good", {Breakage::io_error, true}},
             Kind{"I/O error of a call that did its work", {Breakage::io_error, false, true}},
             Kind{"full, once", {Breakage::full}},
             Kind{"full, for good", {Breakage::full, true}},
             Kind{"busy, once", {Breakage::busy}},
             Kind{"busy, for good", {Breakage::busy, true}},
             Kind{"can't open, once", {Breakage::cannot_open}},
             Kind{"can't open, for good", {Breakage::cannot_open, true}},
         }) {
        const Result result = break_everywhere(scene, kind.fault);
        WARN(kind.what << ": " << result.points << " points, " << result.errors << " errors told");
        INFO(kind.what);
        CHECK(result.faults == std::vector<std::string>{});
    }
}

} // namespace

TEST_CASE("P7: every disk call of a follower breaks, rollback journal") {
    expect_no_fault({Work::live, false});
}
TEST_CASE("P7: every disk call of a follower breaks, WAL") { expect_no_fault({Work::live, true}); }
TEST_CASE("P7: every disk call of a replay breaks, rollback journal") {
    expect_no_fault({Work::replay, false});
}
TEST_CASE("P7: every disk call of a replay breaks, WAL") { expect_no_fault({Work::replay, true}); }
TEST_CASE("P7: every disk call of a first start and rebuild breaks, rollback journal") {
    expect_no_fault({Work::rebuild, false});
}
TEST_CASE("P7: every disk call of a first start and rebuild breaks, WAL") {
    expect_no_fault({Work::rebuild, true});
}

TEST_CASE("K1: a handler that swallows the end of its transaction writes nothing outside of it") {
    for (const bool wal : {false, true}) {
        for (const bool for_good : {false, true}) {
            for (const Breakage breakage : {Breakage::io_error, Breakage::full}) {
                const Scene scene{Work::replay, wal, true};
                const Result result = break_everywhere(scene, {breakage, for_good});
                CHECK(result.points > 10 / test::stride());
                CHECK(result.faults == std::vector<std::string>{});
            }
        }
    }
}
