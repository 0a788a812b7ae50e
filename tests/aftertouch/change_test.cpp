// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <support/batches.hpp>
#include <support/catch.hpp>

#include <aftertouch/change.hpp>

using namespace test;
using at::Operation;
using Names = std::vector<std::string_view>;

TEST_CASE("TE7: a change names the columns that differ") {
    const Item before{1, "pen", 1.5};
    const Item after{1, "pen", 2.5};
    Filling filling;
    filling.change(Operation::updated, 1, &before, &after);
    filling.change(Operation::updated, 1, &before, &before);
    filling.change(Operation::inserted, 1, nullptr, &after);
    filling.change(Operation::deleted, 1, &after);
    filling.change(Operation::touched, 1);
    const auto changes = filling.seal().changes();
    CHECK(changes[0].has_changed(at::column<&Item::price>));
    CHECK(!changes[0].has_changed(at::column<&Item::name>));
    CHECK(changes[0].changed_fields() == Names{"price"});
    CHECK(changes[1].changed_fields().empty());
    CHECK(!changes[1].has_changed(at::column<&Item::price>));
    // Where one side is missing, everything may have changed.
    for (const std::size_t i : {2U, 3U, 4U}) {
        CHECK(changes[i].changed_fields() == Names{"id", "name", "price"});
        CHECK(changes[i].has_changed(at::column<&Item::name>));
    }
}

TEST_CASE("C6: a change compares bit for bit") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Item zero{1, "", 0.0};
    const Item minus_zero{1, "", -0.0};
    const Item not_a_number{1, "", nan};
    Filling filling;
    filling.change(Operation::updated, 1, &zero, &minus_zero);
    filling.change(Operation::updated, 1, &not_a_number, &not_a_number);
    CHECK(filling.seal().changes()[0].changed_fields() == Names{"price"});
    CHECK(filling.seal().changes()[1].changed_fields().empty());
}

TEST_CASE("TE5: a change has its operation, key, images and time") {
    const Item item{7, "pen", 1};
    Filling filling;
    filling.change(Operation::deleted, 7, &item);
    const at::Change<Item>& change = filling.seal().changes()[0];
    CHECK(change.operation() == Operation::deleted);
    CHECK(change.key() == 7);
    REQUIRE(change.before() != nullptr);
    CHECK(*change.before() == item);
    CHECK(change.after() == nullptr);
    CHECK(change.at() == at::Timestamp{std::chrono::microseconds{1000}});
}

TEST_CASE("K1: an idempotency key tells a change from every other one") {
    Filling filling;
    std::set<std::string> keys;
    std::size_t made = 0;
    const auto collect = [&] {
        for (const auto& change : filling.seal().changes()) {
            keys.insert(change.idempotency_key());
        }
        made += filling.seal().changes().size();
    };
    for (int i = 0; i < 20; ++i) { filling.change(Operation::updated, i % 3); }
    collect();
    const at::Cell key = at::Cell::integer(1);
    for (std::int32_t item = 0; item < 5; ++item) { // many keys of one statement in one log row
        filling.begin();
        filling.writer.add_change({{77, item}, Operation::touched, {}, {&key, 1}, {}, {}});
        collect();
    }
    for (std::int64_t generation = 1; generation <= 3; ++generation) {
        filling.begin();
        for (std::int64_t id = 0; id < 30; ++id) { filling.present({id, "", 0}, generation); }
        collect();
    }
    CHECK(made == 20 + 5 + 90);
    CHECK(keys.size() == made);

    filling.writer.clear("another log");
    filling.present({1, "", 0});
    collect();
    CHECK(keys.size() == made);
}
