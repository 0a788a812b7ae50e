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

namespace repair {

namespace {

namespace at = aftertouch;
using test::Breakage;
using test::Fault;
using test::FaultyDisk;
using test::Follower;

constexpr std::chrono::seconds deadline{60};
constexpr std::chrono::milliseconds glance{10};

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
    follower.pipeline.pause(); // the fault is to be the pipeline's, not the writer's
    {
        at::sqlite::Database other{path, {.busy_timeout = std::chrono::seconds{10}}};
        test::change_orders(other);
    }
    FaultyDisk::arm(fault, n);
    follower.pipeline.resume();
    // until it has met the fault or got by, and as long again as it may try
    while (FaultyDisk::broken() == 0 &&
           follower.pipeline.await_idle(glance) == at::Awaited::timed_out) {}
    static_cast<void>(follower.pipeline.await_idle(10 * glance));
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
    // Locks are few among the calls. A pipeline looks by its own clock, so that n isn't the same
    // call in each run.
    const int step = fault.breakage == Breakage::busy ? 1 : 7;
    for (int n = 1; n < 28 * step; n += step) {
        files.copy_from(fresh);
        if (break_running(files.path(), fault, n, result)) { ++result.points; }
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

} // namespace repair
