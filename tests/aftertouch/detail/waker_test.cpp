// SPDX-License-Identifier: MIT
#include <chrono>
#include <thread>

#include <support/catch.hpp>

#include <aftertouch/detail/waker.hpp>

using aftertouch::detail::WakeList;
using aftertouch::detail::Waker;
using namespace std::chrono_literals;

TEST_CASE("K7: a hint ends a wait, one that came before too, and only once") {
    Waker waker;
    waker.notify();
    waker.notify();
    CHECK(waker.wait(1h));
    CHECK(!waker.wait(1us));
}

TEST_CASE("K7: a hint wakes every waiting pipeline that is on the list", "[threads]") {
    Waker first;
    Waker second;
    Waker gone;
    WakeList<Waker> list;
    list.add(first);
    list.add(second);
    list.add(gone);
    list.remove(gone);
    std::thread other{[&] { list.notify_all(); }};
    CHECK(first.wait(1h));
    CHECK(second.wait(1h));
    other.join();
    CHECK(!gone.wait(1us));
}
