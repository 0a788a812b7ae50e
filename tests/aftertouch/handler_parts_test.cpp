// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <type_traits>

#include <support/catch.hpp>

#include <aftertouch/handler_parts.hpp>

namespace at = aftertouch;

TEST_CASE("handler parts: a set has the member of each part, and calls what it was given") {
    std::string told;
    const auto note = [&told](const char* what) { return [&told, what](int) { told += what; }; };
    auto set =
        at::handle(at::on_inserted(note("i")), at::on_updated(note("u")), at::on_deleted(note("d")),
            at::on_present(note("p")), at::on_touched(note("t")), at::on_batch(note("b")),
            at::on_rebuild_started(note("s")), at::on_rebuild_finished(note("f")));
    set.on_inserted(1);
    set.on_updated(1);
    set.on_deleted(1);
    set.on_present(1);
    set.on_touched(1);
    set.on_batch(1);
    set.rebuild_started(1);
    set.rebuild_finished(1);
    CHECK(told == "iudptbsf");
}

TEST_CASE("handler parts: what can only be moved is moved") {
    auto owner = std::make_unique<int>(7);
    auto set = at::handle(at::on_inserted([owned = std::move(owner)](int& out) { out = *owned; }));
    int out = 0;
    set.on_inserted(out);
    CHECK(out == 7);
    static_assert(!std::is_copy_constructible_v<decltype(set)>);
    auto sequence = at::sequence(std::move(set), [](int) {});
    static_assert(std::tuple_size_v<decltype(sequence.handlers)> == 2);
    std::get<0>(sequence.handlers).on_inserted(out = 0);
    CHECK(out == 7);
}
