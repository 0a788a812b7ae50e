// SPDX-License-Identifier: MIT
#include <support/catch.hpp>

#include <aftertouch/status.hpp>

namespace at = aftertouch;

static_assert(name(at::State::stopped) == "stopped");
static_assert(name(at::State::starting) == "starting");
static_assert(name(at::State::rebuilding) == "rebuilding");
static_assert(name(at::State::replaying) == "replaying");
static_assert(name(at::State::following) == "following");
static_assert(name(at::State::waiting) == "waiting");
static_assert(name(at::State::paused) == "paused");
static_assert(name(at::State::failed) == "failed");

TEST_CASE("status: says nothing that isn't known yet") {
    const at::Status status;
    CHECK(status.state == at::State::stopped);
    CHECK(!status.lag);
    CHECK(!status.rebuild);
    CHECK(status.position.empty());
    CHECK(status.batches + status.changes + status.rebuilt + status.failures == 0);
    CHECK(!at::Progress{}.time_left);
    CHECK(at::Lag{}.records == 0);
    CHECK(at::Lag{}.age.count() == 0);
    CHECK(!at::Lag{}.oldest_open);
}
