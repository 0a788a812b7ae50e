// SPDX-License-Identifier: MIT
#include <new>
#include <stdexcept>
#include <string>

#include <support/catch.hpp>

#include <aftertouch/detail/trouble.hpp>
#include <aftertouch/error.hpp>

using namespace aftertouch;
using aftertouch::detail::StepFacts;
using aftertouch::detail::Trouble;

namespace {

template <class Thrown>
Happened judged(Trouble& trouble, const Thrown& thrown, StepFacts facts) {
    try {
        throw thrown;
    } catch (...) { return trouble.caught(facts); }
}

template <class Thrown>
Happened judged(const Thrown& thrown, StepFacts facts) {
    Trouble trouble;
    return judged(trouble, thrown, facts);
}

const Error busy{Errc::busy, "locked"};
const Error broken{Errc::database, "broken"};

} // namespace

TEST_CASE("trouble: what passes by itself is told from what doesn't") {
    CHECK(judged(busy, {.step = Step::begin}) == Happened::trouble);
    CHECK(judged(broken, {.step = Step::begin}) == Happened::error);
    CHECK(judged(std::bad_alloc{}, {.step = Step::begin}) == Happened::error);
    CHECK(judged(Error{Errc::fenced, "outrun"}, {.step = Step::advance}) == Happened::outrun);
}

TEST_CASE("F1: a handler's error is its own, unless it was told to stop") {
    CHECK(judged(busy, {.step = Step::handle}) == Happened::error);
    CHECK(judged(std::runtime_error{"x"}, {.step = Step::handle, .aborted = true}) ==
          Happened::trouble);
    Trouble trouble;
    CHECK(judged(trouble, 7, {.step = Step::handle}) == Happened::error);
    CHECK(trouble.message() == "the handler threw something that is no std::exception");
}

TEST_CASE("F1: a conflict excuses a handler ten times in succession, a lost connection always") {
    Trouble trouble;
    const std::runtime_error own{"x"};
    const StepFacts conflict{.step = Step::handle, .excuse = Excuse::conflict};
    const StepFacts lost{.step = Step::handle, .excuse = Excuse::lost};
    const auto again = [&](const StepFacts& facts, int times) {
        for (int i = 0; i < times; ++i) { CHECK(judged(trouble, own, facts) == Happened::trouble); }
    };
    again(conflict, Trouble::most_conflicts);
    CHECK(judged(trouble, own, conflict) == Happened::error);
    again(conflict, Trouble::most_conflicts); // somebody has started it again
    trouble.recovered();
    again(conflict, Trouble::most_conflicts);
    static_cast<void>(trouble.told());
    again(conflict, Trouble::most_conflicts);
    again(lost, 100);
    CHECK(judged(trouble, own, conflict) == Happened::error);
}

TEST_CASE("F1: conflicts of a step of its own count for nothing") {
    Trouble trouble;
    const StepFacts reading{.step = Step::begin, .excuse = Excuse::conflict};
    for (int i = 0; i < 3 * Trouble::most_conflicts; ++i) {
        CHECK(judged(trouble, busy, reading) == Happened::trouble);
    }
    CHECK(judged(trouble, busy, {.step = Step::handle, .excuse = Excuse::conflict}) ==
          Happened::trouble);
}

TEST_CASE("F1: a commit that ends in a conflict each time is an error in the end") {
    Trouble trouble;
    const StepFacts commit{
        .step = Step::advance, .in_doubt = true, .version = 5, .excuse = Excuse::conflict};
    for (int i = 0; i < Trouble::most_conflicts; ++i) {
        CHECK(judged(trouble, busy, commit) == Happened::in_doubt);
        CHECK_NOTHROW(trouble.refuse_lost_commit(5));
    }
    CHECK(judged(trouble, busy, commit) == Happened::in_doubt);
    try {
        trouble.refuse_lost_commit(5);
        FAIL("it hasn't happened");
    } catch (const Error&) { CHECK(trouble.caught({.step = Step::open}) == Happened::error); }
    CHECK(judged(trouble, busy, {.step = Step::open}) == Happened::trouble);
}

TEST_CASE("K6: a commit without an answer is in doubt; if it didn't happen and would fail again, "
          "it is an error") {
    Trouble trouble;
    CHECK(judged(trouble, broken, {.step = Step::advance, .in_doubt = true, .version = 5}) ==
          Happened::in_doubt);
    CHECK_THROWS_AS(trouble.refuse_lost_commit(5), Error);
    CHECK_NOTHROW(trouble.refuse_lost_commit(5)); // said once

    CHECK(judged(trouble, broken, {.step = Step::advance, .in_doubt = true, .version = 5}) ==
          Happened::in_doubt);
    CHECK_NOTHROW(trouble.refuse_lost_commit(6)); // it had happened

    CHECK(judged(trouble, busy, {.step = Step::advance, .in_doubt = true, .version = 5}) ==
          Happened::in_doubt);
    CHECK_NOTHROW(trouble.refuse_lost_commit(5)); // may work next time
}
