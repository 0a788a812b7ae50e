// SPDX-License-Identifier: MIT
#include <random>
#include <string>
#include <vector>

#include <crash/postgres/stage.hpp>
#include <support/catch.hpp>
#include <support/postgres_proxy.hpp>
#include <support/soak.hpp>

/// \file
/// The connection between pipeline and server is cut in front of, in the middle of and behind the
/// messages of both, each in a run of its own: so that a COMMIT may have happened or not (K6). By
/// day every thirteenth message, by night each.

namespace {

namespace at = aftertouch;
using crash::Scene;
using crash::Stage;
using test::Cut;

struct Result {
    int cuts = 0;
    std::vector<std::string> faults;
};

// Plays the scene with a cut at message n; false if it came to its end before.
[[nodiscard]] bool play(Stage& stage, test::PostgresProxy& proxy, const Scene& scene, int n,
    Cut cut, crash::Database* beside, std::string& fault) {
    crash::in_lanes = scene.lanes;
    crash::Database followed = stage.open_followed(proxy.folder());
    crash::Database& writer = stage.database();
    try {
        crash::with_pipeline(followed, beside, [&](auto& pipeline) {
            scene.play(
                writer, [&] { return crash::keep_running(pipeline); }, [&] { proxy.arm(n, cut); },
                [&] { pipeline.release(); });
            if (!pipeline.errors().empty()) { fault = pipeline.errors().front().message; }
        });
    } catch (const at::Error& error) { fault = error.what(); }
    const bool happened = proxy.has_cut();
    proxy.disarm();
    return happened;
}

[[nodiscard]] Result cut_everywhere(const Scene& scene, Cut cut, bool with_double = false) {
    Result result;
    Stage stage;
    test::PostgresProxy proxy{at::postgres::detail::value_of(stage.place().parameters(), "host")};
    crash::Database beside = stage.open();
    // What a record set aside adds is walked through by the other scenes too.
    const int stride =
        test::is_night() ? 1 : (with_double ? 13 : 23) * scene.every * test::stride();
    std::mt19937_64 random{test::chosen_seed()};
    for (int n = 1 + static_cast<int>(random() % static_cast<unsigned>(stride));; n += stride) {
        stage.set(scene.up_to_date);
        std::string fault;
        if (!play(stage, proxy, scene, n, cut, with_double ? &beside : nullptr, fault)) { break; }
        ++result.cuts;
        if (fault.empty()) { fault = stage.fault_now(); }
        if (!fault.empty()) {
            result.faults.push_back("cut at message " + std::to_string(n) + ": " + fault);
        }
    }
    return result;
}

[[nodiscard]] const char* name(Cut cut) {
    switch (cut) {
        case Cut::before: return "in front of";
        case Cut::inside: return "in the middle of";
        default: return "behind";
    }
}

} // namespace

TEST_CASE("K6: cut off in front of, in and behind messages, it goes on by itself", "[threads]") {
    for (const Scene& scene : crash::scenes()) {
        for (const Cut cut : {Cut::before, Cut::inside, Cut::after}) {
            DYNAMIC_SECTION(scene.what << ", " << name(cut) << " a message") {
                const Result result = cut_everywhere(scene, cut);
                WARN(scene.what << ", " << name(cut) << " a message: cut " << result.cuts
                                << " times; AFTERTOUCH_SEED=" << test::chosen_seed());
                CHECK(result.cuts > 8 / scene.every / test::stride());
                CHECK(result.faults == std::vector<std::string>{});
            }
        }
    }
}

TEST_CASE("K6: effects beside the transaction are doubled by a cut, and this suite notices",
    "[threads]") {
    const Result result = cut_everywhere(crash::scenes().at(1), Cut::before, true);
    CHECK(result.cuts > 10 / test::stride());
    CHECK(!result.faults.empty());
}
