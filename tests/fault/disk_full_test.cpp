// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>

#if defined(__linux__)
#include <sys/mount.h>
#endif
#include <unistd.h>

#include <fault/bookkeeping.hpp>
#include <fault/faulty_disk.hpp>
#include <support/catch.hpp>

/// \file
/// A disk that fills up under a pipeline, and has room again later.

namespace disk_full {

namespace {

namespace at = aftertouch;
using test::FaultyDisk;
using test::Follower;

constexpr std::chrono::seconds deadline{60};

// Writes until there is no room; answers how many rows were committed. The disk stays full.
std::int64_t fill(at::sqlite::Database& database, std::int64_t first) {
    const std::string customer(200, 'c');
    for (std::int64_t id = first;; ++id) {
        try {
            database.execute(
                "INSERT INTO \"order\" VALUES ($1, $2, 1)", id, customer + std::to_string(id));
        } catch (const at::Error& error) {
            CHECK(error.code() == at::Errc::disk_full);
            return id - first;
        }
        REQUIRE(id - first < 100'000);
    }
}

// The pipeline meets a full disk, stops with a sentence, and goes on when there is room.
template <class MakeRoom>
void expect_recovery(const std::string& path, MakeRoom make_room) {
    Follower follower{path, std::chrono::seconds{5}};
    follower.pipeline.start();
    if (follower.pipeline.await_idle(deadline) == at::Awaited::stopped) {
        REQUIRE(!follower.pipeline.errors().empty());
        std::rethrow_exception(follower.pipeline.errors().back().cause);
    }

    const std::int64_t written = fill(follower.database, 1'000);
    CHECK(written > 0);
    // What is committed is handled, or the pipeline says why not.
    if (follower.pipeline.await_idle(deadline) == at::Awaited::stopped) {
        REQUIRE(!follower.pipeline.errors().empty());
        const at::Failure failure = follower.pipeline.errors().back();
        CHECK(test::is_sentence(failure.message));
        CHECK(failure.message.find("full") != std::string::npos);
    }
    make_room();
    // It may be about to stop for what it met before: then it is started once more.
    at::Awaited awaited = at::Awaited::stopped;
    for (int i = 0; i < 2 && awaited == at::Awaited::stopped; ++i) {
        follower.pipeline.start();
        awaited = follower.pipeline.await_idle(deadline);
    }
    INFO((follower.pipeline.errors().empty() ? "" : follower.pipeline.errors().back().message));
    REQUIRE(awaited == at::Awaited::idle);
    CHECK(test::damage_at_end(follower.database).empty());
    CHECK(test::number(follower.database, "SELECT count(*) FROM \"order\"") == 16 + written);
    // Writers and pipeline go on as ever.
    test::change_orders(follower.database);
    REQUIRE(follower.pipeline.await_idle(deadline) == at::Awaited::idle);
    CHECK(test::damage_at_end(follower.database).empty());
}

void expect_recovery_of_bounded_files(bool wal) {
    FaultyDisk::install();
    const test::Files files{"full"};
    test::make_database(files.path(), wal);
    for (std::int64_t bound = 100'000; bound <= 500'000; bound += 50'000) {
        FaultyDisk::bound(bound);
        // Too little room even for the first start is said too.
        try {
            expect_recovery(files.path(), [] { FaultyDisk::bound(0); });
        } catch (const at::Error& error) { CHECK(error.code() == at::Errc::disk_full); }
        FaultyDisk::bound(0);
        at::sqlite::Database database{files.path()};
        database.execute("DELETE FROM \"order\" WHERE id >= 1000");
        database.execute("DELETE FROM \"order\"");
        for (std::int64_t id = 1; id <= 16; ++id) {
            database.execute("INSERT INTO \"order\" VALUES ($1, 'c', 1)", id);
        }
        database.execute("DELETE FROM total");
        database.execute("DELETE FROM aftertouch_checkpoint");
        database.execute("DELETE FROM aftertouch_log");
        database.execute("VACUUM");
    }
}

} // namespace

TEST_CASE("P17: a file that can't grow stops the pipeline, and it goes on, rollback journal") {
    expect_recovery_of_bounded_files(false);
}
TEST_CASE("P17: a file that can't grow stops the pipeline, and it goes on, WAL") {
    expect_recovery_of_bounded_files(true);
}

#if defined(__linux__)
TEST_CASE("P17: a file system that is full stops the pipeline, and it goes on") {
    const std::filesystem::path folder =
        std::filesystem::current_path() / ("small-" + std::to_string(getpid()));
    for (const bool wal : {false, true}) {
        std::filesystem::create_directory(folder);
        if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=2m") != 0) {
            std::filesystem::remove(folder);
            std::cout << "skipped: a small file system can be mounted by root only" << std::endl;
            return;
        }
        struct Unmount {
            const std::filesystem::path& folder;
            ~Unmount() {
                umount(folder.c_str());
                std::filesystem::remove(folder);
            }
        };
        const Unmount at_end{folder};
        const std::string path = folder / "full.db";
        test::make_database(path, wal);
        expect_recovery(path,
            [&] { REQUIRE(mount("tmpfs", folder.c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0); });
    }
}
#endif

} // namespace disk_full
