// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/soak.hpp>

#include <aftertouch/dead_letter.hpp>

namespace at = aftertouch;
using at::detail::KeptChange;

namespace {

at::Value some_value(std::mt19937_64& random) {
    std::string bytes(random() % 20, '\0');
    for (char& byte : bytes) { byte = static_cast<char>(random()); }
    switch (random() % 6) {
        case 0: return {};
        case 1: return at::Value{at::Cell::integer(static_cast<std::int64_t>(random()))};
        case 2: return at::Value{at::Cell::text(bytes)};
        case 3: return at::Value{at::Cell::blob(at::detail::as_bytes(bytes))};
        case 4: return at::Value{at::Cell::real(static_cast<double>(random()) / 3)};
        default: return at::Value{at::Cell::timestamp(static_cast<std::int64_t>(random()))};
    }
}

std::vector<at::Value> some_values(std::mt19937_64& random) {
    std::vector<at::Value> values(random() % 4);
    for (at::Value& value : values) { value = some_value(random); }
    return values;
}

} // namespace

TEST_CASE("F3: a kept change is read as it was written, whatever is in it") {
    std::mt19937_64 random{test::chosen_seed()};
    const at::Operation operations[] = {at::Operation::inserted, at::Operation::updated,
        at::Operation::deleted, at::Operation::touched, at::Operation::present};
    for (int i = 0; i < 2000; ++i) {
        KeptChange change;
        change.id = {static_cast<std::int64_t>(random() >> 1U), static_cast<std::int32_t>(i)};
        change.operation = operations[random() % 5];
        change.at = at::Timestamp{std::chrono::microseconds{static_cast<std::int64_t>(random())}};
        change.key = some_values(random);
        change.before = some_values(random);
        change.after = some_values(random);
        const auto read = at::detail::kept_change_from(
            at::detail::words(change.key), at::detail::to_text(change));
        REQUIRE(read);
        CHECK(read->id == change.id);
        CHECK(read->operation == change.operation);
        CHECK(read->at == change.at);
        CHECK(read->key == change.key);
        CHECK(read->before == change.before);
        CHECK(read->after == change.after);
    }
}

TEST_CASE("F3: the stored form of a change is what the documents say") {
    KeptChange change{{42, 7}, at::Operation::updated, at::Timestamp{std::chrono::microseconds{5}},
        {at::Value{at::Cell::integer(1)}}, {at::Value{at::Cell::text("a b")}},
        {at::Value{}, at::Value{at::Cell::real(1.0)}}};
    CHECK(at::detail::words(change.key) == "i1");
    CHECK(at::detail::to_text(change) == "U 42 7 5 1 t612062 n r3ff0000000000000");
}

TEST_CASE("F3: any other text is none") {
    for (const char* text : {"", "U", "U 1 2 3", "U 1 2 3 1", "U 1 2 3 -1", "Q 1 2 3 0",
             "UU 1 2 3 0", "U 1 2 x 0", "U 1 2 3 0 z", "U 1 2 3 2 n", "U  1 2 3 0"}) {
        INFO(text);
        CHECK_FALSE(at::detail::kept_change_from("i1", text));
    }
    CHECK_FALSE(at::detail::kept_change_from("q", "U 1 2 3 0"));
    CHECK(at::detail::kept_change_from("i1", "U 1 2 3 0"));
}
