// SPDX-License-Identifier: MIT
#include <chrono>

#include <support/catch.hpp>

#include <aftertouch/detail/pace.hpp>

using aftertouch::detail::Pace;
using namespace std::chrono_literals;

TEST_CASE("K7: idle pauses grow to the longest, and begin anew with news") {
    Pace pace{50ms};
    Pace::Delay last{0};
    for (int i = 0; i < 20; ++i) {
        const Pace::Delay next = pace.next_idle();
        CHECK(next >= last);
        CHECK(next <= 50ms);
        last = next;
    }
    CHECK(last == 50ms);
    pace.hurry();
    CHECK(pace.next_idle() == Pace::shortest_idle);
}

TEST_CASE("pace: waiting out trouble grows apart from idling, and ends with an answer") {
    Pace pace{1us};
    CHECK(pace.next_idle() == Pace::shortest_idle);
    for (int i = 0; i < 20; ++i) { static_cast<void>(pace.next_trouble()); }
    CHECK(pace.next_trouble() == Pace::longest_trouble);
    pace.recovered();
    CHECK(pace.next_trouble() == Pace::shortest_trouble);
}
