// SPDX-License-Identifier: MIT
#include <cstdint>
#include <thread>
#include <utility>

#include <support/catch.hpp>

#include <aftertouch/detail/wishes.hpp>

using aftertouch::Cycle;
using aftertouch::Happened;
using aftertouch::Step;
using aftertouch::detail::Wishes;

namespace {

// A cycle that has found its checkpoint and polls.
Cycle polling() {
    Cycle cycle;
    cycle.start();
    cycle.on(Happened::done);
    return cycle;
}

} // namespace

TEST_CASE("wishes: what is asked for is pending until the cycle has heard of it, once") {
    Wishes wishes;
    CHECK(!wishes.pending());
    wishes.rebuild();
    CHECK(wishes.pending());
    Cycle cycle = polling();
    wishes.tell(cycle);
    CHECK(!wishes.pending());
    CHECK(cycle.hear() == Step::start_over);
    CHECK(cycle.on(Happened::done) == Step::poll);
    wishes.tell(cycle);
    CHECK(cycle.hear() == Step::poll);
    wishes.open();
    CHECK(wishes.pending());
    wishes.tell(cycle);
    CHECK(cycle.hear() == Step::open);
}

TEST_CASE("wishes: a pause and a stop last until they are taken back") {
    Wishes wishes;
    Cycle cycle = polling();
    wishes.pause(true);
    for (int i = 0; i < 2; ++i) {
        wishes.tell(cycle);
        CHECK(cycle.hear() == Step::wait);
    }
    wishes.pause(false);
    wishes.tell(cycle);
    CHECK(cycle.hear() == Step::poll);
    wishes.stop();
    CHECK(wishes.stopping());
    wishes.tell(cycle);
    CHECK(cycle.hear() == Step::stop);
    wishes.go_on();
    CHECK(!wishes.stopping());
}

TEST_CASE("wishes: none is lost that comes while others are told", "[threads]") {
    Wishes wishes;
    constexpr int asked = 20'000;
    std::thread other{[&] {
        for (int i = 0; i < asked; ++i) { wishes.rebuild(); }
    }};
    Cycle cycle = polling();
    for (bool ended = false; !ended || wishes.pending();) {
        if (!ended && wishes.pending()) { std::this_thread::yield(); }
        wishes.tell(cycle);
        ended = ended || cycle.rebuild_wanted();
    }
    other.join();
    cycle = polling();
    wishes.rebuild();
    wishes.tell(cycle);
    CHECK(!wishes.pending());
    CHECK(cycle.rebuild_wanted());
}

TEST_CASE("wishes: every call counts, so that a long pause can end") {
    Wishes wishes;
    std::uint64_t before = wishes.asked();
    const auto has_risen = [&] { return wishes.asked() != std::exchange(before, wishes.asked()); };
    wishes.pause(true);
    CHECK(has_risen());
    wishes.pause(false);
    CHECK(has_risen());
    wishes.rebuild();
    CHECK(has_risen());
    wishes.open();
    CHECK(has_risen());
    wishes.stop();
    CHECK(has_risen());
    CHECK(!has_risen());
}
