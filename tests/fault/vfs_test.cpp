// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <fault/attempt.hpp>
#include <fault/faulty_disk.hpp>
#include <support/catch.hpp>

/// \file
/// The n-th call to the disk fails, for every n, once or for good. Then the disk is repaired, and
/// the pipeline goes on by itself, is started again, or another process goes on after a crash.

namespace vfs {

namespace {

using test::Breakage;
using test::Fault;
using test::FaultyDisk;
using test::Files;
using test::Result;
using test::Scene;
using test::Work;

[[nodiscard]] Result break_everywhere(const Scene& scene, const Fault& fault) {
    FaultyDisk::install();
    const Files fresh{"vfs-fresh"};
    test::make_fresh(scene, fresh);
    Result result;
    for (int n = 1;; n += test::stride()) {
        test::Attempt<FaultyDisk> attempt{scene, fresh};
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

} // namespace vfs
