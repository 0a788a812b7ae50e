// SPDX-License-Identifier: MIT
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include <support/catch.hpp>

#include <aftertouch/observer.hpp>

namespace at = aftertouch;
using at::Moment;

namespace {

std::vector<Moment> all_moments() {
    std::vector<Moment> all;
    for (int i = 0; i <= static_cast<int>(Moment::stopped); ++i) {
        all.push_back(static_cast<Moment>(i));
    }
    return all;
}

/// What `work` writes to standard error.
template <class Work>
std::string written(Work work) {
    std::FILE* file = std::tmpfile();
    const int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    work();
    std::fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    std::rewind(file);
    std::string text(1000, ' ');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
}

} // namespace

TEST_CASE("SY13: log lines begin with the moment's name, and failures have the names that they "
          "always had") {
    CHECK(name(Moment::pipeline_failed) == "pipeline.failed");
    CHECK(name(Moment::checkpoint_unreadable) == "pipeline.checkpoint.unreadable");
    std::set<std::string_view> names;
    for (const Moment moment : all_moments()) {
        CHECK(name(moment).starts_with("pipeline."));
        names.insert(name(moment));
    }
    CHECK(names.size() == all_moments().size());
    CHECK(name(Moment::started) == "pipeline.started");
    CHECK(name(Moment::stopped) == "pipeline.stopped");
}

TEST_CASE("observer: a person is told what needs a person") {
    std::set<Moment> warnings;
    for (const Moment moment : all_moments()) {
        if (is_warning(moment)) { warnings.insert(moment); }
    }
    CHECK(warnings == std::set<Moment>{Moment::checkpoint_unreadable, Moment::checkpoint_unusable,
                          Moment::record_parked, Moment::drift_found, Moment::standby_failed,
                          Moment::lease_lost, Moment::pipeline_failed});
}

TEST_CASE("observer: a report is one line that holds what is known") {
    CHECK(at::log_line({.moment = Moment::started, .pipeline = "totals"}) ==
          "pipeline.started pipeline=totals");
    at::Report report{.moment = Moment::rebuild_page, .pipeline = "totals", .event_id = "log:7"};
    report.changes = 500;
    report.done = 1000;
    report.total = 1200;
    CHECK(at::log_line(report) ==
          "pipeline.rebuild.page pipeline=totals event=log:7 changes=500 done=1000/1200");
    report = {.moment = Moment::pipeline_failed, .pipeline = "totals", .event_id = "log:7"};
    report.message = "the disk is full";
    CHECK(at::log_line(report) == "pipeline.failed pipeline=totals event=log:7 : the disk is full");
}

TEST_CASE(
    "observer: the ready-made loggers write a line for what they are for, to standard error") {
    const at::Report harmless{.moment = Moment::started, .pipeline = "totals"};
    const at::Report failure{.moment = Moment::pipeline_failed, .pipeline = "totals"};
    CHECK(written([&] { at::log_warnings()(harmless); }).empty());
    CHECK(written([&] { at::log_warnings()(failure); }) == "pipeline.failed pipeline=totals\n");
    CHECK(written([&] { at::log_everything()(harmless); }) == "pipeline.started pipeline=totals\n");
}
