// SPDX-License-Identifier: MIT
#include <chrono>

#include <support/catch.hpp>

#include <aftertouch/retry.hpp>

namespace at = aftertouch;
using namespace std::chrono_literals;

TEST_CASE("F2: a pause doubles from failure to failure, up to the longest") {
    const at::Retry retry{.pause = 100ms, .longest_pause = 1000ms, .jitter = 0};
    CHECK(retry.pause_behind(1, 0.7) == 100ms);
    CHECK(retry.pause_behind(2, 0.7) == 200ms);
    CHECK(retry.pause_behind(4, 0.7) == 800ms);
    CHECK(retry.pause_behind(5, 0.7) == 1000ms);
    CHECK(retry.pause_behind(1'000'000, 0.7) == 1000ms);
}

TEST_CASE("F2: no number of failures and no pause overflows") {
    const at::Retry retry{.pause = 24h, .longest_pause = 24h, .jitter = 1};
    CHECK(retry.pause_behind(1'000'000'000, 0.0) == 24h);
    CHECK(retry.pause_behind(1'000'000'000, 1.0) == 0ms);
    CHECK(at::Retry{.pause = 0ms}.pause_behind(1'000'000'000, 0) == 0ms);
}

TEST_CASE("F2: jitter leaves a part of the pause out, by chance") {
    const at::Retry retry{.pause = 100ms, .jitter = 0.4};
    CHECK(retry.pause_behind(1, 0.0) == 100ms);
    CHECK(retry.pause_behind(1, 0.5) == 80ms);
    CHECK(retry.pause_behind(1, 1.0) == 60ms);
    CHECK(retry.pause_behind(1, 7.0) == 60ms);
}

TEST_CASE("F1: the default is one attempt, and then to stop") {
    CHECK_FALSE(at::Retry{}.is_patient());
    CHECK(at::Retry{.attempts = 2}.is_patient());
    CHECK(at::Retry{.then = at::Then::park}.is_patient());
}
