// SPDX-License-Identifier: MIT
#include <sstream>

#include <support/catch.hpp>

#include <aftertouch/script.hpp>

namespace at = aftertouch;

TEST_CASE("script: the text is a file that psql and sqlite3 run") {
    at::Script script;
    script.add("The change log.\n\nOne row a change.", "CREATE TABLE a (b)")
        .add("", "DROP TABLE a");
    CHECK(script.text() == "-- The change log.\n"
                           "--\n"
                           "-- One row a change.\n"
                           "CREATE TABLE a (b);\n"
                           "\n"
                           "DROP TABLE a;\n"
                           "\n");
}

TEST_CASE("script: a semicolon that is there isn't doubled, a last line break makes no line") {
    at::Script script;
    script.add("Note.\n", "SELECT 1;");
    CHECK(script.text() == "-- Note.\nSELECT 1;\n\n");
}

TEST_CASE("script: a statement can't hide in its comment") {
    at::Script script;
    script.add("About\nDROP TABLE a;", "SELECT 1");
    CHECK(script.text() == "-- About\n-- DROP TABLE a;\nSELECT 1;\n\n");
}

TEST_CASE("script: nothing is empty text") {
    const at::Script script;
    CHECK(script.empty());
    CHECK(script.text().empty());
    CHECK(script.statements().empty());
}

TEST_CASE("script: scripts join in order, one with itself as well") {
    at::Script first;
    first.add("one", "SELECT 1");
    at::Script second;
    second.add("two", "SELECT 2");
    first.add(second).add(first);
    REQUIRE(first.statements().size() == 4);
    CHECK(first.statements()[1] == at::ScriptStatement{"two", "SELECT 2"});
    CHECK(first.statements()[2] == at::ScriptStatement{"one", "SELECT 1"});
    CHECK(first.statements()[3] == first.statements()[1]);
}

TEST_CASE("script: it prints its text") {
    at::Script script;
    script.add("one", "SELECT 1");
    std::ostringstream out;
    out << script << "end";
    CHECK(out.str() == script.text() + "end");
}
