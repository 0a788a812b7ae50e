// SPDX-License-Identifier: MIT
#include <support/captured.hpp>
#include <support/catch.hpp>

namespace at = aftertouch;
using test::capture_of;
using test::Lab;

namespace {

// A table, the rows it begins with, and statements that displace rows by its unique indexes.
struct Shape {
    const char* name;
    const char* schema;
    std::vector<std::string> columns;
    std::vector<std::string> key;
    std::vector<const char*> statements;
};

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all{
        {"column",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, v);"
            "INSERT INTO t VALUES (1,'a',0),(2,'b',0),(3,'c',0),(-1,'m',0);",
            {"id", "u", "v"}, {"id"},
            {"INSERT OR REPLACE INTO t VALUES (9,'a',1)", "REPLACE INTO t VALUES (9,'a',1)",
                "INSERT OR REPLACE INTO t (u) VALUES ('m')",
                "REPLACE INTO t (u) VALUES ('a'),('b')",
                "UPDATE OR REPLACE t SET u = 'a' WHERE id = 2",
                "UPDATE OR REPLACE t SET u = 'a' WHERE id > 1",
                "UPDATE OR REPLACE t SET id = 1 WHERE id = 2",
                "UPDATE OR REPLACE t SET id = 1, u = 'c' WHERE id = 2",
                "UPDATE OR REPLACE t SET rowid = 1, u = 'c' WHERE id = 2",
                "INSERT OR REPLACE INTO t SELECT id + 1, u, v FROM t",
                "INSERT OR REPLACE INTO t VALUES (1,'b',1) RETURNING id"}},
        {"declared",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE ON CONFLICT REPLACE);"
            "INSERT INTO t VALUES (1,'a'),(2,'b');",
            {"id", "u"}, {"id"},
            {"INSERT INTO t VALUES (9,'a')", "UPDATE t SET u = 'a' WHERE id = 2",
                "INSERT OR IGNORE INTO t VALUES (9,'a')"}},
        {"nocase",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT);"
            "CREATE UNIQUE INDEX u ON t (u COLLATE NOCASE); INSERT INTO t VALUES (1,'a'),(2,'b');",
            {"id", "u"}, {"id"},
            {"REPLACE INTO t VALUES (9,'A')", "UPDATE OR REPLACE t SET u = 'A' WHERE id = 2"}},
        {"rtrim",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT COLLATE RTRIM UNIQUE);"
            "INSERT INTO t VALUES (1,'a'),(2,'b');",
            {"id", "u"}, {"id"},
            {"REPLACE INTO t VALUES (9,'a  ')", "UPDATE OR REPLACE t SET u = 'a ' WHERE id = 2"}},
        {"expression",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT, v);"
            "CREATE UNIQUE INDEX u ON t (lower(u) || coalesce(v, '') DESC, abs(v));"
            "INSERT INTO t VALUES (1,'a',1),(2,'b',1);",
            {"id", "u", "v"}, {"id"},
            {"REPLACE INTO t VALUES (9,'A',1)", "UPDATE OR REPLACE t SET u = 'A' WHERE id = 2"}},
        {"comparison",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT);"
            "CREATE UNIQUE INDEX u ON t ((u = 1)); INSERT INTO t VALUES (1,'1'),(2,'2');",
            {"id", "u"}, {"id"},
            {"REPLACE INTO t VALUES (9,'1')", "REPLACE INTO t VALUES (9,'3')",
                "UPDATE OR REPLACE t SET u = 1 WHERE id = 2"}},
        {"partial",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT, gone INTEGER);"
            "CREATE UNIQUE INDEX u ON t (u) WHERE gone = 0 AND u <> '';"
            "INSERT INTO t VALUES (1,'a',0),(2,'b',0),(3,'a',1);",
            {"id", "u", "gone"}, {"id"},
            {"REPLACE INTO t VALUES (9,'a',0)", "REPLACE INTO t VALUES (9,'a',1)",
                "UPDATE OR REPLACE t SET gone = 0 WHERE id = 3",
                "UPDATE OR REPLACE t SET u = 'a' WHERE id = 2"}},
        {"partial, other types",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT, gone TEXT);"
            "CREATE UNIQUE INDEX u ON t (u) WHERE gone = 0;"
            "INSERT INTO t VALUES (1,'a',0),(2,'b',0),(3,'a',1);",
            {"id", "u", "gone"}, {"id"},
            {"REPLACE INTO t VALUES (9,'a',0)", "UPDATE OR REPLACE t SET gone = 0 WHERE id = 3"}},
        {"rowid in a condition",
            "CREATE TABLE t (k TEXT PRIMARY KEY NOT NULL, u);"
            "CREATE UNIQUE INDEX u ON t (u) WHERE rowid > 1;"
            "INSERT INTO t VALUES ('a',1),('b',2),('c',3);",
            {"k", "u"}, {"k"}, {"REPLACE INTO t VALUES ('d',3)"}},
        {"several at once",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE, b UNIQUE, c, d, UNIQUE (c, d));"
            "INSERT INTO t VALUES (1,1,1,1,1),(2,2,2,2,2),(3,3,3,3,3),(4,4,4,4,4);",
            {"id", "a", "b", "c", "d"}, {"id"},
            {"REPLACE INTO t VALUES (9,1,2,3,3)", "REPLACE INTO t VALUES (4,1,2,3,3)",
                "UPDATE OR REPLACE t SET a = 1, b = 2, c = 3, d = 3 WHERE id = 4"}},
        {"a key that isn't the primary key",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT NOT NULL UNIQUE, u UNIQUE);"
            "INSERT INTO t VALUES (1,'a',1),(2,'b',2),(3,'c',3);",
            {"k", "u"}, {"k"},
            {"REPLACE INTO t VALUES (1,'z',9)", "REPLACE INTO t VALUES (9,'a',2)",
                "UPDATE OR REPLACE t SET id = 1 WHERE id = 2",
                "UPDATE OR REPLACE t SET rowid = 1 WHERE k = 'b'",
                "UPDATE OR REPLACE t SET k = 'a' WHERE k = 'b'"}},
        {"the number of a row without a column for it",
            "CREATE TABLE t (k TEXT PRIMARY KEY NOT NULL, rowid);"
            "INSERT INTO t (oid, k) VALUES (1,'a'),(2,'b'),(-1,'m');",
            {"k", "rowid"}, {"k"},
            {"REPLACE INTO t (oid, k) VALUES (1,'z')",
                "REPLACE INTO t (_rowid_, k) VALUES (-1,'z')",
                "UPDATE OR REPLACE t SET oid = 1 WHERE k = 'b'"}},
        {"a key of which the primary key is a part",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT NOT NULL, u UNIQUE, UNIQUE (k, id));"
            "INSERT INTO t VALUES (1,'a',1),(2,'b',2),(-1,'c',3);",
            {"id", "k", "u"}, {"k", "id"},
            {"REPLACE INTO t VALUES (1,'z',9)", "REPLACE INTO t (k, u) VALUES ('c',3)",
                "UPDATE OR REPLACE t SET id = 1 WHERE id = 2"}},
        {"without rowid",
            "CREATE TABLE t (a TEXT, b INTEGER, u UNIQUE, PRIMARY KEY (a, b)) WITHOUT ROWID;"
            "INSERT INTO t VALUES ('a',1,1),('a',2,2),('b',1,3);",
            {"a", "b", "u"}, {"a", "b"},
            {"REPLACE INTO t VALUES ('z',1,2)", "UPDATE OR REPLACE t SET u = 1 WHERE a = 'b'",
                "UPDATE OR REPLACE t SET b = 1, u = 3"}},
        {"generated",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT, g AS (a || b) UNIQUE,"
            "s TEXT AS (b || h) STORED UNIQUE, h AS (lower(a)));"
            "INSERT INTO t VALUES (1,'a','b'),(2,'c','d'),(3,'e','f');",
            {"id", "a", "b", "g"}, {"id"},
            {"REPLACE INTO t VALUES (9,'a','b')",
                "UPDATE OR REPLACE t SET a = 'a', b = 'b' WHERE id = 2",
                "REPLACE INTO t VALUES (2,'A','b')",
                "UPDATE OR REPLACE t SET a = 'ab', b = '' WHERE id > 1",
                "UPDATE OR REPLACE t SET b = 'b' WHERE id = 1",
                "UPDATE OR REPLACE t SET a = 'c', b = 'd'"}},
        {"one generated of two columns",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT, g AS (a || b) UNIQUE);"
            "INSERT INTO t VALUES (1,'a','x'),(2,'b','x');",
            {"id", "a", "b"}, {"id"}, {"UPDATE OR REPLACE t SET a = 'a' WHERE id = 2"}},
        {"computed from the number that a row will get",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v, g AS (id % 3) UNIQUE);"
            "INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c');",
            {"id", "v"}, {"id"},
            {"REPLACE INTO t (v) VALUES ('z')", "REPLACE INTO t (v) VALUES ('y'),('z')",
                "UPDATE OR REPLACE t SET id = 10 WHERE id = 3",
                "UPDATE OR REPLACE t SET rowid = 10 WHERE id = 3"}},
        {"an expression over the number that a row will get",
            "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, v);"
            "CREATE UNIQUE INDEX u ON t (id % 3);"
            "INSERT INTO t VALUES (7,'x'); DELETE FROM t; INSERT INTO t VALUES (1,'a'),(2,'b');",
            {"id", "v"}, {"id"},
            {"REPLACE INTO t (v) VALUES ('z')", "REPLACE INTO t (v) VALUES ('y'),('z')",
                "UPDATE OR REPLACE t SET oid = 4 WHERE id = 2"}},
        {"a default for NULL",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT 'd' UNIQUE,"
            "w TEXT NOT NULL DEFAULT word UNIQUE, n INTEGER NOT NULL DEFAULT '5');"
            "CREATE UNIQUE INDEX x ON t (lower(u) || n);"
            "INSERT INTO t VALUES (1,'d','word',5),(2,'b','b',6),(3,'c','c',7);",
            {"id", "u", "w", "n"}, {"id"},
            {"REPLACE INTO t VALUES (9,NULL,'x',6)", "REPLACE INTO t VALUES (9,'y',NULL,6)",
                "UPDATE OR REPLACE t SET u = NULL WHERE id = 2",
                "UPDATE OR REPLACE t SET u = 'D', n = NULL WHERE id = 3"}},
        {"a default that a trigger can't compute",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT (own_word('x')) "
            "UNIQUE);"
            "INSERT INTO t VALUES (1,own_word('x')),(2,'b');",
            {"id", "u"}, {"id"}, {"REPLACE INTO t VALUES (9,NULL)"}},
        {"a generated column over a default",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT '5',"
            "g AS (n * 2) UNIQUE); INSERT INTO t VALUES (1,5),(2,6);",
            {"id", "n"}, {"id"},
            {"REPLACE INTO t VALUES (9,NULL)", "UPDATE OR REPLACE t SET n = NULL WHERE id = 2"}},
        {"strict",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a ANY, u TEXT UNIQUE) STRICT;"
            "CREATE UNIQUE INDEX x ON t ((a < '5'), u); INSERT INTO t VALUES "
            "(1,1,'a'),(2,'2','b');",
            {"id", "a", "u"}, {"id"},
            {"REPLACE INTO t VALUES (9,1,'a')", "UPDATE OR REPLACE t SET u = 'a' WHERE id = 2"}},
        {"the primary key's other collation",
            "CREATE TABLE t (k TEXT NOT NULL, v, PRIMARY KEY (k COLLATE NOCASE));"
            "INSERT INTO t VALUES ('a',1),('b',2);",
            {"k", "v"}, {"k"},
            {"REPLACE INTO t VALUES ('A',3)", "UPDATE OR REPLACE t SET k = 'A' WHERE k = 'b'"}},
        {"blobs, numbers and texts",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE);"
            "INSERT INTO t VALUES (1,1),(2,'1'),(3,x'31'),(4,NULL),(5,9007199254740993),(6,0.1);",
            {"id", "u"}, {"id"},
            {"REPLACE INTO t VALUES (9,1.0)", "REPLACE INTO t VALUES (9,'1')",
                "REPLACE INTO t VALUES (9,x'31')", "REPLACE INTO t VALUES (9,NULL)",
                "REPLACE INTO t VALUES (9,9007199254740993)", "UPDATE OR REPLACE t SET u = 0.1"}},
    };
    return all;
}

void own_word(sqlite3_context* context, int, sqlite3_value**) {
    sqlite3_result_text(context, "own", -1, SQLITE_STATIC);
}

// Makes the shape's table in a fresh database and captures it.
at::Capture prepare(Lab& lab, const Shape& shape, bool images = false) {
    sqlite3_create_function(lab.native(), "own_word", 1,
        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr, own_word, nullptr, nullptr);
    lab.run(shape.schema);
    at::Capture capture = capture_of("t", shape.columns, shape.key, images);
    lab.install(capture);
    return capture;
}

} // namespace

TEST_CASE("C3: rows that REPLACE removes are touched, by every kind of unique index") {
    const bool recursive = GENERATE(false, true);
    const bool images = GENERATE(false, true);
    for (const Shape& shape : shapes()) {
        for (const char* statement : shape.statements) {
            Lab lab;
            const at::Capture capture = prepare(lab, shape, images);
            lab.run(
                recursive ? "PRAGMA recursive_triggers = on" : "PRAGMA recursive_triggers = off");
            INFO(shape.name << ": " << statement << (recursive ? " (recursive)" : ""));
            CHECK(lab.escaped(capture, statement) == "");
            CHECK(lab.last_code() == SQLITE_OK);
            CHECK(lab.differences(capture) == "");
        }
    }
}

// Were this not so, the test above would show nothing.
TEST_CASE("C3: without its guards, rows that REPLACE removes escape from every such table") {
    for (const Shape& shape : shapes()) {
        std::string escaped;
        for (const char* statement : shape.statements) {
            Lab lab;
            const at::Capture capture = prepare(lab, shape);
            for (const char* guard : {"insert_guard", "update_guard", "rowid_guard"}) {
                lab.run("DROP TRIGGER IF EXISTS aftertouch_t_" + std::string{guard});
            }
            escaped += lab.escaped(capture, statement);
            CHECK(lab.differences(capture) != "");
        }
        INFO(shape.name);
        CHECK(escaped != "");
    }
}

TEST_CASE("C3: a statement that is in nobody's way touches no other row") {
    Lab lab;
    lab.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, v, gone INTEGER, g AS (u || v));"
        "CREATE UNIQUE INDEX e ON t (lower(u)) WHERE gone = 0;"
        "CREATE UNIQUE INDEX g ON t (g);"
        "CREATE UNIQUE INDEX c ON t ((v = gone), u);");
    const at::Capture capture = capture_of("t", {"id", "u", "v", "gone"}, {"id"});
    lab.install(capture);
    lab.run("INSERT INTO t VALUES (1,'a',1,0),(2,'b',1,0); UPDATE t SET u = 'c' WHERE id = 1;"
            "UPDATE t SET v = 2; INSERT INTO t (u, v, gone) VALUES ('A',1,1);"
            "REPLACE INTO t VALUES (1,'d',1,0); DELETE FROM t;");
    CHECK(lab.log(capture) == "I(1) I(2) U(1) U(1) U(2) I(3) I(1) D(1) D(2) D(3)");
    CHECK(lab.number("SELECT count(*) FROM aftertouch_row_1") == 0);
}

TEST_CASE("C3: a guard finds its rows by the index") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, w TEXT COLLATE NOCASE UNIQUE,"
            "v, gone INTEGER); CREATE UNIQUE INDEX e ON t (lower(v));"
            "CREATE UNIQUE INDEX p ON t (v, gone) WHERE gone = 0;"
            "CREATE UNIQUE INDEX c ON t ((v = gone), v);");
    const at::Capture capture = capture_of("t", {"id", "u", "w", "v", "gone"}, {"id"});
    lab.install(capture);
    lab.run("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
            "INSERT INTO t SELECT i, i, i, i, 0 FROM n");
    // Steps through rows that no index led to; triggers count with the statement that fires them.
    const auto scanned = [&](const char* sql) {
        sqlite3_stmt* statement = nullptr;
        REQUIRE(sqlite3_prepare_v2(lab.native(), sql, -1, &statement, nullptr) == SQLITE_OK);
        CHECK(sqlite3_step(statement) == SQLITE_DONE);
        const int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0);
        sqlite3_finalize(statement);
        return steps;
    };
    CHECK(scanned("INSERT INTO t VALUES (2000,'a','b','c',0)") < 30);
    CHECK(scanned("UPDATE t SET u = 'd', w = 'e', v = 'f', gone = 1 WHERE id = 5") < 30);
    CHECK(scanned("UPDATE t SET v = 'g' WHERE gone = 1") >= 1000);
}

TEST_CASE("C2: a guard computes no term for a row that isn't in the index") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);"
            "CREATE UNIQUE INDEX u ON t (abs(n)) WHERE n > -100");
    lab.install(capture_of("t", {"id", "n"}, {"id"}, GENERATE(false, true)));
    CHECK(lab.attempt("INSERT INTO t VALUES (1, -9223372036854775808)") == SQLITE_OK);
    CHECK(lab.attempt("INSERT INTO t VALUES (2, 7)") == SQLITE_OK);
    CHECK(lab.attempt("UPDATE t SET n = -9223372036854775808 WHERE id = 2") == SQLITE_OK);
}

TEST_CASE("C3: a guard looks at indexes whose condition names the row's number") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a); CREATE UNIQUE INDEX u ON t (a) WHERE "
            "rowid > 5; INSERT INTO t VALUES (1, 1), (10, 1)");
    const at::Capture capture = capture_of("t", {"id", "a"}, {"id"}, GENERATE(false, true));
    lab.install(capture);
    CHECK(lab.escaped(capture, "UPDATE OR REPLACE t SET id = 11 WHERE id = 1") == "");
}

TEST_CASE("C3: a key that a BEFORE trigger of theirs changes, and no column list names") {
    Lab lab;
    lab.run("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, v); INSERT INTO t VALUES ('a', 1);"
            "CREATE TRIGGER usr BEFORE UPDATE OF v ON t WHEN OLD.id = 'a' BEGIN "
            "UPDATE t SET id = 'b' WHERE id = 'a'; END");
    const at::Capture capture = capture_of("t", {"id", "v"}, {"id"}, true);
    lab.install(capture);
    lab.run("UPDATE t SET v = 2 WHERE id = 'a'");
    CHECK(lab.text("SELECT a2 FROM aftertouch_image_1 ORDER BY seq DESC LIMIT 1") == "2");
}

TEST_CASE("C3: an index over nothing but generated columns is guarded") {
    Lab lab;
    lab.run(
        "CREATE TABLE t (g TEXT AS (1), id INTEGER PRIMARY KEY, v);"
        "CREATE UNIQUE INDEX u ON t (lower(g)) WHERE g IS NOT 2; INSERT INTO t VALUES (1, 'a')");
    const at::Capture capture = capture_of("t", {"id", "v"}, {"id"}, GENERATE(false, true));
    lab.install(capture);
    CHECK(lab.escaped(capture, "REPLACE INTO t VALUES (2, 'b')") == "");
    CHECK(lab.text("SELECT id FROM t") == "2");
}

TEST_CASE("C3: a guard isn't led astray by an index that finds every row") {
    Lab lab;
    lab.run("CREATE TABLE t (region TEXT NOT NULL, num INTEGER NOT NULL, bal INTEGER, email TEXT,"
            "PRIMARY KEY (region, num)) WITHOUT ROWID;"
            "CREATE UNIQUE INDEX e ON t (abs(bal), substr(email, 2), region DESC)");
    lab.install(capture_of("t", {"region", "num", "bal", "email"}, {"region", "num"}, true));
    lab.run("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
            "INSERT INTO t SELECT 'one', i, i, NULL FROM n");
    sqlite3_stmt* statement = nullptr;
    const char* sql = "UPDATE t SET bal = 7 WHERE region = 'one' AND num = 5";
    REQUIRE(sqlite3_prepare_v2(lab.native(), sql, -1, &statement, nullptr) == SQLITE_OK);
    CHECK(sqlite3_step(statement) == SQLITE_DONE);
    CHECK(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0) < 1000);
    sqlite3_finalize(statement);
}
