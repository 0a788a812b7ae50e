// SPDX-License-Identifier: MIT
#include <support/captured.hpp>
#include <support/catch.hpp>

// Statements that change rows, one by one: captured, refused, or on the list of what can't be seen.

namespace at = aftertouch;
using test::capture_of;
using test::Lab;

namespace {

constexpr const char* simple = "CREATE TABLE t (id INTEGER PRIMARY KEY, v);"
                               "INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c');";

at::Capture simple_capture(bool images = false) {
    return capture_of("t", {"id", "v"}, {"id"}, images);
}

} // namespace

TEST_CASE("C3: plain statements are captured, each row once") {
    Lab lab;
    lab.run(simple);
    const at::Capture capture = simple_capture();
    lab.install(capture);
    lab.run(
        "INSERT INTO t VALUES (4,'d'),(5,'e'); UPDATE t SET v = 'x' WHERE id < 3;"
        "DELETE FROM t WHERE id = 5; INSERT INTO t SELECT id + 10, v FROM t WHERE id = 1;"
        "UPDATE t SET v = n.v FROM t AS n WHERE n.id = 2 AND t.id = 3;"
        "INSERT INTO t DEFAULT VALUES; WITH w AS (SELECT 2 AS id) DELETE FROM t WHERE id IN w;");
    CHECK(lab.log(capture) == "I(4) I(5) U(1) U(2) D(5) I(11) U(3) I(12) D(2)");
}

TEST_CASE("C3: an update that changes nothing is captured all the same") {
    Lab lab;
    lab.run(simple);
    const at::Capture capture = simple_capture();
    lab.install(capture);
    lab.run("UPDATE t SET v = v WHERE id = 1; UPDATE t SET v = 'x' WHERE id = 99;");
    CHECK(lab.log(capture) == "U(1)");
}

TEST_CASE("C3: DELETE without a condition is captured") {
    Lab lab;
    lab.run(simple);
    const at::Capture capture = simple_capture();
    lab.install(capture);
    CHECK(lab.escaped(capture, "DELETE FROM t") == "");
    CHECK(lab.log(capture) == "D(1) D(2) D(3)");
}

TEST_CASE("C3: an upsert is captured, and touches at most the row that it meets") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE, v);"
            "INSERT INTO t VALUES (1,'a',0),(2,'b',0);");
    const at::Capture capture = capture_of("t", {"id", "u", "v"}, {"id"});
    lab.install(capture);
    const auto check = [&](const char* sql, const char* logged) {
        INFO(sql);
        const std::int64_t from = lab.log_end(capture);
        CHECK(lab.escaped(capture, sql) == "");
        CHECK(lab.log(capture, from) == logged);
    };
    check("INSERT INTO t VALUES (1,'z',1) ON CONFLICT DO UPDATE SET v = excluded.v", "U(1)");
    check("INSERT INTO t VALUES (9,'b',1) ON CONFLICT (u) DO UPDATE SET v = 7", "T(2) U(2)");
    check("INSERT INTO t VALUES (9,'b',1) ON CONFLICT (u) DO UPDATE SET id = 8", "T(2) D(2) I(8)");
    check("INSERT INTO t VALUES (9,'b',1) ON CONFLICT DO NOTHING", "T(8)");
    check("INSERT OR IGNORE INTO t VALUES (1,'y',1)", "");
    check("INSERT OR IGNORE INTO t VALUES (9,'b',1)", "T(8)");
    check("INSERT OR REPLACE INTO t VALUES (9,'b',1) ON CONFLICT (id) DO UPDATE SET u = 'q'",
        "T(8) I(9)");
}

TEST_CASE("C2: no outer OR clause keeps a change out of the log, or overwrites one") {
    for (const char* clause :
        {"", "OR ABORT", "OR FAIL", "OR IGNORE", "OR REPLACE", "OR ROLLBACK"}) {
        for (const bool images : {false, true}) {
            Lab lab;
            lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE);"
                    "INSERT INTO t VALUES (1,'a'),(2,'b');");
            const at::Capture capture = capture_of("t", {"id", "u"}, {"id"}, images);
            lab.install(capture);
            lab.run("INSERT INTO t VALUES (3,'c')");
            const std::string first = lab.log(capture);
            INFO(clause << (images ? ", images" : ""));
            for (const char* statement : {"INSERT %s INTO t VALUES (4,'d'),(5,'e')",
                     "UPDATE %s t SET u = u || '!' WHERE id > 3", "INSERT %s INTO t VALUES (5,'z')",
                     "UPDATE %s t SET u = 'a' WHERE id > 1",
                     "INSERT %s INTO t VALUES (6,NULL),(7,'b')", "UPDATE %s t SET id = id + 1"}) {
                std::string sql = statement;
                sql.replace(sql.find("%s"), 2, clause);
                INFO(sql);
                CHECK(lab.escaped(capture, sql) == "");
            }
            CHECK(lab.log(capture).starts_with(first));
            CHECK(lab.number("SELECT count(DISTINCT seq) = count(*) FROM aftertouch_log") == 1);
        }
    }
}

TEST_CASE("C4: keys are swapped in one statement") {
    Lab lab;
    lab.run("CREATE TABLE t (k INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1,'a'),(2,'b');");
    const at::Capture capture = capture_of("t", {"k", "v"}, {"k"});
    lab.install(capture);
    CHECK(lab.escaped(capture, "UPDATE t SET k = -k; UPDATE t SET k = 3 + k;") == "");
    CHECK(lab.log(capture) == "D(1) I(-1) D(2) I(-2) D(-2) I(1) D(-1) I(2)");
}

TEST_CASE("C4: one part of a composite key changes") {
    Lab lab;
    lab.run("CREATE TABLE t (a, b, v, PRIMARY KEY (a, b)) WITHOUT ROWID;"
            "INSERT INTO t VALUES (1,'x',0),(2,'x',0);");
    const at::Capture capture = capture_of("t", {"a", "b", "v"}, {"b", "a"});
    lab.install(capture);
    CHECK(lab.escaped(capture, "UPDATE t SET b = b || a; UPDATE t SET v = 1") == "");
    CHECK(lab.log(capture) == "D('x',1) I('x1',1) D('x',2) I('x2',2) U('x1',1) U('x2',2)");
}

TEST_CASE("C3: a number that is used again is a deletion and an insertion") {
    Lab lab;
    lab.run(simple);
    const at::Capture capture = simple_capture();
    lab.install(capture);
    lab.run("DELETE FROM t WHERE id = 3; INSERT INTO t (v) VALUES ('new');");
    CHECK(lab.log(capture) == "D(3) I(3)");
}

TEST_CASE("C1: what is rolled back leaves nothing in the log") {
    Lab lab;
    lab.run(simple);
    const at::Capture capture = simple_capture(true);
    lab.install(capture);
    lab.run("BEGIN; INSERT INTO t VALUES (4,'d'); ROLLBACK;");
    lab.run("BEGIN; INSERT INTO t VALUES (5,'e'); SAVEPOINT a; DELETE FROM t; ROLLBACK TO a;"
            "UPDATE t SET v = 'z' WHERE id = 1; SAVEPOINT b; DELETE FROM t WHERE id = 2; RELEASE b;"
            "RELEASE a; COMMIT;");
    CHECK(lab.log(capture) == "I(5) U(1) D(2)");
    CHECK(lab.number("SELECT count(*) FROM aftertouch_image_1") == 3);
    // A statement that fails half-way is undone with what it logged; under OR FAIL both stay.
    CHECK(lab.escaped(capture, "INSERT INTO t SELECT 10 + id, v FROM t UNION ALL SELECT 5, 'e'") ==
          "");
    CHECK(lab.last_code() == SQLITE_CONSTRAINT);
    CHECK(lab.log(capture) == "I(5) U(1) D(2)");
    CHECK(lab.escaped(capture, "INSERT OR FAIL INTO t VALUES (20,'f'),(1,'g'),(21,'h')") == "");
    CHECK(lab.log(capture).find("I(20)") != std::string::npos);
    CHECK(lab.log(capture).find("I(21)") == std::string::npos);
    CHECK(lab.escaped(capture,
              "BEGIN; INSERT INTO t VALUES (30,'i'); INSERT OR ROLLBACK INTO t VALUES (1,'g')") ==
          "");
    CHECK(lab.log(capture).find("I(30)") == std::string::npos);
}

TEST_CASE("C3: foreign keys' actions are captured, also where REPLACE removed the parent") {
    for (const char* removal : {"DELETE FROM p WHERE id = 1", "REPLACE INTO p VALUES (9,'a')",
             "REPLACE INTO p VALUES (1,'z')", "UPDATE OR REPLACE p SET u = 'a' WHERE id = 2"}) {
        for (const char* action : {"CASCADE", "SET NULL", "SET DEFAULT"}) {
            Lab lab;
            lab.run("PRAGMA foreign_keys = on; CREATE TABLE p (id INTEGER PRIMARY KEY, u UNIQUE);"
                    "INSERT INTO p VALUES (1,'a'),(2,'b'),(7,'g');");
            lab.run("CREATE TABLE c (id INTEGER PRIMARY KEY, p DEFAULT 7 REFERENCES p ON DELETE " +
                    std::string{action} + "); INSERT INTO c VALUES (10,1),(11,2),(12,1);");
            const at::Capture capture = capture_of("c", {"id", "p"}, {"id"});
            lab.install(capture);
            INFO(removal << ", " << action);
            CHECK(lab.escaped(capture, removal) == "");
            CHECK(lab.log(capture) ==
                  (action == std::string_view{"CASCADE"} ? "D(10) D(12)" : "U(10) U(12)"));
        }
    }
}

TEST_CASE(
    "C3: a table that refers to itself, a cascade of updates, and keys that aren't enforced") {
    Lab lab;
    lab.run("PRAGMA foreign_keys = on; CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE,"
            "parent REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE);"
            "INSERT INTO t VALUES (1,'a',NULL),(2,'b',1),(3,'c',2),(4,'d',3);");
    const at::Capture capture = capture_of("t", {"id", "u", "parent"}, {"id"});
    lab.install(capture);
    CHECK(lab.escaped(capture, "UPDATE t SET id = 20 WHERE id = 2") == "");
    CHECK(lab.escaped(capture, "REPLACE INTO t VALUES (9,'a',NULL)") == "");
    CHECK(lab.text("SELECT id FROM t") == "9");
    const std::int64_t from = lab.log_end(capture);
    lab.run(
        "INSERT INTO t VALUES (10,'e',9); PRAGMA foreign_keys = off; DELETE FROM t WHERE id = 9");
    CHECK(lab.log(capture, from) == "I(10) D(9)");
}

TEST_CASE("C3: VACUUM, REINDEX and ANALYZE change nothing, and the log goes on") {
    Lab lab;
    lab.run(simple);
    const at::Capture capture = simple_capture(true);
    lab.install(capture);
    lab.run("UPDATE t SET v = 1");
    const std::string log = lab.log(capture);
    for (const char* sql : {"VACUUM", "REINDEX", "ANALYZE", "PRAGMA optimize"}) {
        CHECK(lab.escaped(capture, sql) == "");
        CHECK(lab.log(capture) == log);
        CHECK(lab.differences(capture) == "");
    }
    lab.run("DELETE FROM aftertouch_log; VACUUM; UPDATE t SET v = 2 WHERE id = 1;");
    CHECK(lab.text("SELECT seq FROM aftertouch_log") == "4");
}

TEST_CASE("C3: values that break a CHECK are captured where checks are off") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, v CHECK (v > 0));"
            "PRAGMA ignore_check_constraints = on;");
    const at::Capture capture = simple_capture();
    lab.install(capture);
    CHECK(lab.escaped(capture, "INSERT INTO t VALUES (1,-1)") == "");
    CHECK(lab.last_code() == SQLITE_OK);
}
