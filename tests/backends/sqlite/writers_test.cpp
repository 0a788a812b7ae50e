// SPDX-License-Identifier: MIT
#include <support/captured.hpp>
#include <support/catch.hpp>

// C2: what a writer sees of its own statements is what it saw before the table was captured.

namespace at = aftertouch;
using test::capture_of;
using test::Lab;
using test::see;

namespace {

// The same database twice, captured once.
struct Twins {
    explicit Twins(const std::string& schema) {
        plain.run(schema);
        captured.run(schema);
    }

    void install(const at::Capture& capture) {
        captured.install(capture);
        // What install itself inserted is no writer's business.
        for (Lab* lab : {&plain, &captured}) {
            lab->run("CREATE TEMP TABLE IF NOT EXISTS reset (x); DELETE FROM reset");
            sqlite3_set_last_insert_rowid(lab->native(), 0);
        }
    }

    void check(const std::string& sql) {
        INFO(sql);
        CHECK(see(captured.native(), sql) == see(plain.native(), sql));
        for (const test::Row& named :
            plain.rows("SELECT name FROM sqlite_schema WHERE type = 'table' "
                       "AND name NOT LIKE 'sqlite%'")) {
            const std::string rows = "SELECT * FROM " + at::quoted(named[0].cell().bytes());
            CHECK(captured.text(rows) == plain.text(rows));
        }
    }

    Lab plain;
    Lab captured;
};

} // namespace

TEST_CASE("C2: results, errors, changes() and last_insert_rowid() are as without capture") {
    const bool images = GENERATE(false, true);
    const bool recursive = GENERATE(false, true);
    Twins twins{
        "PRAGMA foreign_keys = on; CREATE TABLE p (id INTEGER PRIMARY KEY);"
        "INSERT INTO p VALUES (1),(2),(3);"
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, u TEXT UNIQUE COLLATE NOCASE,"
        " n INTEGER NOT NULL DEFAULT 5 CHECK (n > 0), p REFERENCES p ON DELETE CASCADE,"
        " g AS (u || n) UNIQUE); CREATE UNIQUE INDEX e ON t (n % 7, p) WHERE n <> '3';"
        "INSERT INTO t (id, u, n, p) VALUES (10,'a',1,1),(20,'b',2,2);"};
    if (recursive) {
        twins.plain.run("PRAGMA recursive_triggers = on");
        twins.captured.run("PRAGMA recursive_triggers = on");
    }
    twins.install(capture_of("t", {"id", "u", "n", "p", "g"}, {"id"}, images));
    twins.install(capture_of("p", {"id"}, {"id"}, !images));
    for (const char* sql :
        {"INSERT INTO t (u, p) VALUES ('c', 3)",
            "INSERT INTO t (u, n) VALUES ('d', 9),('e', 10) RETURNING id, g",
            "SELECT last_insert_rowid(), changes()", "INSERT INTO t (u) VALUES ('A')",
            "INSERT OR IGNORE INTO t (u) VALUES ('A')",
            "INSERT OR FAIL INTO t (u, n) VALUES ('f', 11),('A', 12)",
            "SELECT last_insert_rowid(), changes()",
            "REPLACE INTO t (u, n) VALUES ('A', NULL) RETURNING *",
            "INSERT INTO t (u, n) VALUES ('g', 0)", "INSERT INTO t VALUES ('x','y',1,1)",
            "UPDATE t SET n = n + 1 RETURNING id, n", "UPDATE OR REPLACE t SET u = 'b'",
            "UPDATE t SET id = id + 100", "UPDATE t SET nothing = 1",
            "INSERT INTO t (u) VALUES ('k') ON CONFLICT (u) DO UPDATE SET n = n + 1",
            "INSERT INTO t (u) VALUES ('k') ON CONFLICT (u) DO UPDATE SET n = 50 RETURNING n",
            "BEGIN", "DELETE FROM p WHERE id = 2", "INSERT OR ROLLBACK INTO t (u) VALUES ('k')",
            "COMMIT", "DELETE FROM p", "SELECT changes()", "DELETE FROM t RETURNING id",
            "INSERT INTO t (u) VALUES ('z')", "SELECT seq FROM sqlite_sequence WHERE name = 't'"}) {
        twins.check(sql);
    }
}

// A table with any trigger checks such a key after the insertion, not before.
TEST_CASE("C2, an exception: last_insert_rowid() after an insertion that failed on a foreign key") {
    Twins twins{
        "PRAGMA foreign_keys = on; CREATE TABLE p (id INTEGER PRIMARY KEY);"
        "CREATE TABLE t (id INTEGER PRIMARY KEY, p REFERENCES p); INSERT INTO t VALUES (1, NULL)"};
    twins.install(capture_of("t", {"id", "p"}, {"id"}));
    const std::string sql = "INSERT INTO t VALUES (5, 99)";
    const test::Seen captured = see(twins.captured.native(), sql);
    test::Seen plain = see(twins.plain.native(), sql);
    CHECK(plain.last_insert_rowid == 0);
    plain.last_insert_rowid = 5;
    CHECK(captured == plain);
    twins.plain.run("CREATE TRIGGER any_other AFTER INSERT ON t BEGIN SELECT 1; END");
    CHECK(captured == see(twins.plain.native(), sql));
}

TEST_CASE("C2: a STRICT table's generated columns don't fail an update of something else") {
    const bool images = GENERATE(false, true);
    Lab lab;
    lab.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER NOT NULL UNIQUE, a TEXT, v ANY UNIQUE,"
        " g INTEGER AS (hex(a)) STORED) STRICT; INSERT INTO t VALUES (1,1,'3',0)");
    const at::Capture capture = capture_of("t", {"k", "v"}, {"k"}, images);
    lab.install(capture);
    for (const char* sql : {"UPDATE t SET v = 'x'", "UPDATE t SET id = 2", "UPDATE t SET k = 5"}) {
        INFO(sql);
        CHECK(lab.escaped(capture, sql) == "");
        CHECK(lab.last_code() == SQLITE_OK);
    }
}

TEST_CASE("C2: a writer inside triggers of its own sees what it saw before") {
    Twins twins{
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v); CREATE TABLE seen (what, a, b);"
        "CREATE TRIGGER one AFTER INSERT ON t BEGIN"
        " INSERT INTO seen VALUES ('insert', last_insert_rowid(), changes()); END;"
        "CREATE TRIGGER two AFTER UPDATE ON t BEGIN INSERT INTO t (v) VALUES (NEW.v);"
        " INSERT INTO seen VALUES ('update', last_insert_rowid(), changes()); END;"
        "CREATE VIEW w AS SELECT * FROM t; CREATE TRIGGER three INSTEAD OF INSERT ON w BEGIN"
        " INSERT INTO t VALUES (NEW.id, NEW.v); INSERT INTO seen VALUES ('view', "
        "last_insert_rowid(), changes()); END;"};
    twins.install(capture_of("t", {"id", "v"}, {"id"}, true));
    for (const char* sql : {"INSERT INTO t VALUES (5,'a'),(7,'b')", "UPDATE t SET v = 'c'",
             "INSERT INTO w VALUES (50,'d')", "SELECT last_insert_rowid(), changes()"}) {
        twins.check(sql);
    }
}

TEST_CASE("C2: a table of 2,000 columns is written as before, with its images") {
    const bool images = GENERATE(false, true);
    std::string columns = "c0 INTEGER PRIMARY KEY";
    std::vector<std::string> names{"c0"};
    for (int i = 1; i < 2000; ++i) {
        names.push_back("c" + std::to_string(i));
        columns += ", c" + std::to_string(i) + (i == 1999 ? " UNIQUE" : "");
    }
    Lab lab;
    lab.run("CREATE TABLE t (" + columns + ")");
    const at::Capture capture = capture_of("t", names, {"c0"}, images);
    lab.install(capture);
    CHECK(lab.differences(capture) == "");
    std::string values = "1";
    for (int i = 1; i < 2000; ++i) { values += ", " + std::to_string(i); }
    CHECK(lab.escaped(capture, "INSERT INTO t VALUES (" + values + ")") == "");
    CHECK(lab.escaped(capture, "UPDATE t SET c900 = 'x', c1998 = 'y'") == "");
    CHECK(lab.escaped(capture, "REPLACE INTO t (c0, c1999) VALUES (2, 1999)") == "");
    CHECK(lab.last_code() == SQLITE_OK);
    CHECK(lab.text("SELECT c0 FROM t") == "2");
    if (images) {
        CHECK(lab.text("SELECT b1, a1 FROM aftertouch_image_1_2 WHERE seq = 2") == "900,'x'");
        CHECK(lab.text("SELECT b199, a199, a200 FROM aftertouch_image_1_3 WHERE seq = 2") ==
              "1998,'y',1999");
        CHECK(lab.text("SELECT count(*) FROM pragma_table_info('aftertouch_image_1_3')") == "401");
    }
    lab.remove(capture);
    CHECK(lab.text("SELECT name FROM sqlite_schema WHERE name LIKE 'aftertouch%'") == "");
}

TEST_CASE("C2: two captures on one table don't meet") {
    Lab lab;
    lab.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES (1,'a'),(2,'b');");
    const at::Capture touches = capture_of("t", {"id", "u"}, {"id"});
    const at::Capture images = capture_of("t", {"id", "u"}, {"id"}, true);
    at::Capture made = touches;
    made.name = "t_before"; // once, its "insert" was the other's "before_insert"
    made.operations = at::inserts;
    const at::Capture insertions = made;
    for (const at::Capture* capture : {&touches, &images, &insertions}) { lab.install(*capture); }
    for (const at::Capture* capture : {&touches, &images, &insertions}) {
        CHECK(lab.differences(*capture) == "");
    }
    lab.run("UPDATE t SET u = 'c' WHERE id = 1; REPLACE INTO t VALUES (3,'b'); DELETE FROM t WHERE "
            "id = 1;");
    CHECK(lab.log(touches) == "U(1) T(2) I(3) D(1)");
    CHECK(lab.log(images).find("U(1)") != std::string::npos);
    CHECK(lab.log(insertions) == "I(3)");
    lab.remove(images);
    CHECK(lab.differences(touches) == "");
    CHECK(lab.escaped(touches, "DELETE FROM t") == "");
    lab.remove(touches);
    lab.run("INSERT INTO t VALUES (5,'e')");
    CHECK(lab.log(insertions) == "I(3) I(5)");
    lab.remove(insertions);
    CHECK(lab.text("SELECT name FROM sqlite_schema WHERE name LIKE 'aftertouch%'") == "");
}

TEST_CASE("operations: only those that were asked for are captured, and key changes as updates") {
    Lab lab;
    lab.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES (1,'a'),(2,'b');");
    const auto with = [&](const char* name, at::Operations which) {
        at::Capture capture = capture_of("t", {"id", "u"}, {"id"});
        capture.name = name;
        capture.operations = which;
        lab.install(capture);
        return capture;
    };
    const at::Capture inserts = with("i", at::inserts);
    const at::Capture updates = with("u", at::updates);
    const at::Capture deletes = with("d", at::deletes);
    lab.run("INSERT INTO t VALUES (3,'c'); UPDATE t SET u = 'd' WHERE id = 3; UPDATE t SET id = 4 "
            "WHERE id = 3;"
            "REPLACE INTO t VALUES (5,'d'); DELETE FROM t WHERE id = 1;");
    CHECK(lab.log(inserts) == "I(3) I(5)");
    CHECK(lab.log(updates) == "U(3) D(3) I(4)");
    CHECK(lab.log(deletes) == "T(4) D(1)");
}
