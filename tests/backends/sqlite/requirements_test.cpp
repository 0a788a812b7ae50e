// SPDX-License-Identifier: MIT
#include <support/captured.hpp>
#include <support/catch.hpp>

#include <aftertouch/sqlite/requirements.hpp>

namespace at = aftertouch;
using test::capture_of;
using test::Lab;

namespace {

// What install says of a table.
void check_refused(
    const char* schema, const std::vector<std::string>& key, const std::string& sentence) {
    Lab lab;
    sqlite3_create_collation(lab.native(), "own", SQLITE_UTF8, nullptr,
        [](void*, int, const void*, int, const void*) { return 0; });
    lab.run(schema);
    INFO(schema);
    CHECK_THROWS_SAYING(lab.install(capture_of("t", {"a", "b"}, key)), at::Error, sentence);
    CHECK(lab.text("SELECT name FROM sqlite_schema WHERE name LIKE 'aftertouch%'") == "");
}

void check_accepted(const char* schema, const std::vector<std::string>& key) {
    Lab lab;
    lab.run(schema);
    INFO(schema);
    CHECK(lab.install(capture_of("t", {"a", "b"}, key)));
    CHECK(lab.differences(capture_of("t", {"a", "b"}, key)) == "");
}

} // namespace

TEST_CASE("C3: what can't be captured is refused in a sentence") {
    check_refused("", {"a"},
        "the database in memory: t doesn't exist: create the table first, or name another in "
        "EntityTraits");
    check_refused("CREATE TABLE x (a, b); CREATE VIEW t AS SELECT * FROM x", {"a"},
        "t is a view: capture the tables that it reads");
    check_refused("CREATE VIRTUAL TABLE t USING fts5 (a, b)", {"a"},
        "t is a virtual table, and those have no triggers: capture the table that feeds it");
    check_refused("CREATE TABLE t (a INTEGER PRIMARY KEY)", {"a"},
        "t has no column \"b\", which the struct has: add the column, name another in "
        "EntityTraits, or take the member out");
}

TEST_CASE("C5: a key must name one row, and be there") {
    constexpr const char* several =
        "t has neither a primary key nor a unique index on exactly (a), so that a key may name "
        "several rows: create one, or name another key in EntityTraits";
    check_refused("CREATE TABLE t (a NOT NULL, b)", {"a"}, several);
    check_refused("CREATE TABLE t (a NOT NULL, b, PRIMARY KEY (a, b))", {"a"}, several);
    check_refused("CREATE TABLE t (a NOT NULL, b NOT NULL UNIQUE)", {"a"}, several);
    check_refused("CREATE TABLE t (a NOT NULL, b); CREATE UNIQUE INDEX p ON t (a) WHERE b > 0",
        {"a"}, several);
    check_refused(
        "CREATE TABLE t (a NOT NULL, b); CREATE UNIQUE INDEX e ON t (lower(a))", {"a"}, several);
    check_refused("CREATE TABLE t (a TEXT NOT NULL COLLATE NOCASE, b); CREATE UNIQUE INDEX c ON t "
                  "(a COLLATE BINARY)",
        {"a"}, several);
    check_refused("CREATE TABLE t (a NOT NULL, b NOT NULL, UNIQUE (a))", {"a", "b"},
        "t has neither a primary key nor a unique index on exactly (a, b)");
    constexpr const char* null = "t.a is part of the key and may be null, so that rows could be "
                                 "without a key: declare it NOT NULL";
    check_refused("CREATE TABLE t (a TEXT PRIMARY KEY, b)", {"a"}, null);
    check_refused("CREATE TABLE t (a INT PRIMARY KEY, b)", {"a"}, null);
    check_refused("CREATE TABLE t (a INTEGER PRIMARY KEY DESC, b)", {"a"}, null);
    check_refused("CREATE TABLE t (a, b NOT NULL, PRIMARY KEY (b, a))", {"b", "a"}, null);
    check_refused("CREATE TABLE t (a TEXT NOT NULL COLLATE own PRIMARY KEY, b)", {"a"},
        "t.a is a key column with the collation own, and which keys that calls equal isn't known "
        "here: use BINARY, NOCASE or RTRIM");
}

TEST_CASE("C5: keys that are accepted") {
    check_accepted("CREATE TABLE t (a INTEGER PRIMARY KEY, b)", {"a"});
    check_accepted("CREATE TABLE t (a integer, b, PRIMARY KEY (a))", {"a"});
    check_accepted("CREATE TABLE t (b, a INTEGER PRIMARY KEY AUTOINCREMENT)", {"a"});
    check_accepted("CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL, b)", {"a"});
    check_accepted("CREATE TABLE t (a, b, PRIMARY KEY (b, a)) WITHOUT ROWID", {"a", "b"});
    check_accepted(
        "CREATE TABLE t (a TEXT, b ANY, PRIMARY KEY (a, b)) WITHOUT ROWID, STRICT", {"b", "a"});
    check_accepted("CREATE TABLE t (\"A\" NOT NULL, b INTEGER PRIMARY KEY); CREATE UNIQUE INDEX i "
                   "ON t (a DESC)",
        {"a"});
    check_accepted("CREATE TABLE t (a TEXT NOT NULL COLLATE NOCASE UNIQUE, b)", {"a"});
    check_accepted(
        "CREATE TABLE t (a TEXT NOT NULL, b); CREATE UNIQUE INDEX i ON t (a COLLATE NOCASE)",
        {"a"});
    check_accepted("CREATE TABLE t (b NOT NULL, a AS (b || 'x') NOT NULL UNIQUE)", {"a"});
    check_accepted("CREATE TABLE \"T\" (a INTEGER PRIMARY KEY, B)", {"a"});
    check_accepted(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b CHECK (b <> 'AUTOINCREMENT WITHOUT ROWID'))",
        {"a"});
}

TEST_CASE("C3: tables of SQLite's own and of ours are refused") {
    Lab lab;
    lab.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE TABLE aftertouch_mine (a INTEGER "
            "PRIMARY KEY);"
            "CREATE TABLE s (a INTEGER PRIMARY KEY AUTOINCREMENT)");
    lab.install(capture_of("t", {"a", "b"}, {"a"}));
    CHECK_THROWS_SAYING(lab.install(capture_of("aftertouch_log", {"seq"}, {"seq"})), at::Error,
        "aftertouch_log can't be captured, since it is part of the log of changes: capture a table "
        "of your own, or give yours another name");
    CHECK_THROWS_SAYING(lab.install(capture_of("Aftertouch_Mine", {"a"}, {"a"})), at::Error,
        "is part of the log of changes");
    CHECK_THROWS_SAYING(lab.install(capture_of("sqlite_sequence", {"name", "seq"}, {"name"})),
        at::Error, "sqlite_sequence can't be captured, since it is part of SQLite itself");
}

TEST_CASE("key_folds says how the database compares a key") {
    Lab lab;
    lab.run("CREATE TABLE t (a TEXT COLLATE nocase, b TEXT COLLATE RTRIM, c, PRIMARY KEY (a, b, "
            "c)) WITHOUT ROWID");
    CHECK(lab.key_folds(capture_of("t", {"a", "b", "c"}, {"c", "a", "b"})) ==
          std::vector{at::KeyFold::exact, at::KeyFold::ascii_case, at::KeyFold::trailing_spaces});
}
