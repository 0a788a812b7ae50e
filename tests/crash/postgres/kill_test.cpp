// SPDX-License-Identifier: MIT
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <crash/postgres/stage.hpp>
#include <support/catch.hpp>
#include <support/libpq_hooks.hpp>
#include <support/soak.hpp>

/// \file
/// A process that follows a database is killed (SIGKILL) before and after every statement that it
/// runs, each in a run of its own, until a run comes to its end. What it left is checked, then
/// another process goes on from there.

namespace kills {

namespace {

namespace at = aftertouch;
using crash::Scene;
using crash::Stage;

// Kills this process at the n-th place between two statements from now.
void light_fuse(int n) {
    static std::atomic<int> left;
    left = n;
    test::libpq::hooks().between = [](PGconn* connection) {
        if (crash::is_followed(connection) && --left == 0) { kill(getpid(), SIGKILL); }
    };
}

// Plays the scene in a child that dies at its n-th place; false if it came to its end.
[[nodiscard]] bool dies(const Stage& stage, const Scene& scene, int n, bool beside) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            crash::in_lanes = scene.lanes;
            crash::Database database = stage.open_followed();
            database.execute("SET application_name = 'writer'"); // not its pipeline's connection
            std::optional<crash::Database> ledger;
            if (beside) { ledger.emplace(stage.place().parameters()); }
            crash::with_pipeline(database, ledger ? &*ledger : nullptr, [&](auto& pipeline) {
                scene.play(
                    database, [&] { return crash::keep_running(pipeline); }, [&] { light_fuse(n); },
                    [&] { pipeline.release(); });
            });
        } catch (const std::exception& error) {
            std::cerr << scene.what << ", statement " << n << ": " << error.what() << std::endl;
            _exit(2);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) { return true; }
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    return false;
}

struct Result {
    int kills = 0;
    std::vector<std::string> faults;
};

[[nodiscard]] Result kill_everywhere(const Scene& scene, bool beside = false) {
    Result result;
    Stage stage;
    for (int n = 1;; n += beside ? 3 : test::is_night() ? 1 : scene.every) {
        stage.set(scene.up_to_date);
        if (!dies(stage, scene, n, beside)) { break; }
        ++result.kills;
        if (const std::string fault = stage.fault_when_left_alone(); !fault.empty()) {
            result.faults.push_back("killed at place " + std::to_string(n) + ": " + fault);
        }
    }
    return result;
}

} // namespace

TEST_CASE("K1: killed before and after every statement, nothing is lost or doubled") {
    for (const Scene& scene : crash::scenes()) {
        DYNAMIC_SECTION(scene.what) {
            const Result result = kill_everywhere(scene);
            WARN(scene.what << ": killed " << result.kills << " times");
            CHECK(result.kills > 50 / scene.every);
            CHECK(result.faults == std::vector<std::string>{});
        }
    }
}

TEST_CASE("K1: effects beside the transaction are doubled by a kill, and this suite notices") {
    const Result result = kill_everywhere(crash::scenes().at(1), true);
    CHECK(result.kills > 10);
    CHECK(!result.faults.empty());
}

} // namespace kills
