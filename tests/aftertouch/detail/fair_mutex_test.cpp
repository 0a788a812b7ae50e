// SPDX-License-Identifier: MIT
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/detail/fair_mutex.hpp>

using aftertouch::detail::FairMutex;

TEST_CASE("fair_mutex: one at a time", "[threads]") {
    FairMutex mutex;
    int count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 1000; ++n) {
                const std::lock_guard guard{mutex};
                ++count;
            }
        });
    }
    for (std::thread& thread : threads) { thread.join(); }
    CHECK(count == 4000);
}

TEST_CASE("fair_mutex: who gives up is passed over", "[threads]") {
    FairMutex mutex;
    mutex.lock();
    std::thread{[&] { CHECK_FALSE(mutex.lock_unless([] { return true; })); }}.join();
    mutex.unlock();
    CHECK(mutex.lock_unless([] { return true; }));
    mutex.unlock();
    const std::lock_guard guard{mutex};
}

TEST_CASE("fair_mutex: who asks while another holds it and asks again comes first", "[threads]") {
    FairMutex mutex;
    std::atomic<bool> asked{false};
    std::atomic<int> other_came{0};
    std::unique_lock first{mutex};
    std::thread other{[&] {
        asked = true;
        const std::lock_guard guard{mutex};
        ++other_came;
    }};
    while (!asked) { std::this_thread::yield(); }
    // The other has asked or is about to; a greedy owner gives way within a few turns.
    int turns = 0;
    while (other_came == 0) {
        first.unlock();
        std::this_thread::yield();
        first.lock();
        ++turns;
    }
    CHECK(turns >= 1);
    first.unlock();
    other.join();
}
