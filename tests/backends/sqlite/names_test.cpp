// SPDX-License-Identifier: MIT
#include <support/captured.hpp>
#include <support/catch.hpp>

// C8: names of every kind, through install, capture and removal.

namespace at = aftertouch;
using Catch::Matchers::ContainsSubstring;
using test::capture_of;
using test::Lab;

namespace {

const std::vector<std::string>& hostile_names() {
    static const std::vector<std::string> names{"order", "select", "new", "old", "NEW", "Old",
        "table", "index", "rowid", "oid", "_rowid_", "main", "temp", "excluded", "raise", "a b",
        " ", "a.b", "a\"b", "\"", "\"\"", "'", "it's", "`", "[x]", "]", "a;b",
        "x\"; DROP TABLE keep; --", "x'); DROP TABLE keep; --", "--", "/*", "*/", "/* x */", "a--b",
        "\n", "a\nb", "\t", "$1", "?", ":a", "@x", "%s", "100%", "\\", "a\\\"b", "0", "9to5", "1e5",
        "x'00'", "NULL", "TRUE", "CURRENT_TIME", "julianday", "last_insert_rowid", "seq", "capture",
        "operation", "at", "origin", "k1", "b1", "a1", "aftertouch_row", "Ünï cödé", "表", "𝄞",
        "e\xcc\x81", "\xc3\xa9", "\xe2\x80\x8f", "\xef\xbb\xbf", "WITHOUT ROWID", "AUTOINCREMENT",
        "AS (x)", "GENERATED", "COLLATE NOCASE", "a,b", "(", ")", "(a", "a)", "WHERE", "ON",
        std::string(300, 'n'), std::string(255, '"')};
    return names;
}

// A capture, with the things that its guards may need, between tables called like everything.
void check_name(const std::string& table, const std::string& key, const std::string& unique,
    const std::string& other) {
    Lab lab;
    const std::string t = at::quoted(table);
    const std::string u = at::quoted(unique);
    const std::string o = at::quoted(other);
    lab.run("CREATE TABLE keep (x); CREATE TABLE " + t + " (" + at::quoted(key) +
            " TEXT PRIMARY KEY NOT NULL, " + u + " UNIQUE, " + o +
            " COLLATE NOCASE); CREATE UNIQUE INDEX one ON " + t + " (lower(" + u + ") || " + o +
            " COLLATE RTRIM, " + o + ") WHERE " + o + " IS NOT NULL; CREATE UNIQUE INDEX two ON " +
            t + " ((" + u + " = " + o + "), " + o + ");");
    const std::string before =
        lab.text("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2");
    const at::Capture capture = capture_of(table, {key, unique, other}, {key}, true);
    lab.install(capture);
    REQUIRE(lab.differences(capture) == "");
    lab.run("INSERT INTO " + t + " VALUES ('a', 1, 'p'), ('b', 2, 'q'), ('c', 3, NULL)");
    for (const std::string& sql : {"REPLACE INTO " + t + " VALUES ('d', 1, 'z')",
             "UPDATE OR REPLACE " + t + " SET " + o + " = 'Q', " + u + " = 2 WHERE " + u + " = 3",
             "UPDATE " + t + " SET " + at::quoted(key) + " = 'e' WHERE " + u + " = 1",
             "REPLACE INTO " + t + " (rowid, " + at::quoted(key) +
                 ") SELECT min(rowid), 'f' FROM " + t}) {
        INFO(sql);
        CHECK(lab.escaped(capture, sql) == "");
    }
    lab.remove(capture);
    CHECK(lab.text("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name <> "
                   "'sqlite_sequence' ORDER BY 1, 2") == before);
}

} // namespace

TEST_CASE("C8: tables and columns of every name are captured, and nothing else is made or lost") {
    for (const std::string& name : hostile_names()) {
        INFO(name);
        const bool ours = name.starts_with("aftertouch_"); // tables of such names are refused
        check_name(ours ? "other t" : name, "k", "u", "o");
        check_name("t", name, "other u", "other o");
        check_name("t", "other k", name, "other o");
        check_name(ours ? "other t" : name, name, name + "2", name + "3");
    }
}

TEST_CASE("C8: captures of every name have triggers of their own") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE)");
    const std::string before = lab.text("SELECT * FROM sqlite_schema");
    std::vector<at::Capture> captures;
    for (const std::string& name : hostile_names()) {
        at::Capture capture = capture_of("t", {"id", "u"}, {"id"});
        capture.name = name;
        const bool taken =
            std::any_of(captures.begin(), captures.end(), [&](const at::Capture& other) {
                return at::sqlite::detail::same_name(other.name, name);
            });
        if (taken) { continue; }
        lab.install(capture);
        captures.push_back(std::move(capture));
    }
    lab.run("INSERT INTO t VALUES (1, 'a'); UPDATE t SET u = 'b';");
    for (const at::Capture& capture : captures) {
        INFO(capture.name);
        CHECK(lab.log(capture) == "I(1) U(1)");
        CHECK(lab.differences(capture) == "");
    }
    for (const at::Capture& capture : captures) { lab.remove(capture); }
    CHECK(lab.text("SELECT * FROM sqlite_schema WHERE name <> 'sqlite_sequence'") == before);
}

TEST_CASE("C8: no two captures have a trigger's name in common") {
    std::set<std::string> names;
    std::size_t count = 0;
    for (const char* name : {"t", "t_insert", "t_insert_guard", "t_before", "t_update", "t_guard",
             "t_insert_guard_guard", "t_rekey", "t_low"}) {
        at::Capture capture;
        capture.name = name;
        for (const std::string_view moment : at::sqlite::trigger_moments) {
            names.insert(at::sqlite::trigger_name(capture, moment));
            ++count;
        }
    }
    CHECK(names.size() == count);
}

TEST_CASE("C7: captures whose names differ in case only are one to SQLite, and refused") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u)");
    at::Capture capture = capture_of("t", {"id", "u"}, {"id"});
    lab.install(capture);
    capture.name = "T";
    CHECK_THROWS_SAYING(lab.install(capture), at::Error,
        "the database in memory has a capture t, and this program's T differs from it "
        "in case only, which SQLite's names don't tell apart: name one of the two otherwise with "
        "named()");
}

TEST_CASE("C7: two programs that declare one capture otherwise are told, and neither wins") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u)");
    const at::Capture mine = capture_of("t", {"id", "u"}, {"id"}, true);
    lab.install(mine);
    const std::string schema = lab.text("SELECT * FROM sqlite_schema");
    at::Capture other = mine;
    other.imaged = {0};
    for (const at::Schema mode : {at::Schema::automatic, at::Schema::verify}) {
        CHECK_THROWS_SAYING(lab.install(other, mode), at::Error,
            "the database in memory has a capture t_images declared as [table \"t\" key "
            "\"id\" operations insert,update,delete images \"id\" \"u\"], and this program "
            "declares it as [table \"t\" key \"id\" operations "
            "insert,update,delete images \"id\"]: name one of the two with named(), or remove() "
            "the old one if no program uses it any more");
    }
    CHECK(lab.text("SELECT * FROM sqlite_schema") == schema);
    CHECK(lab.differences(mine) == "");
}

TEST_CASE("C8: names that SQL text can't carry are refused") {
    for (const std::string& name : {std::string{}, std::string{"a\0b", 3}, std::string{"\xff"},
             std::string{"\xc3"}, std::string{"\xed\xa0\x80"}}) {
        Lab lab;
        lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u)");
        at::Capture capture = capture_of("t", {"id", "u"}, {"id"});
        capture.name = name;
        if (!name.empty()) { CHECK_THROWS_AS(lab.install(capture), at::Error); }
        CHECK_THROWS_AS(lab.install(capture_of(name, {"id", "u"}, {"id"})), at::Error);
        CHECK_THROWS_AS(lab.install(capture_of("t", {"id", name}, {"id"})), at::Error);
        CHECK(lab.text("SELECT name FROM sqlite_schema") == "'t'");
    }
}
