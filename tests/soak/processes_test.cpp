// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include <soak/processes.hpp>
#include <support/catch.hpp>

/// \file
/// Several processes write, one follows and is killed again and again, another prunes; what was
/// handed over is compared with what the writers say they committed. Then the suite itself is
/// tested, with followers and databases that are broken on purpose.

namespace processes {

namespace {

using soak::Course;
using soak::Verdict;

void expect_right(const Course& course) {
    const Verdict verdict = soak::run(course);
    WARN(verdict.text());
    CHECK(verdict.faults == std::vector<std::string>{});
    CHECK(verdict.changes >= course.changes);
    CHECK(verdict.kills > 0);
    CHECK(verdict.log_rows_at_end == 0);
    CHECK(verdict.peak_kilobytes < 400'000);
}

// With what is broken, the course must not pass.
void expect_found_out(Course course, std::int64_t changes = 20'000) {
    course.changes = changes;
    course.follower.emplace_back("hasty");
    bool found = false; // shows only where processes meet by chance: up to four courses
    for (int tries = 0; tries < 4 && !found; ++tries, ++course.seed) {
        const Verdict verdict = soak::run(course);
        WARN(verdict.text());
        found = !verdict.faults.empty();
    }
    CHECK(found);
}

} // namespace

TEST_CASE("I1: nothing is lost, doubled or out of order among processes, WAL", "[slow]") {
    expect_right({.wal = true, .changes = soak::wanted_changes() * 3 / 4});
}
TEST_CASE(
    "I1: nothing is lost, doubled or out of order among processes, rollback journal", "[slow]") {
    expect_right({.wal = false, .changes = soak::wanted_changes() / 4});
}

TEST_CASE("P20: the soak finds out effects beside the transaction", "[slow]") {
    expect_found_out({.follower = {"beside"}});
}
TEST_CASE("P20: the soak finds out a checkpoint that is written early", "[slow]") {
    expect_found_out({.follower = {"early"}});
}
TEST_CASE("P20: the soak finds out a log that gives out numbers again", "[slow]") {
    expect_found_out(
        {.follower = {"unchecked"},
            .sabotage =
                "DROP TABLE aftertouch_log; "
                "CREATE TABLE aftertouch_log (seq INTEGER PRIMARY KEY, capture, operation, at, "
                "origin, k1, k2)"},
        3'000);
}
TEST_CASE("P20: the soak finds out a missing guard against REPLACE", "[slow]") {
    expect_found_out({.follower = {"unchecked"}, .sabotage = "", .drop_guards = true});
}

} // namespace processes
