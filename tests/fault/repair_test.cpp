// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>
#include <vector>

#include <fault/bookkeeping.hpp>
#include <fault/faulty_disk.hpp>
#include <support/catch.hpp>

/// \file
/// A pipeline on its own thread meets a broken disk: it waits by itself for what passes, or stops
/// with its reason; it never ends the program and never stays silent.

namespace {

namespace at = aftertouch;
using test::Breakage;
using test::Fault;
using test::FaultyDisk;
using test::Follower;

constexpr std::chrono::seconds deadline{60};

struct Result {
    int points = 0;
    int stopped = 0;
    std::vector<std::string> faults;
};

// Breaks the n-th call of a running pipeline; false where there are fewer.
[[nodiscard]] bool break_running(
    const std::string& path, const Fault& fault, int n, Result& result) {
    const auto note = [&](const std::string& what) {
        result.faults.push_back("call " + std::to_string(n) + ": " + what);
    };
    Follower follower{path};
    follower.pipeline.start();
    if (follower.pipeline.await_idle(deadline) != at::Awaited::idle) { note("isn't idle before"); }
    {
        at::sqlite::Database other{path, {.busy_timeout = std::chrono::seconds{10}}};
        test::change_orders(other);
        FaultyDisk::arm(fault, n);
        other.execute("UPDATE \"order\" SET amount = amount + 1 WHERE id > 12");
    }
    static_cast<void>(follower.pipeline.await_idle(std::chrono::milliseconds{100}));
    FaultyDisk::lift();
    const bool broken = FaultyDisk::broken() != 0;
    if (follower.pipeline.await_idle(deadline) == at::Awaited::stopped) {
        ++result.stopped;
        const auto errors = follower.pipeline.errors();
        if (errors.empty() || !test::is_sentence(errors.back().message)) {
            note("it stopped without a reason");
        }
        if (follower.pipeline.status().state != at::State::failed) { note("it isn't failed"); }
        follower.pipeline.start();
    }
    if (follower.pipeline.await_idle(deadline) != at::Awaited::idle) { note("isn't idle behind"); }
    if (const std::string what = test::damage_at_end(follower.database); !what.empty()) {
        note(what);
    }
    return broken;
}

void expect_repair(bool wal, const Fault& fault) {
    FaultyDisk::install();
    const test::Files fresh{"repair-fresh"};
    const test::Files files{"repair"};
    test::make_database(fresh.path(), wal);
    Result result;
    // Two threads call the disk, so that n isn't the same call in each run.
    for (int n = 1; n < 200; n += 7) {
        files.copy_from(fresh);
        try {
            if (break_running(files.path(), fault, n, result)) { ++result.points; }
        } catch (const at::Error&) {
            FaultyDisk::lift(); // it was the writer's call
        }
    }
    WARN(result.points << " points, stopped " << result.stopped << " times");
    CHECK(result.points > 0);
    CHECK(result.faults == std::vector<std::string>{});
}

} // namespace

TEST_CASE("P7: a pipeline waits for locks that pass, on its own thread", "[threads]") {
    const bool wal = GENERATE(false, true);
    expect_repair(wal, {Breakage::busy, GENERATE(false, true)});
}
TEST_CASE("P7: a pipeline stops for what doesn't pass, and says why", "[threads]") {
    const bool wal = GENERATE(false, true);
    expect_repair(wal, {GENERATE(Breakage::io_error, Breakage::full), GENERATE(false, true)});
}
