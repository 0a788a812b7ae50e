// SPDX-License-Identifier: MIT
#include <set>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/capture.hpp>

namespace at = aftertouch;

namespace {

at::Capture lines() {
    at::Capture capture;
    capture.name = "lines";
    capture.table = {{"shop", "order line"},
        {{"order", at::ColumnType::int64, false, 1}, {"no", at::ColumnType::int32, false, 2},
            {"a \"note\"", at::ColumnType::text, true, 0}},
        {0, 1}};
    return capture;
}

std::string text_of(const std::vector<at::Difference>& differences) {
    return at::to_text(differences);
}

} // namespace

TEST_CASE("C7: a capture's definition says all that its triggers depend on") {
    at::Capture capture = lines();
    CHECK(capture.definition() ==
          R"(table "shop"."order line" key "order" "no" operations insert,update,delete)");
    capture.operations = at::deletes | at::inserts;
    CHECK(capture.definition() ==
          R"(table "shop"."order line" key "order" "no" operations insert,delete)");
    capture.images = true;
    capture.imaged = {0, 2};
    CHECK(
        capture.definition() ==
        R"(table "shop"."order line" key "order" "no" operations insert,delete images "order" "a ""note""")");
}

TEST_CASE("C7: captures that differ have different definitions, and the name is no part of it") {
    std::set<std::string> definitions;
    std::size_t made = 0;
    const auto add = [&](auto change) {
        at::Capture capture = lines();
        change(capture);
        definitions.insert(capture.definition());
        ++made;
    };
    add([](at::Capture&) {});
    add([](at::Capture& c) { c.table.name.schema = ""; });
    add([](at::Capture& c) { c.table.name.schema = "Shop"; });
    add([](at::Capture& c) { c.table.name.name = "order_line"; });
    add([](at::Capture& c) { c.table.key = {1, 0}; });
    add([](at::Capture& c) { c.table.key = {0}; });
    add([](at::Capture& c) { c.operations = at::inserts; });
    add([](at::Capture& c) { c.always = true; });
    add([](at::Capture& c) { c.per_row = true; });
    add([](at::Capture& c) { c.low_priority = true; });
    add([](at::Capture& c) { c.always = c.per_row = true; });
    add([](at::Capture& c) { c.images = true; });
    add([](at::Capture& c) { c.images = true, c.imaged = {0, 1, 2}; });
    add([](at::Capture& c) { c.images = true, c.imaged = {0, 1}; });
    add([](at::Capture& c) { c.images = true, c.imaged = {1, 0}; });
    CHECK(definitions.size() == made);

    at::Capture renamed = lines();
    renamed.name = "other";
    CHECK(renamed.definition() == lines().definition());
}

TEST_CASE("capture: differences read as sentences") {
    CHECK(text_of({}).empty());
    CHECK(text_of({{"trigger a is missing", "install it", true}}) ==
          "trigger a is missing: install it");
    CHECK(text_of({{"a is missing", "install it"}, {"b is older", "drop it"}}) ==
          "a is missing: install it; b is older: drop it");
}
