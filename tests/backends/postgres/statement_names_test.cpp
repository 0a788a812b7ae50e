// SPDX-License-Identifier: MIT
#include <set>
#include <string>

#include <support/catch.hpp>

#include <aftertouch/postgres/statement_names.hpp>

using aftertouch::postgres::StatementNames;

TEST_CASE("postgres: the statements used last keep their names, and no name comes twice") {
    StatementNames names;
    std::set<std::string> given;
    std::set<std::string> removed;
    const auto use = [&](const std::string& sql) {
        if (names.find(sql) != nullptr) { return; }
        const std::string name = names.unused();
        CHECK(given.insert(name).second);
        CHECK(names.add(sql, name) == name);
        if (const auto old = names.remove_surplus()) { CHECK(removed.insert(*old).second); }
    };
    for (int i = 0; i < 500; ++i) {
        use("SELECT " + std::to_string(i));
        use("SELECT now()"); // always among the newest
    }
    CHECK(given.size() == 501);
    CHECK(removed.size() == 501 - StatementNames::most);
    CHECK(names.find("SELECT 1") == nullptr);
    CHECK(names.find("SELECT 499") != nullptr);

    CHECK(names.remove("SELECT 499").value_or("").starts_with("aftertouch_"));
    CHECK(!names.remove("SELECT 499"));
    CHECK(names.find("SELECT 499") == nullptr);
    names.clear();
    CHECK(names.find("SELECT now()") == nullptr);
    use("SELECT now()");
}
