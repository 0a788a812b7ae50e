// SPDX-License-Identifier: MIT
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include <support/catch.hpp>

#include <aftertouch/detail/board.hpp>

using aftertouch::detail::Board;
using Clock = std::chrono::steady_clock;
using Until = std::optional<Clock::time_point>;

TEST_CASE("SY8: the newest twenty failures are kept, all are counted") {
    Board board;
    for (int i = 1; i <= 25; ++i) { board.add({}, std::to_string(i), "why", nullptr); }
    const auto kept = board.failures();
    REQUIRE(kept.size() == 20);
    CHECK(kept.front().event_id == "6");
    CHECK(kept.back().event_id == "25");
    CHECK(board.status().failures == 25);
}

TEST_CASE("board: only a look that began after the question answers it") {
    Board board;
    board.set_running(true);
    board.look_begins();
    const auto wanted = board.next_look();
    board.found_nothing(); // by the look that had begun before
    CHECK(!board.await(wanted, Until{Clock::now()}));
    board.look_begins();
    board.found_nothing();
    CHECK(board.await(wanted, Until{Clock::now()}));
    CHECK(board.idle());
    board.look_begins();
    CHECK(!board.idle());
}

TEST_CASE("board: a stop ends every wait", "[threads]") {
    Board board;
    board.set_running(true);
    std::thread other{[&] { board.set_running(false); }};
    CHECK(board.await(board.next_look(), Until{}));
    other.join();
    CHECK(board.await_end(Clock::now()));
    CHECK(board.idle());
}
