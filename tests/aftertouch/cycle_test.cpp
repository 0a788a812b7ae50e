// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/cycle.hpp>

namespace at = aftertouch;
using at::Cycle;
using at::Happened;
using at::Step;

namespace {

enum class Wish { none, stop, rebuild, open, pause, resume, start, hear, halt };
constexpr std::array all_wishes{Wish::none, Wish::stop, Wish::rebuild, Wish::open, Wish::pause,
    Wish::resume, Wish::start, Wish::hear, Wish::halt};

std::vector<Step> all_steps() {
    std::vector<Step> all;
    for (std::size_t i = 0; i < at::step_count; ++i) { all.push_back(static_cast<Step>(i)); }
    return all;
}
std::vector<Happened> all_happenings() {
    std::vector<Happened> all;
    for (std::size_t i = 0; i < at::happened_count; ++i) {
        all.push_back(static_cast<Happened>(i));
    }
    return all;
}

/// What can happen in a step, as the enumerators say.
bool can_happen(Step step, Happened happened) {
    const bool commits = step == Step::start_over || step == Step::advance || step == Step::note;
    switch (happened) {
        case Happened::done: return step != Step::poll;
        case Happened::no_checkpoint: return step == Step::open || step == Step::begin;
        case Happened::news:
        case Happened::moved: return step == Step::poll;
        case Happened::nothing: return step == Step::poll || step == Step::begin;
        case Happened::drifted:
            return step == Step::start_over || step == Step::poll || step == Step::begin;
        case Happened::outrun:
            return commits || step == Step::open || step == Step::poll || step == Step::begin ||
                   step == Step::handle;
        case Happened::in_doubt:
            return commits || step == Step::open || step == Step::begin || step == Step::handle;
        case Happened::trouble:
        case Happened::error:
            return commits || step == Step::open || step == Step::poll || step == Step::begin ||
                   step == Step::handle;
    }
    return false;
}

/// A cycle, and what an onlooker remembers of it.
struct Watched {
    Cycle cycle;
    Step before = Step::stop; // the last step, and what happened in it
    Happened happened = Happened::done;
    bool started = false;
    bool stop_asked = false;
    bool paused = false;
    bool rebuild_asked = false;
    bool open_asked = false;
    bool nowhere = false;     // there is no checkpoint to go on from
    bool in_doubt = false;    // the checkpoint must be read again
    bool transaction = false; // one may be open
    bool failed = false;
    bool must_stop = false; // the stop was asked for when the step was chosen
    bool must_wait = false;
    bool must_fail = false; // an error isn't told yet

    void make(Wish wish) {
        switch (wish) {
            case Wish::none: break;
            case Wish::stop: stop_asked = true, cycle.request_stop(); break;
            case Wish::rebuild: rebuild_asked = true, cycle.request_rebuild(); break;
            case Wish::open: open_asked = true, cycle.request_open(); break;
            case Wish::pause: paused = true, cycle.request_pause(true); break;
            case Wish::resume: paused = false, cycle.request_pause(false); break;
            case Wish::hear:
                if (!transaction) {
                    cycle.hear();
                    decide();
                }
                break;
            case Wish::start:
                if (transaction) { break; } // whoever runs the cycle starts it where it ended
                stop_asked = failed = in_doubt = nowhere = must_fail = false;
                started = true;
                before = Step::stop, happened = Happened::done;
                cycle.start();
                decide();
                break;
            case Wish::halt: // only where nothing is open
                if (!transaction) {
                    must_fail = false, cycle.halt(), before = Step::stop, happened = Happened::done;
                }
                break;
        }
    }

    void happens(Happened what) {
        before = cycle.step();
        happened = what;
        const bool done = what == Happened::done;
        switch (before) {
            case Step::begin: transaction = true; break;
            case Step::start_over:
            case Step::note:
            case Step::advance: transaction = !done; break;
            case Step::undo: transaction = false; break;
            default: break;
        }
        if (before == Step::open) { in_doubt = open_asked = nowhere = false; }
        if (before == Step::start_over && done) { nowhere = rebuild_asked = false; }
        nowhere = nowhere || what == Happened::no_checkpoint;
        in_doubt = in_doubt || what == Happened::in_doubt;
        failed = failed || before == Step::fail;
        must_fail = what == Happened::error || (must_fail && before == Step::undo);
        cycle.on(what);
        decide();
    }

    // A step is chosen: by what was wished until now.
    void decide() {
        must_stop = stop_asked;
        must_wait = paused;
    }

    /// All bits that decide what comes next: two of them that are equal go on alike.
    [[nodiscard]] std::string bits() const {
        static_assert(std::is_trivially_copyable_v<Cycle>);
        std::string bytes(sizeof cycle, '\0');
        std::memcpy(bytes.data(), &cycle, sizeof cycle);
        for (const bool bit : {started, stop_asked, paused, rebuild_asked, open_asked, nowhere,
                 in_doubt, transaction, failed, must_stop, must_wait, must_fail,
                 before == Step::handle && happened == Happened::done}) {
            bytes += bit ? '1' : '0';
        }
        return bytes;
    }
};

/// What the doc comment of Cycle promises, one line each; empty where all holds.
std::string broken_promise(const Watched& w) {
    const Step step = w.cycle.step();
    const bool after_done = w.happened == Happened::done;
    const bool begins_work = step == Step::begin || step == Step::start_over;
    if (step == Step::handle && !(w.before == Step::begin && after_done)) {
        return "handle comes only behind begin";
    }
    if (step == Step::advance && !(w.before == Step::handle && after_done)) {
        return "K2: advance comes only behind handle that was done";
    }
    const bool in_batch = step == Step::handle || step == Step::advance;
    if (w.transaction && !in_batch && step != Step::undo) {
        return "a transaction that isn't committed ends with undo";
    }
    if (!w.transaction && (in_batch || step == Step::undo)) {
        return "what isn't begun isn't ended";
    }
    if (w.in_doubt &&
        (begins_work || step == Step::poll || step == Step::note || step == Step::wait)) {
        return "K6: after an unknown commit the checkpoint is read again before anything else";
    }
    if (w.nowhere && (step == Step::begin || step == Step::poll || step == Step::note)) {
        return "K4: without a checkpoint nothing is read before start_over";
    }
    if (w.failed && step != Step::stop) { return "F1: after fail nothing happens until start"; }
    if (w.must_fail && step != Step::undo && step != Step::fail) {
        return "F1: every error is told";
    }
    if (step == Step::start_over && !w.rebuild_asked && !w.nowhere) {
        return "K4: a usable checkpoint is gone on from";
    }
    if (!w.started && step != Step::stop) { return "nothing happens before start"; }
    if (w.must_stop && (begins_work || step == Step::note || step == Step::wait)) {
        return "K5: once a stop is asked for, nothing begins";
    }
    if (w.must_wait && begins_work) { return "while paused nothing begins"; }
    return {};
}

} // namespace

TEST_CASE("cycle: keeps its promises whatever happens, in whatever order, whoever wishes what (K2, "
          "K4, K5, K6, F1)") {
    std::set<std::string> seen;
    std::deque<std::pair<Watched, std::string>> open{{Watched{}, ""}};
    std::set<Step> reached;
    std::size_t transitions = 0;
    while (!open.empty()) {
        const auto [here, path] = open.front();
        open.pop_front();
        reached.insert(here.cycle.step());
        for (const Wish wish : all_wishes) {
            for (const bool rebuilding : {false, true}) {
                for (const Happened happened : all_happenings()) {
                    Watched next = here;
                    next.make(wish);
                    const std::string first_wish = broken_promise(next);
                    if (!can_happen(next.cycle.step(), happened)) { continue; }
                    // The runner says so where a checkpoint was read or written.
                    const Step step = next.cycle.step();
                    if (step == Step::open || step == Step::advance || step == Step::start_over) {
                        next.cycle.set_rebuilding(rebuilding);
                    } else if (rebuilding) {
                        continue;
                    }
                    next.happens(happened);
                    ++transitions;
                    const std::string way = path + ' ' + std::to_string(static_cast<int>(wish)) +
                                            ':' + std::to_string(static_cast<int>(step)) + ':' +
                                            std::to_string(static_cast<int>(happened));
                    const std::string broken =
                        first_wish.empty() ? broken_promise(next) : first_wish;
                    if (!broken.empty()) { FAIL(broken << ", after wish:step:happened" << way); }
                    if (seen.insert(next.bits()).second) { open.emplace_back(next, way); }
                }
            }
        }
    }
    CHECK(reached.size() == at::step_count);
    CHECK(transitions > 10'000);
}

TEST_CASE("cycle: the usual way") {
    Cycle cycle;
    CHECK(cycle.step() == Step::stop);
    CHECK(cycle.start() == Step::open);
    CHECK(cycle.on(Happened::no_checkpoint) == Step::start_over);
    cycle.set_rebuilding(true);
    CHECK(cycle.on(Happened::done) == Step::begin);
    CHECK(cycle.on(Happened::done) == Step::handle);
    CHECK(cycle.on(Happened::done) == Step::advance);
    CHECK(cycle.on(Happened::done) == Step::begin); // the next page
    CHECK(cycle.on(Happened::done) == Step::handle);
    cycle.set_rebuilding(false);
    CHECK(cycle.on(Happened::done) == Step::advance);
    CHECK(cycle.on(Happened::done) == Step::poll);
    CHECK(cycle.on(Happened::nothing) == Step::wait);
    CHECK(cycle.on(Happened::done) == Step::poll);
    CHECK(cycle.on(Happened::moved) == Step::note);
    CHECK(cycle.on(Happened::done) == Step::poll);
    CHECK(cycle.on(Happened::news) == Step::begin);
    CHECK(cycle.on(Happened::nothing) == Step::undo); // all of it was another's
    CHECK(cycle.on(Happened::done) == Step::wait);
}

TEST_CASE("cycle: a wish is carried out in the end, whatever comes between") {
    // Wherever it is made, and whichever one problem follows, the next four good steps lead there.
    const auto where = GENERATE(from_range(all_steps()));
    const auto problem = GENERATE(from_range(all_happenings()));
    Cycle cycle;
    cycle.start();
    const auto walk_to = [&](Step goal) {
        for (int i = 0; i < 12 && cycle.step() != goal; ++i) {
            cycle.on(cycle.step() == Step::poll ? Happened::news : Happened::done);
        }
        return cycle.step() == goal;
    };
    if (!walk_to(where) || !can_happen(where, problem)) { return; }
    cycle.request_rebuild();
    cycle.on(problem);
    if (where == Step::start_over && problem == Happened::done) { return; }
    bool rebuilt = false;
    for (int i = 0; i < 8 && !rebuilt; ++i) {
        rebuilt = cycle.step() == Step::start_over;
        if (cycle.step() == Step::stop) { cycle.start(); } // it failed: somebody starts it again
        cycle.on(cycle.step() == Step::poll ? Happened::nothing : Happened::done);
    }
    CHECK(rebuilt);
    CHECK(!cycle.rebuild_wanted());
}

TEST_CASE("K4: no checkpoint and paused: the rebuild is remembered until resume") {
    Cycle cycle;
    cycle.start();
    cycle.request_pause(true);
    CHECK(cycle.on(Happened::no_checkpoint) == Step::wait);
    CHECK(cycle.on(Happened::done) == Step::wait);
    cycle.request_pause(false);
    CHECK(cycle.on(Happened::done) == Step::start_over);
    CHECK(cycle.on(Happened::done) == Step::poll);
}

TEST_CASE(
    "L1: a step that reads on or commits needs the lease; a handler's is fenced by the commit") {
    std::set<Step> needing;
    for (const Step step : all_steps()) {
        if (at::needs_lease(step)) { needing.insert(step); }
    }
    CHECK(needing ==
          std::set<Step>{Step::start_over, Step::poll, Step::begin, Step::advance, Step::note});
}
