// SPDX-License-Identifier: MIT
#include <cstdint>

#include <postgres/fixture.hpp>
#include <soak/flat_memory.hpp>
#include <support/catch.hpp>

TEST_CASE("PT14: a handler a thousand times slower than its writers leaves memory flat", "[slow]") {
    const fixture::Place place{fixture::Kind::server};
    fixture::Database followed{place.open()};
    followed.create_table<soak::Reading>();
    fixture::Database written{place.open()};
    const soak::Growth growth =
        soak::follow_slowly(followed, 1'000'000, [&](std::int64_t from, std::int64_t to) {
            written.execute("INSERT INTO reading SELECT i, 'a reading of ' || i FROM "
                            "generate_series($1::bigint, $2::bigint) AS n(i)",
                from, to);
        });
    WARN(growth.written << " changes, " << growth.handled << " handled, memory from "
                        << growth.before_kilobytes << " to " << growth.most_kilobytes << " kB");
    CHECK(growth.handled < growth.written / 10);
    CHECK(growth.most_kilobytes < growth.before_kilobytes + 30'000);
}
