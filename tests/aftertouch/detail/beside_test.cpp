// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <cstddef>
#include <set>
#include <thread>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/detail/beside.hpp>

using aftertouch::detail::Crew;

TEST_CASE("L2: what runs beside each other meets, and each once, again and again", "[threads]") {
    Crew crew;
    for (const std::size_t count : {4U, 2U, 7U, 7U}) {
        std::atomic<std::size_t> there{0};
        std::array<std::atomic<int>, 7> calls{};
        crew.run(count, [&](std::size_t i) noexcept {
            ++calls[i];
            ++there;
            while (there < count) { // fails where one waits for the end of another
                std::this_thread::yield();
            }
        });
        for (std::size_t i = 0; i < calls.size(); ++i) { CHECK(calls[i] == (i < count ? 1 : 0)); }
    }
}

TEST_CASE("L2: threads are kept until they are dismissed, and had again", "[threads]") {
    Crew crew;
    const auto threads = [&] {
        std::vector<std::thread::id> ids(3);
        std::atomic<std::size_t> there{0};
        crew.run(3, [&](std::size_t i) noexcept {
            ids[i] = std::this_thread::get_id();
            for (++there; there < 3;) { std::this_thread::yield(); }
        });
        CHECK(ids[0] == std::this_thread::get_id());
        return std::set<std::thread::id>(ids.begin(), ids.end());
    };
    const auto first = threads();
    CHECK(first.size() == 3);
    CHECK(threads() == first);
    crew.dismiss();
    crew.dismiss();
    CHECK(threads().size() == 3);
}

TEST_CASE("L2: many short runs, each to its end", "[threads]") {
    Crew crew;
    for (std::size_t round = 0; round < 2000; ++round) {
        const std::size_t count = round % 6;
        std::atomic<std::size_t> sum{0};
        crew.run(count, [&](std::size_t i) noexcept { sum += i + 1; });
        REQUIRE(sum == count * (count + 1) / 2);
    }
}

TEST_CASE("L2: of one, and of none") {
    int calls = 0;
    Crew crew;
    crew.run(0, [&](std::size_t) noexcept { ++calls; });
    CHECK(calls == 0);
    crew.run(1, [&](std::size_t) noexcept { ++calls; });
    CHECK(calls == 1);
}
