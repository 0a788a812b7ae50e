// SPDX-License-Identifier: MIT
#include <limits>

#include <support/captured.hpp>
#include <support/catch.hpp>

// C5: keys in the log.

namespace at = aftertouch;
using test::capture_of;
using test::Lab;

namespace {

// Keys as SQL, no two of them equal to SQLite in a column without a type.
const std::vector<const char*> distinct{"0", "1", "-1", "9223372036854775807",
    "-9223372036854775808", "9007199254740993", "9007199254740992.5", "0.1", "0.1 + 0.2", "0.3",
    "1e300", "9e999", "-9e999", "5e-324", "''", "'1'", "'0.1'", "'a'", "'A'", "'a '",
    "'a' || char(0)", "'a' || char(0) || 'b'", "'null'", "'NULL'", "'it''s'", "'\"'", "'a,b'",
    "'a:b'", "char(10)", "char(0)", "'ä'", "'a' || char(776)", "'𝄞'", "x''", "x'00'", "x'31'",
    "x'ff'", "x'6100'", "'1e300'"};

} // namespace

TEST_CASE("C5: keys of every storage class keep their class and their bytes") {
    const bool images = GENERATE(false, true);
    Lab lab;
    lab.run("CREATE TABLE t (k PRIMARY KEY, v) WITHOUT ROWID");
    const at::Capture capture = capture_of("t", {"k", "v"}, {"k"}, images);
    lab.install(capture);
    for (const char* key : distinct) {
        INFO(key);
        const std::int64_t from = lab.log_end(capture);
        CHECK(lab.escaped(capture, "INSERT INTO t VALUES (" + std::string{key} + ", 1)") == "");
        REQUIRE(lab.last_code() == SQLITE_OK);
        const auto logged = lab.log_rows(capture, from);
        REQUIRE(logged.size() == 1);
        CHECK(logged[0][1] == lab.rows("SELECT " + std::string{key}).at(0).at(0));
        CHECK(lab.escaped(capture, "UPDATE t SET v = 2 WHERE k IS " + std::string{key}) == "");
        CHECK(lab.number("SELECT changes()") == 1);
    }
    CHECK(lab.escaped(capture, "DELETE FROM t") == "");
    CHECK(lab.number("SELECT count(*) FROM aftertouch_log WHERE operation = 'D'") ==
          static_cast<std::int64_t>(distinct.size()));
}

TEST_CASE("B39: composite keys don't run into each other") {
    Lab lab;
    lab.run("CREATE TABLE t (a, b, c, d, e, f, v, PRIMARY KEY (a, b, c, d, e, f)) WITHOUT ROWID");
    const at::Capture capture =
        capture_of("t", {"a", "b", "c", "d", "e", "f", "v"}, {"f", "a", "b", "c", "d", "e"}, true);
    lab.install(capture);
    lab.run("INSERT INTO t VALUES "
            "('a','b:c','','d',1,x'',0),('a:b','c','','d',1,x'',0),('','a','b:c','d',1,x'',0),"
            "('a','b:c','d','',1,x'',0),('a','b:c','','d','1',x'',0),('a','b:c','','d',1,'',0)");
    std::set<std::string> forms;
    for (const test::Row& row : lab.log_rows(capture)) {
        std::string form;
        for (std::size_t i = 1; i < row.size(); ++i) { at::append_key_form(form, row[i]); }
        forms.insert(form);
    }
    CHECK(forms.size() == 6);
    CHECK(lab.escaped(capture, "UPDATE t SET c = 'x' WHERE f = ''") == "");
    CHECK(lab.escaped(capture, "UPDATE t SET v = 1") == "");
    CHECK(lab.escaped(capture, "DELETE FROM t") == "");
}

TEST_CASE("B40: keys that the database calls equal have one form") {
    struct Case {
        const char* type;
        const char* key;
        const char* same;
    };
    for (const Case& one : {Case{"", "1", "1.0"}, Case{"", "0", "-0.0"},
             Case{"", "9007199254740992", "9007199254740992.0"}, Case{"REAL", "1", "'1'"},
             Case{"INTEGER", "'1'", "1.0"}, Case{"NUMERIC", "'1e3'", "1000"},
             Case{"TEXT", "1", "'1'"}, Case{"TEXT COLLATE NOCASE", "'Ab'", "'aB'"},
             Case{"TEXT COLLATE NOCASE", "'ÄA'", "'Äa'"},
             Case{"TEXT COLLATE NOCASE", "'a' || char(0) || 'x'", "'A' || char(0) || 'y'"},
             Case{"TEXT COLLATE RTRIM", "'a'", "'a  '"}, Case{"TEXT COLLATE RTRIM", "''", "' '"}}) {
        Lab lab;
        INFO(one.type << ' ' << one.key << ' ' << one.same);
        lab.run("CREATE TABLE t (k " + std::string{one.type} + " NOT NULL PRIMARY KEY, v)");
        const at::Capture capture = capture_of("t", {"k", "v"}, {"k"});
        lab.install(capture);
        CHECK(lab.escaped(capture, "INSERT INTO t VALUES (" + std::string{one.key} + ", 1)") == "");
        CHECK(
            lab.escaped(capture, "INSERT INTO t VALUES (" + std::string{one.same} + ", 2)") == "");
        CHECK(lab.last_code() == SQLITE_CONSTRAINT);
        CHECK(
            lab.escaped(capture, "REPLACE INTO t VALUES (" + std::string{one.same} + ", 3)") == "");
        CHECK(lab.escaped(capture, "UPDATE t SET k = " + std::string{one.key} + ", v = 4") == "");
        std::set<std::string> forms;
        for (const test::Row& row : lab.log_rows(capture)) {
            std::string form;
            at::append_key_form(form, row[1], lab.key_folds(capture)[0]);
            forms.insert(form);
        }
        CHECK(forms.size() == 1);
    }
}

TEST_CASE("C5: a key changes by each of the names that an UPDATE may call it by") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, v)");
    const at::Capture capture = capture_of("t", {"id", "v"}, {"id"});
    lab.install(capture);
    lab.run("INSERT INTO t VALUES (1, 0); UPDATE t SET rowid = 2; UPDATE t SET OID = 3;"
            "UPDATE t SET (v, _rowid_) = (SELECT 1, 4); UPDATE t SET ID = 5, v = 2;"
            "INSERT INTO t VALUES (5, 0) ON CONFLICT (id) DO UPDATE SET rowid = 6;");
    CHECK(lab.log(capture) == "I(1) D(1) I(2) D(2) I(3) D(3) I(4) D(4) I(5) D(5) I(6)");
}

TEST_CASE("C5: a generated key changes without being named") {
    Lab lab;
    lab.run("CREATE TABLE t (a INTEGER, k INTEGER NOT NULL UNIQUE AS (a * 2))");
    const at::Capture capture = capture_of("t", {"a", "k"}, {"k"});
    lab.install(capture);
    lab.run("INSERT INTO t VALUES (1); UPDATE t SET a = 2; UPDATE t SET rowid = 9;");
    CHECK(lab.log(capture) == "I(2) D(2) I(4) U(4)");
}
