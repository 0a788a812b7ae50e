// SPDX-License-Identifier: MIT
#include <filesystem>

#include <support/captured.hpp>
#include <support/catch.hpp>

// Other files, other connections, other settings; and the list of what no trigger can see.

namespace at = aftertouch;
using Catch::Matchers::ContainsSubstring;
using test::capture_of;
using test::Lab;

namespace {

// A file that is gone at the end, with what SQLite keeps beside it.
class File {
public:
    explicit File(const char* name) : path_{std::filesystem::temp_directory_path() / name} {
        erase();
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { erase(); }
    [[nodiscard]] std::string path() const { return path_.string(); }

private:
    void erase() const {
        for (const char* end : {"", "-wal", "-shm", "-journal"}) {
            std::filesystem::remove(path_.string() + end);
        }
    }
    std::filesystem::path path_;
};

constexpr const char* table = "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE);"
                              "INSERT INTO t VALUES (1,'a'),(2,'b');";

at::Capture capture_t(bool images = false) { return capture_of("t", {"id", "u"}, {"id"}, images); }

} // namespace

TEST_CASE("C3: a file attached under another name writes the log of its own file") {
    const File file{"aftertouch_attached.db"};
    Lab lab{file.path()};
    lab.run(table);
    const at::Capture capture = capture_t();
    lab.install(capture);
    Lab other;
    other.run(
        "CREATE TABLE t (id, u); CREATE TABLE aftertouch_log (x);"
        "ATTACH '" +
        file.path() +
        "' AS elsewhere;"
        "REPLACE INTO elsewhere.t VALUES (3,'a'); BEGIN; DELETE FROM elsewhere.t WHERE id = 2;");
    CHECK(other.attempt("DETACH elsewhere") == SQLITE_ERROR);
    other.run("COMMIT; DETACH elsewhere");
    CHECK(lab.log(capture) == "T(1) I(3) D(2)");
    CHECK(other.text("SELECT * FROM aftertouch_log") == "");
}

TEST_CASE("C3: an entity in an attached file has its log, and its triggers, in that file") {
    const File file{"aftertouch_entity_in_attached.db"};
    const at::sqlite::Options options{.on_open = [&](sqlite3* handle) {
        const std::string sql = "ATTACH '" + file.path() + "' AS \"the shop\"";
        REQUIRE(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    }};
    Lab lab{":memory:", options};
    lab.run("CREATE TABLE \"the shop\".t (a TEXT, b, c, d, e, u UNIQUE, PRIMARY KEY (a,b,c,d,e)) "
            "WITHOUT ROWID;"
            "CREATE UNIQUE INDEX \"the shop\".odd ON t ((u = c));");
    at::Capture capture =
        capture_of("t", {"a", "b", "c", "d", "e", "u"}, {"a", "b", "c", "d", "e"}, true);
    capture.table.name.schema = "the shop";
    CHECK_THROWS_SAYING(
        lab.install(capture, at::Schema::verify), at::Error, "aftertouch_log has no column k5");
    lab.install(capture);
    CHECK(lab.differences(capture) == "");
    CHECK(lab.escaped(capture, "INSERT INTO t VALUES (1,2,3,4,5,6)") == "");
    CHECK(lab.escaped(capture, "REPLACE INTO \"the shop\".t VALUES (2,2,3,4,5,6)") == "");
    CHECK(lab.text("SELECT name FROM main.sqlite_schema") == "");
    // Whoever opens the file itself declares the same capture.
    Lab inside{file.path()};
    at::Capture same = capture;
    same.table.name.schema.clear();
    CHECK_FALSE(inside.install(same));
    CHECK(inside.installed(same).log == lab.installed(capture).log);
    lab.remove(capture);
    CHECK(lab.text("SELECT name FROM \"the shop\".sqlite_schema WHERE type = 'table'") ==
          "'t' 'sqlite_sequence'");
}

TEST_CASE("C3: temporary tables and triggers don't divert a change") {
    const File file{"aftertouch_temporary.db"};
    Lab lab{file.path()};
    lab.run(table);
    const at::Capture capture = capture_t(true);
    lab.install(capture);
    Lab writer{file.path()};
    writer.run(
        "CREATE TEMP TABLE aftertouch_log (seq INTEGER PRIMARY KEY, capture, operation, at, k1);"
        "CREATE TEMP TABLE aftertouch_image_1 (seq, b1);"
        "CREATE TEMP TRIGGER mine AFTER INSERT ON main.t BEGIN SELECT 1; END;"
        "INSERT INTO main.t VALUES (3,'c'); UPDATE t SET u = 'd' WHERE id = 3;");
    CHECK(lab.log(capture) == "I(3) U(3)");
    CHECK(writer.text("SELECT * FROM temp.aftertouch_log") == "");
    CHECK(lab.differences(capture) == "");
}

TEST_CASE("C2: writers who trust no schema, and those who defend it, are captured") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE, v, g AS (lower(u)) UNIQUE);"
            "CREATE UNIQUE INDEX e ON t (upper(v)) WHERE v = 0 OR u = 1;"
            "INSERT INTO t VALUES (1,'a',0),(2,'b',1);");
    const at::Capture capture = capture_of("t", {"id", "u", "v"}, {"id"}, true);
    lab.install(capture);
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
    for (const char* sql :
        {"INSERT INTO t VALUES (3,x'00ff',NULL)", "REPLACE INTO t VALUES (4,'A',0)",
            "UPDATE t SET v = x'', u = 9e999", "DELETE FROM t"}) {
        INFO(sql);
        CHECK(lab.escaped(capture, sql) == "");
        CHECK((lab.last_code() == SQLITE_OK || lab.last_code() == SQLITE_CONSTRAINT));
    }
    CHECK(lab.attempt("PRAGMA writable_schema = on; DELETE FROM sqlite_schema") != SQLITE_OK);
}

TEST_CASE(
    "C2: an index over a function that the writer may not call fails no update of something else") {
    Lab lab;
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, nullptr);
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, doc TEXT, v); INSERT INTO t VALUES "
            "(1,'{\"x\":1}',0);"
            "CREATE UNIQUE INDEX e ON t (json_extract(doc, '$.x'));");
    const at::Capture capture = capture_of("t", {"id", "doc", "v"}, {"id"}, true);
    lab.install(capture);
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    CHECK(lab.escaped(capture, "UPDATE t SET v = 1") == "");
    CHECK(lab.last_code() == SQLITE_OK);
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, nullptr);
    CHECK(lab.escaped(capture, "REPLACE INTO t VALUES (2,'{\"x\":1}',5)") == "");
    CHECK(lab.last_code() == SQLITE_OK);
}

TEST_CASE("B41: no trigger of ours calls a JSON function") {
    Lab lab;
    lab.run(table);
    lab.install(capture_t(true));
    CHECK(lab.text("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%json%'") ==
          "");
}

TEST_CASE("P5: a backup over a live file takes table, log and images along") {
    const File file{"aftertouch_backup.db"};
    Lab lab;
    lab.run(table);
    const at::Capture capture = capture_t(true);
    lab.install(capture);
    lab.run("INSERT INTO t VALUES (3,'c')");
    Lab copy{file.path()};
    sqlite3_backup* backup = sqlite3_backup_init(copy.native(), "main", lab.native(), "main");
    REQUIRE(sqlite3_backup_step(backup, -1) == SQLITE_DONE);
    REQUIRE(sqlite3_backup_finish(backup) == SQLITE_OK);
    CHECK(copy.installed(capture).log == lab.installed(capture).log);
    CHECK(copy.differences(capture) == "");
    CHECK(copy.log(capture) == lab.log(capture));
    CHECK(copy.escaped(capture, "REPLACE INTO t VALUES (9,'a')") == "");
}

TEST_CASE("SQLite numbers changes in the order in which they are committed") {
    const File file{"aftertouch_order.db"};
    for (const char* mode : {"delete", "wal"}) {
        Lab a{file.path(), {.busy_timeout = std::chrono::milliseconds{0}}};
        a.run("PRAGMA journal_mode = " + std::string{mode});
        a.run("DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE)");
        const at::Capture capture = capture_t();
        a.install(capture);
        Lab b{file.path(), {.busy_timeout = std::chrono::milliseconds{0}}};
        const std::int64_t from = a.log_end(capture);
        a.run("BEGIN IMMEDIATE; INSERT INTO t VALUES (1,'a')");
        CHECK(b.attempt("INSERT INTO t VALUES (2,'b')") == SQLITE_BUSY);
        a.run("COMMIT");
        b.run("INSERT INTO t VALUES (2,'b')");
        a.run("INSERT INTO t VALUES (3,'c')");
        CHECK(b.log(capture, from) == "I(1) I(2) I(3)");
    }
}

TEST_CASE("a database in UTF-16 is captured") {
    Lab lab;
    lab.run(
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, u UNIQUE);");
    const at::Capture capture = capture_t(true);
    lab.install(capture);
    CHECK(lab.escaped(capture, "INSERT INTO t VALUES ('ä','€𝄞'),('b','c')") == "");
    CHECK(lab.escaped(capture, "REPLACE INTO t VALUES ('𝄞','€𝄞')") == "");
    CHECK(lab.log(capture) == "I('ä') I('b') T('ä') I('𝄞')");
}

// ---------------------------------------------------------------------- what can't be seen

TEST_CASE("not seen: triggers switched off, and blobs written in place") {
    Lab lab;
    lab.run(table);
    const at::Capture capture = capture_t();
    lab.install(capture);
    lab.run("INSERT INTO t VALUES (3,x'0000')");
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    CHECK(lab.escaped(capture, "UPDATE t SET u = 'z' WHERE id = 1") != "");
    sqlite3_db_config(lab.native(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);
    CHECK(lab.escaped(capture, "UPDATE t SET u = 'y' WHERE id = 1") == "");

    const std::int64_t from = lab.log_end(capture);
    lab.run("DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, u); INSERT INTO t VALUES "
            "(3,x'0000')");
    lab.install(capture);
    sqlite3_blob* blob = nullptr;
    REQUIRE(sqlite3_blob_open(lab.native(), "main", "t", "u", 3, 1, &blob) == SQLITE_OK);
    CHECK(sqlite3_blob_write(blob, "x", 1, 0) == SQLITE_OK);
    sqlite3_blob_close(blob);
    CHECK(lab.text("SELECT hex(u) FROM t") == "'7800'");
    CHECK(lab.log(capture, from) == "");
}
