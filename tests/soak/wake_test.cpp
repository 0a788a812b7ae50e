// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <soak/processes.hpp>
#include <support/catch.hpp>

/// \file
/// A follower that is idle hears of what other processes commit: by the file's change alone, and
/// by polling alone. Only that it is handled counts, not when.

namespace wake {

namespace {

// Another process commits, again and again; each time everything must be handled by a follower
// that is given these words.
void expect_hearing(bool wal, const std::vector<std::string>& words) {
    soak::Ground ground{{.wal = wal, .follower = words}};
    soak::Program follower{"soak_follower", ground.words()};
    for (int round = 1; round <= 8; ++round) {
        soak::Program writer{
            "soak_writer", {ground.path(), std::to_string(round), std::to_string(round), "3"}};
        REQUIRE(writer.wait() == 0);
        REQUIRE(ground.await_handled(std::chrono::seconds{60}));
        REQUIRE(!follower.ended());
    }
}

} // namespace

TEST_CASE("K7: an idle pipeline hears of another process's commit by the change of the file") {
    expect_hearing(GENERATE(false, true), {"slow_poll"});
}
TEST_CASE("K7: an idle pipeline finds another process's commit by polling alone") {
    expect_hearing(GENERATE(false, true), {"deaf"});
}

} // namespace wake
