// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include <soak/postgres/ground.hpp>
#include <support/catch.hpp>

/// \file
/// Two dozen processes write at once, others follow and are killed again and again, the log is
/// pruned meanwhile; what was handed over is compared with what the writers say they committed.

TEST_CASE("I1, I2, I3: nothing is lost, doubled or out of order beside two dozen writers, with "
          "images and with touches",
    "[slow]") {
    const std::int64_t changes = test::is_night() ? 2'000'000 : soak::wanted_changes();
    soak::Ground ground{{.changes = changes, .rounds = test::is_night() ? 20 : 3}};
    const soak::Verdict verdict = ground.run();
    WARN(verdict.text());
    CHECK(verdict.faults == std::vector<std::string>{});
    CHECK(verdict.changes >= changes);
    CHECK(verdict.kills > 0);
    CHECK(verdict.pruned > 0);
    CHECK(verdict.peak_kilobytes < 400'000);
    CHECK(ground.empty_log() == 0);
}
