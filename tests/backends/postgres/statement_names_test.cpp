// SPDX-License-Identifier: MIT
#include <string>

#include <aftertouch/postgres/statement_names.hpp>
#include <support/catch.hpp>

namespace statement_names {

using aftertouch::postgres::StatementNames;

TEST_CASE("prepared statements are found by their text") {
    StatementNames names;
    CHECK(names.find("SELECT 1") == nullptr);
    const std::string name = names.next();
    names.add("SELECT 1", name);
    REQUIRE(names.find("SELECT 1") != nullptr);
    CHECK(*names.find("SELECT 1") == name);
    CHECK(names.remove("SELECT 1") == name);
    CHECK(names.find("SELECT 1") == nullptr);
    CHECK_FALSE(names.remove("SELECT 1"));
    CHECK(names.next() != name);
}

TEST_CASE("the prepared statement that wasn't used for longest makes way") {
    StatementNames names;
    std::string first;
    for (std::size_t i = 0; i < StatementNames::kept; ++i) {
        const std::string& name = names.add(std::to_string(i), names.next());
        if (i == 0) { first = name; }
    }
    CHECK_FALSE(names.remove_surplus());
    REQUIRE(names.find("0") != nullptr); // used again
    names.add("one more", names.next());
    CHECK(names.remove_surplus());
    CHECK(names.find("1") == nullptr);
    CHECK(*names.find("0") == first);
    names.clear();
    CHECK(names.find("0") == nullptr);
}

} // namespace statement_names
