// SPDX-License-Identifier: MIT
#include <stdexcept>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/detail/reporter.hpp>

namespace at = aftertouch;
using at::Moment;
using at::detail::Board;
using at::detail::Reporter;

namespace {

struct Fixture {
    Fixture() {
        options.name = "totals";
        options.observer = [this](const at::Report& report) { lines.push_back(log_line(report)); };
    }
    at::Options options;
    Board board;
    std::vector<std::string> lines;
};

} // namespace

TEST_CASE("O1: a batch is counted on the board and told to the observer") {
    Fixture f;
    Reporter reporter{f.options, f.board};
    reporter.batch({"log:7", 3, 0, {}, false}, {});
    CHECK(f.board.status().batches == 1);
    CHECK(f.board.status().changes == 3);
    CHECK(f.board.status().rebuilt == 0);
    CHECK(f.lines == std::vector<std::string>{
                         "pipeline.batch.committed pipeline=totals event=log:7 changes=3"});
}

TEST_CASE("R4: a rebuild shows how far it has come, from before its first page to its last") {
    Fixture f;
    Reporter reporter{f.options, f.board};
    at::RebuildCursor rebuild;
    rebuild.generation = 5;
    rebuild.running = true;
    rebuild.total = 1000;
    reporter.rebuild_begins(rebuild);
    REQUIRE(f.board.status().rebuild);
    CHECK(f.board.status().rebuild->done == 0);
    CHECK(f.board.status().rebuild->total == 1000);
    CHECK(!f.board.status().rebuild->time_left);

    rebuild.done = 500;
    reporter.batch({"log:7", 502, 500, {}, true}, rebuild);
    REQUIRE(f.board.status().rebuild);
    CHECK(f.board.status().rebuild->done == 500);
    CHECK(f.board.status().rebuild->per_second > 0);
    CHECK(f.board.status().rebuild->time_left);
    CHECK(f.board.status().rebuilt == 500);
    CHECK(f.board.status().changes == 2);

    rebuild.done = 1000;
    rebuild.running = false;
    reporter.batch({"log:7", 500, 500, {}, true}, rebuild);
    reporter.place(at::State::following, "7", "5", 0);
    CHECK(f.board.status().position == "7");
    CHECK(f.board.status().low_position == "5");
    CHECK(!f.board.status().rebuild);
    REQUIRE(f.lines.size() == 5);
    CHECK(f.lines[0].starts_with("pipeline.rebuild.started"));
    CHECK(f.lines[2].starts_with("pipeline.rebuild.page"));
    CHECK(f.lines[4].starts_with("pipeline.rebuild.finished"));
}

TEST_CASE("F1: a failure is told once, with its cause, and kept") {
    Fixture f;
    const Reporter reporter{f.options, f.board};
    const auto cause = std::make_exception_ptr(std::runtime_error{"no"});
    std::vector<std::exception_ptr> causes;
    f.options.observer = [&](const at::Report& report) { causes.push_back(report.cause); };
    reporter.failed({}, "log:7", "no", cause);
    CHECK(causes == std::vector<std::exception_ptr>{cause});
    REQUIRE(f.board.failures().size() == 1);
    CHECK(f.board.failures()[0].event_id == "log:7");
    CHECK(f.board.failures()[0].message == "no");
    CHECK(f.board.state() == at::State::failed);
}

TEST_CASE("O1: what an observer throws stops nothing") {
    Fixture f;
    f.options.observer = [](const at::Report&) { throw std::runtime_error{"no"}; };
    const Reporter reporter{f.options, f.board};
    CHECK_NOTHROW(reporter.tell(Moment::started));
}
