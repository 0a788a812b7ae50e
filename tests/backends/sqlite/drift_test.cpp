// SPDX-License-Identifier: MIT
#include <support/captured.hpp>
#include <support/catch.hpp>

// What happens to a schema after a capture was installed: found by verify, with its sentence, and
// mended by install.

namespace at = aftertouch;
using Catch::Matchers::ContainsSubstring;
using test::capture_of;
using test::Lab;

namespace {

at::Capture prepare(Lab& lab, bool images = false) {
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE, v);"
            "INSERT INTO t VALUES (1,'a',0),(2,'b',0);");
    at::Capture capture = capture_of("t", {"id", "u"}, {"id"}, images);
    lab.install(capture);
    REQUIRE(lab.differences(capture) == "");
    return capture;
}

// Install makes the database agree, and pipelines over it rebuild, since their log is another one.
void check_mended(Lab& lab, const at::Capture& capture, bool rebuild = true) {
    const std::string log = lab.installed(capture).log;
    CHECK(lab.install(capture));
    CHECK(lab.differences(capture) == "");
    CHECK_FALSE(lab.install(capture));
    CHECK((lab.installed(capture).log != log) == rebuild);
    CHECK(lab.escaped(capture, "UPDATE t SET u = u || '!'") == "");
    CHECK(lab.escaped(capture, "REPLACE INTO t (id, u) VALUES (90, 'a!')") == "");
}

} // namespace

TEST_CASE("C7: an installed capture is left alone") {
    Lab lab;
    const at::Capture capture = prepare(lab, true);
    const std::string schema = lab.text("SELECT * FROM sqlite_schema");
    const std::int64_t version = lab.number("PRAGMA schema_version");
    CHECK_FALSE(lab.install(capture));
    CHECK_FALSE(lab.install(capture, at::Schema::verify));
    CHECK_FALSE(lab.install(capture, at::Schema::none));
    CHECK(lab.text("SELECT * FROM sqlite_schema") == schema);
    CHECK(lab.number("PRAGMA schema_version") == version);
}

TEST_CASE("C7: verify changes nothing and names every difference") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE)");
    const at::Capture capture = capture_of("t", {"id", "u"}, {"id"}, true);
    const std::string schema = lab.text("SELECT * FROM sqlite_schema");
    CHECK_THROWS_SAYING(lab.install(capture, at::Schema::verify), at::Error,
        "the database in memory isn't as capture t_images needs it: aftertouch_meta is missing: "
        "install the capture; aftertouch_log is missing: install the capture; aftertouch_capture "
        "is "
        "missing: install the capture; aftertouch_checkpoint is missing: install the capture; "
        "aftertouch_dead_letter is missing: install the capture; aftertouch_lease is missing: "
        "install the capture; "
        "capture t_images isn't installed: install it; aftertouch_image_1 is missing: install the "
        "capture; trigger aftertouch_t_images_insert_guard is missing: install the capture "
        "again; ");
    CHECK(lab.text("SELECT * FROM sqlite_schema") == schema);
    CHECK_FALSE(lab.install(capture, at::Schema::none));
}

TEST_CASE("O3: a trigger that is gone, or another, is named and made anew") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    for (const std::string_view moment : at::sqlite::trigger_moments) {
        if (moment == "rowid_guard" || moment == "low") { continue; }
        const std::string name = at::sqlite::trigger_name(capture, moment);
        INFO(name);
        lab.run("DROP TRIGGER " + name);
        CHECK_THAT(lab.differences(capture), ContainsSubstring("trigger " + name + " is missing"));
        CHECK(lab.lost(capture));
        check_mended(lab, capture);
        lab.run("DROP TRIGGER " + name + "; CREATE TRIGGER " + name +
                " AFTER INSERT ON t BEGIN SELECT 1; END");
        CHECK_THAT(lab.differences(capture),
            ContainsSubstring("trigger " + name + " isn't as it should be"));
        check_mended(lab, capture);
        lab.run("UPDATE t SET u = 'a' WHERE id = 1; DELETE FROM t WHERE id > 2");
    }
}

TEST_CASE("O3, PT10: what says how soon changes are wanted is made anew without a rebuild") {
    Lab lab;
    at::Capture capture = prepare(lab);
    capture.name = "later";
    capture.low_priority = true;
    CHECK(lab.install(capture));
    for (const char* harm :
        {"DROP TRIGGER aftertouch_later_low", "DROP TABLE aftertouch_low_priority",
            "DROP TRIGGER aftertouch_later_low; CREATE TRIGGER aftertouch_later_low AFTER INSERT "
            "ON t BEGIN SELECT 1; END"}) {
        INFO(harm);
        lab.run(harm);
        CHECK_THAT(lab.differences(capture), ContainsSubstring("aftertouch_later_low"));
        CHECK_FALSE(lab.lost(capture));
        check_mended(lab, capture, false);
    }
}

TEST_CASE("O3: a trigger that was removed from the schema by hand is missed") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    lab.run("PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name = "
            "'aftertouch_t_delete'; PRAGMA writable_schema = reset;");
    CHECK_THAT(lab.differences(capture), ContainsSubstring("aftertouch_t_delete is missing"));
    check_mended(lab, capture);
}

TEST_CASE("B33: a table that was made anew is captured again, and rebuilt") {
    Lab lab;
    const at::Capture capture = prepare(lab, true);
    lab.run("CREATE TABLE n (id INTEGER PRIMARY KEY, u TEXT UNIQUE, more); BEGIN;"
            "INSERT INTO n SELECT id, u, v FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT;"
            "INSERT INTO t VALUES (3,'escaped',0);");
    CHECK_THAT(lab.differences(capture), ContainsSubstring("_insert is missing"));
    CHECK(lab.lost(capture));
    check_mended(lab, capture);
    // The other way round: the old table, with our triggers on it, steps aside.
    lab.run("ALTER TABLE t RENAME TO old; CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE);"
            "INSERT INTO t SELECT id, u FROM old;");
    CHECK_THAT(lab.differences(capture), ContainsSubstring("_insert isn't as it should be"));
    check_mended(lab, capture);
    const std::int64_t from = lab.log_end(capture);
    lab.run("UPDATE old SET u = NULL");
    CHECK(lab.log(capture, from) == "");
}

TEST_CASE("C3: a table or column that is gone is named") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    lab.run("ALTER TABLE t RENAME TO other; UPDATE other SET v = 1 WHERE id = 1;");
    CHECK(lab.log(capture) == "U(1)");
    CHECK_THROWS_SAYING(lab.differences(capture), at::Error,
        "the database in memory: t doesn't exist: create the table first, or name another in "
        "EntityTraits");
    lab.run("ALTER TABLE other RENAME TO t");
    CHECK(lab.differences(capture) == "");
    lab.run("ALTER TABLE t RENAME COLUMN u TO w; UPDATE t SET w = 'q' WHERE id = 2;");
    CHECK(lab.log(capture) == "U(1) U(2)");
    CHECK_THROWS_SAYING(lab.differences(capture), at::Error,
        "t has no column \"u\", which the struct has: add the column, name another in "
        "EntityTraits, or take the member out");
    lab.run("ALTER TABLE t RENAME COLUMN w TO u");
    CHECK(lab.differences(capture) == "");
    lab.run("DROP TABLE t");
    CHECK_THROWS_SAYING(lab.differences(capture), at::Error, "t doesn't exist");
    CHECK_THROWS_SAYING(lab.install(capture), at::Error, "t doesn't exist");
    lab.remove(capture);
    CHECK(lab.text("SELECT name FROM sqlite_schema WHERE name LIKE 'aftertouch%'") == "");
}

TEST_CASE("B32: columns come, change their names and go without failing a writer") {
    Lab lab;
    const at::Capture capture = prepare(lab, true);
    lab.run("ALTER TABLE t ADD COLUMN w DEFAULT 5; INSERT INTO t VALUES (3,'c',0,1);"
            "ALTER TABLE t RENAME COLUMN v TO x; UPDATE t SET x = 7, w = 8 WHERE id = 3;"
            "ALTER TABLE t DROP COLUMN x; DELETE FROM t WHERE id = 3;");
    CHECK(lab.log(capture) == "I(3) U(3) D(3)");
    CHECK(lab.differences(capture) == "");
    // A captured column can't be dropped, and what SQLite says names our trigger.
    CHECK(lab.attempt("CREATE TABLE s (id INTEGER PRIMARY KEY, v)") == SQLITE_OK);
    const at::Capture other = capture_of("s", {"id", "v"}, {"id"}, true);
    lab.install(other);
    CHECK(lab.attempt("ALTER TABLE s DROP COLUMN v") == SQLITE_ERROR);
    CHECK_THAT(sqlite3_errmsg(lab.native()), ContainsSubstring("aftertouch_s_images_"));
    CHECK(lab.escaped(other, "INSERT INTO s VALUES (1,2)") == "");
}

TEST_CASE("O3: a unique index that came later gets its guard") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    lab.run("CREATE UNIQUE INDEX later ON t (v) WHERE v <> 0");
    CHECK_THAT(lab.differences(capture), ContainsSubstring("_insert_guard isn't as it should be"));
    CHECK(lab.lost(capture));
    check_mended(lab, capture);
    lab.run("UPDATE t SET v = 5 WHERE id = 1");
    CHECK(lab.escaped(capture, "REPLACE INTO t VALUES (50,'zz',5)") == "");
    lab.run("DROP INDEX later");
    CHECK_THAT(lab.differences(capture), ContainsSubstring("_insert_guard isn't as it should be"));
    check_mended(lab, capture);
}

TEST_CASE("O3: an index that needs the row to come laid out, and then is dropped") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    lab.run("CREATE UNIQUE INDEX odd ON t (u || (u = v))");
    CHECK_THAT(lab.differences(capture), ContainsSubstring("aftertouch_row_1 is missing"));
    CHECK(lab.install(capture));
    CHECK(lab.differences(capture) == "");
    CHECK(lab.escaped(capture, "REPLACE INTO t VALUES (7,'a',0)") == "");
    lab.run("DROP INDEX odd");
    CHECK_THAT(lab.differences(capture), ContainsSubstring("aftertouch_row_1 is needed no more"));
    check_mended(lab, capture);
    CHECK(lab.text("SELECT name FROM sqlite_schema WHERE name = 'aftertouch_row_1'") == "");
}
