// SPDX-License-Identifier: MIT
#include <cstdint>
#include <filesystem>
#include <string>

#include <soak/flat_memory.hpp>
#include <support/catch.hpp>

#include <aftertouch/sqlite.hpp>

TEST_CASE("PT14: a handler a thousand times slower than its writers leaves memory flat", "[slow]") {
    const std::string path = "flat-memory.db";
    for (const char* end : {"", "-wal", "-shm"}) { std::filesystem::remove(path + end); }
    const auto open = [&] {
        return soak::at::sqlite::Database{path,
            {.busy_timeout = std::chrono::minutes{1}, .wal = true, .on_open = [](sqlite3* handle) {
                 sqlite3_exec(handle, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
             }}};
    };
    auto followed = open();
    followed.create_table<soak::Reading>();
    auto written = open();
    const soak::Growth growth =
        soak::follow_slowly(followed, 1'000'000, [&](std::int64_t from, std::int64_t to) {
            written.execute("INSERT INTO reading WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL "
                            "SELECT i + 1 FROM n WHERE i < $2) SELECT i, 'a reading of ' || i FROM "
                            "n",
                from, to);
        });
    WARN(growth.written << " changes, " << growth.handled << " handled, memory from "
                        << growth.before_kilobytes << " to " << growth.most_kilobytes << " kB");
    CHECK(growth.handled < growth.written / 10);
    CHECK(growth.most_kilobytes < growth.before_kilobytes + 30'000);
}
