// SPDX-License-Identifier: MIT
#include <chrono>

#include <support/catch.hpp>

#include <aftertouch/detail/patience.hpp>

namespace at = aftertouch;
using namespace std::chrono_literals;
using at::detail::Fault;
using at::detail::Patience;

namespace {

at::Options with(at::Retry retry) {
    at::Options options;
    options.name = "p";
    options.retry = retry;
    return options;
}

} // namespace

TEST_CASE("F1: by default the first error stops, and one that passes by itself doesn't") {
    const at::Options options = with({});
    Patience patience{options};
    CHECK_FALSE(patience.judge(Fault::real, {}));
    CHECK_FALSE(patience.judge(Fault::perhaps_transient, {}));
    CHECK_FALSE(patience.judge(Fault::to_stop, {}));
    CHECK(patience.judge(Fault::transient, {}));
    CHECK_FALSE(patience.verdict().counts);
    CHECK_FALSE(patience.wants_parts(0, false));
}

TEST_CASE("F2: attempts are counted up to the policy's, and pauses grow with failures in a row") {
    const at::Options options =
        with({.attempts = 3, .pause = 10ms, .jitter = 0.5, .chance = [] { return 1.0; }});
    Patience patience{options};
    CHECK(patience.judge(Fault::real, {.attempts = 0}));
    CHECK(patience.verdict().counts);
    CHECK(patience.verdict().pause == 5ms);
    CHECK(patience.judge(Fault::perhaps_transient, {.attempts = 1}));
    CHECK_FALSE(patience.verdict().counts);
    CHECK(patience.verdict().pause == 10ms);
    CHECK(patience.judge(Fault::real, {.attempts = 1}));
    CHECK(patience.verdict().pause == 20ms);
    CHECK_FALSE(patience.judge(Fault::real, {.attempts = 2}));
    patience.succeeded();
    CHECK(patience.judge(Fault::real, {.attempts = 0}));
    CHECK(patience.verdict().pause == 5ms);
}

TEST_CASE("F3: the last attempt of a policy that parks is made record by record") {
    const at::Options options = with({.attempts = 2, .then = at::Then::park});
    Patience patience{options};
    CHECK_FALSE(patience.wants_parts(0, false));
    CHECK(patience.wants_parts(1, false));
    // Nothing that it could be blamed on: it stops.
    CHECK_FALSE(patience.judge(Fault::real, {.attempts = 1, .in_parts = true}));
}

TEST_CASE("F4: a handler that wants a record parked is tried record by record, at once") {
    const at::Options options = with({});
    Patience patience{options};
    CHECK(patience.judge(Fault::to_park, {}));
    CHECK(patience.verdict().pause == 0ms);
    CHECK_FALSE(patience.verdict().counts);
    CHECK(patience.wants_parts(0, false));
    patience.succeeded();
    CHECK_FALSE(patience.wants_parts(0, false));
}

TEST_CASE("F2: a rebuild's policy holds while a rebuild runs") {
    at::Options options = with({});
    options.rebuild_retry = at::Retry{.attempts = 9};
    Patience patience{options};
    CHECK(patience.judge(Fault::real, {.rebuilding = true}));
    CHECK_FALSE(patience.judge(Fault::real, {.rebuilding = false}));
}

TEST_CASE("F2: where no batch is in hand yet, attempts count in memory") {
    const at::Options options = with({.attempts = 3, .then = at::Then::park});
    Patience patience{options};
    CHECK(patience.judge(Fault::real, {.at_rebuild_started = true}));
    CHECK_FALSE(patience.verdict().counts);
    CHECK(patience.judge(Fault::real, {.at_rebuild_started = true}));
    CHECK_FALSE(patience.judge(Fault::real, {.at_rebuild_started = true}));
}

TEST_CASE("F2: a source of chance that throws costs nothing but the jitter") {
    const at::Options options =
        with({.attempts = 2, .pause = 10ms, .jitter = 1, .chance = []() -> double { throw 1; }});
    Patience patience{options};
    CHECK(patience.judge(Fault::real, {}));
    CHECK(patience.verdict().pause == 10ms);
}
