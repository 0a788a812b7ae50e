// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <crash/postgres/stage.hpp>
#include <support/catch.hpp>
#include <support/libpq_hooks.hpp>
#include <support/soak.hpp>

/// \file
/// The server ends a pipeline's connection (pg_terminate_backend) before and after every statement,
/// each in a run of its own. The pipeline connects again by itself, and that is no failure.

namespace terminate {

namespace {

namespace at = aftertouch;
using crash::Scene;
using crash::Stage;

// Ends the connection at its n-th place between two statements from now.
class Termination {
public:
    Termination(crash::Database& admin, int n) : admin_{&admin}, left_{n} {}

    void arm() {
        test::libpq::hooks().between = [this](PGconn* connection) {
            if (left_ > 0 && crash::is_followed(connection) && left_.fetch_sub(1) == 1) {
                terminate(PQbackendPID(connection));
            }
        };
    }
    [[nodiscard]] bool happened() const noexcept { return left_ <= 0; }
    ~Termination() { test::libpq::hooks().between = {}; }
    Termination(const Termination&) = delete;
    Termination& operator=(const Termination&) = delete;

private:
    void terminate(std::int64_t process) {
        // The server's own waiting for the end looks ten times a second.
        admin_->execute("SELECT pg_terminate_backend($1::integer)", process);
        while (admin_
                   ->query(at::type<std::int64_t>,
                       "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", process)
                   .front() != 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }

    crash::Database* admin_;
    std::atomic<int> left_;
};

struct Result {
    int terminations = 0;
    std::vector<std::string> faults;
};

// Plays the scene with a termination at place n; false if it came to its end before.
[[nodiscard]] bool play(
    Stage& stage, const Scene& scene, int n, crash::Database* beside, std::string& fault) {
    crash::in_lanes = scene.lanes;
    crash::Database followed = stage.open_followed();
    crash::Database& writer = stage.database();
    Termination termination{writer, n};
    try {
        crash::with_pipeline(followed, beside, [&](auto& pipeline) {
            scene.play(
                writer, [&] { return crash::keep_running(pipeline); }, [&] { termination.arm(); },
                [&] { pipeline.release(); });
            if (!pipeline.errors().empty()) { fault = pipeline.errors().front().message; }
        });
    } catch (const at::Error& error) { fault = error.what(); }
    return termination.happened();
}

[[nodiscard]] Result terminate_everywhere(const Scene& scene, bool with_double = false) {
    Result result;
    Stage stage;
    crash::Database beside = stage.open();
    for (int n = 1;; n += with_double ? 3 : test::is_night() ? 1 : scene.every) {
        stage.set(scene.up_to_date);
        std::string fault;
        if (!play(stage, scene, n, with_double ? &beside : nullptr, fault)) { break; }
        ++result.terminations;
        if (fault.empty()) { fault = stage.fault_now(); }
        if (!fault.empty()) {
            result.faults.push_back("ended at place " + std::to_string(n) + ": " + fault);
        }
    }
    return result;
}

} // namespace

TEST_CASE("K6: ended by the server before and after every statement, it goes on by itself") {
    for (const Scene& scene : crash::scenes()) {
        DYNAMIC_SECTION(scene.what) {
            const Result result = terminate_everywhere(scene);
            WARN(scene.what << ": ended " << result.terminations << " times");
            CHECK(result.terminations > 50 / scene.every);
            CHECK(result.faults == std::vector<std::string>{});
        }
    }
}

TEST_CASE("K6: effects beside the transaction are doubled by an ended connection, and this suite "
          "notices") {
    const Result result = terminate_everywhere(crash::scenes().at(1), true);
    CHECK(result.terminations > 10);
    CHECK(!result.faults.empty());
}

} // namespace terminate
