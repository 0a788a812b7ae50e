// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <set>
#include <string>

#include <support/catch.hpp>

#include <aftertouch/key.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/value.hpp>

namespace at = aftertouch;

namespace {

std::size_t lane(at::Cell key, std::size_t lanes) {
    std::string form;
    append_key_form(form, key);
    return at::lane_of(form, lanes);
}

} // namespace

// A deal that one machine leaves unfinished another one takes up: the results never change.
TEST_CASE("L2: the lane of a key is the same everywhere") {
    CHECK(at::lane_of("", 8) == 0xcbf29ce484222325ULL % 8);
    CHECK(at::lane_of("foobar", 64) == 0x85944171f73967e8ULL % 64);
    CHECK(at::lane_of("foobar", 1) == 0);
    CHECK(lane(at::Cell::integer(1), 64) == at::lane_of(std::string{"i\x01\0\0\0\0\0\0\0", 9}, 64));
    CHECK(lane(at::Cell::real(1.0), 64) == lane(at::Cell::integer(1), 64));
    CHECK(lane(at::Cell::text("ab"), 64) ==
          at::lane_of(std::string{"t\x02\0\0\0\0\0\0\0ab", 11}, 64));
}

TEST_CASE("L2: keys that follow each other are dealt evenly") {
    for (const std::size_t lanes : {2U, 3U, 8U, 64U}) {
        std::array<std::size_t, 64> dealt{};
        constexpr std::size_t keys = 64'000;
        for (std::size_t key = 0; key < keys; ++key) {
            ++dealt[lane(at::Cell::integer(static_cast<std::int64_t>(key)), lanes)];
        }
        for (std::size_t i = 0; i < 64; ++i) {
            INFO(i << " of " << lanes << ": " << dealt[i]);
            if (i >= lanes) {
                CHECK(dealt[i] == 0);
            } else {
                CHECK(dealt[i] > keys / lanes * 9 / 10);
                CHECK(dealt[i] < keys / lanes * 11 / 10);
            }
        }
    }
}

TEST_CASE("L2: a shard's number is its lane, other members of a key are hashed") {
    const std::array key{at::Cell::text("ab"), at::Cell::integer(-1), at::Cell::integer(21)};
    const std::array folds{at::KeyFold::exact, at::KeyFold::exact, at::KeyFold::exact};
    std::string form;
    append_key_form(form, key, folds);
    at::LaneRule whole;
    CHECK(whole.lane(key, folds, 64) == at::lane_of(form, 64));
    CHECK(whole.lane(key, folds, 64) == at::lane_of(form, 64)); // it keeps nothing
    CHECK(whole.text().empty());
    at::LaneRule number{{2}};
    CHECK(number.lane(key, folds, 8) == 21 % 8);
    CHECK(number.lane(key, folds, 1) == 0);
    CHECK(number.text() == "2");
    CHECK(at::LaneRule{{1}}.lane(key, folds, 10) == 0xffffffffffffffffULL % 10);
    CHECK(at::LaneRule{{0}}.lane(key, folds, 64) == lane(at::Cell::text("ab"), 64));
    at::LaneRule two{{2, 0}};
    form.clear();
    append_key_form(form, key[2]);
    append_key_form(form, key[0]);
    CHECK(two.lane(key, folds, 64) == at::lane_of(form, 64));
    CHECK(two.text() == "2.0");
}
