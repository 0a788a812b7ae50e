// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/sqlite/index_text.hpp>

using aftertouch::sqlite::read_index_text;
using Terms = std::vector<std::string>;

TEST_CASE("index_text: terms lose their collation and direction, keep their text") {
    const auto index = read_index_text("CREATE UNIQUE INDEX \"a(b\" ON \"t,(\" (lower(a || ','), b "
                                       "COLLATE NOCASE DESC, \"c)\" , (d + 1) ASC)");
    CHECK(index.terms == Terms{"lower(a || ',')", "b", "\"c)\"", "(d + 1)"});
    CHECK(index.predicate.empty());
}

TEST_CASE(
    "index_text: a condition is what stands behind WHERE, with its own parentheses and texts") {
    const auto index = read_index_text("CREATE UNIQUE INDEX i ON t(/* x */ u collate nocase, "
                                       "coalesce(a,b,(c)))where a > 'x)' AND (b IN (1,2)) -- end");
    CHECK(index.terms == Terms{"u", "coalesce(a,b,(c))"});
    CHECK(index.predicate == "a > 'x)' AND (b IN (1,2))");
}
