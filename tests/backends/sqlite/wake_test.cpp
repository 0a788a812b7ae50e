// SPDX-License-Identifier: MIT
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <support/catch.hpp>

#include <aftertouch/sqlite/wake.hpp>

using aftertouch::sqlite::WakeList;
using aftertouch::sqlite::Waker;
using namespace std::chrono_literals;

TEST_CASE("K7: a notification ends a wait, also one that came before it") {
    Waker waker{""};
    waker.notify();
    CHECK(waker.wait(10min));
    CHECK_FALSE(waker.wait(1ms));
    std::thread other{[&] { waker.notify(); }};
    CHECK(waker.wait(10min));
    other.join();
}

TEST_CASE("K7: a list wakes all of its members but the one that calls") {
    WakeList list;
    Waker first{""};
    Waker second{""};
    list.add(first);
    list.add(second);
    list.notify_all();
    CHECK(first.wait(10min));
    CHECK(second.wait(10min));
    list.notify_all(&first);
    CHECK_FALSE(first.wait(1ms));
    CHECK(second.wait(10min));
    list.remove(second);
    list.notify_all();
    CHECK(first.wait(10min));
    CHECK_FALSE(second.wait(1ms));
}

#if defined(__linux__)
TEST_CASE("K7: a write to the file, its log or its journal is heard, one to another file isn't") {
    for (const std::string suffix : {"", "-wal", "-journal"}) {
        const std::string file = "wake-test.db";
        Waker waker{file};
        std::ofstream{"wake-test.db2"} << "another";
        CHECK_FALSE(waker.wait(1ms));
        std::ofstream{file + suffix} << "ours";
        CHECK(waker.wait(10min));
        std::filesystem::remove(file + suffix);
    }
    std::filesystem::remove("wake-test.db2");
}
#endif
