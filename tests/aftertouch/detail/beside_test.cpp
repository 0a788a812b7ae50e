// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <cstddef>

#include <support/catch.hpp>

#include <aftertouch/detail/beside.hpp>

using aftertouch::detail::run_beside;

TEST_CASE("L2: what runs beside each other meets, and each once", "[threads]") {
    constexpr std::size_t count = 4;
    std::atomic<std::size_t> there{0};
    std::array<std::atomic<int>, count> calls{};
    run_beside(count, [&](std::size_t i) noexcept {
        ++calls[i];
        ++there;
        while (there < count) {} // fails where one waits for the end of another
    });
    for (const std::atomic<int>& once : calls) { CHECK(once == 1); }
}

TEST_CASE("L2: of one, and of none") {
    int calls = 0;
    run_beside(0, [&](std::size_t) noexcept { ++calls; });
    CHECK(calls == 0);
    run_beside(1, [&](std::size_t) noexcept { ++calls; });
    CHECK(calls == 1);
}
