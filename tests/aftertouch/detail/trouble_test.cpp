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
