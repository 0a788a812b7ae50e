// SPDX-License-Identifier: MIT
#include <support/captured.hpp>
#include <support/catch.hpp>

// What happens to the log itself, and to triggers beside ours.

namespace at = aftertouch;
using Catch::Matchers::ContainsSubstring;
using test::capture_of;
using test::Lab;

namespace {

at::Capture prepare(Lab& lab, bool images = false) {
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE, v);"
            "INSERT INTO t VALUES (1,'a',0),(2,'b',0);");
    at::Capture capture = capture_of("t", {"id", "u", "v"}, {"id"}, images);
    lab.install(capture);
    lab.run("UPDATE t SET v = 1");
    return capture;
}

} // namespace

TEST_CASE("B13: a log that was dropped is a new one when it comes back") {
    Lab lab;
    const at::Capture capture = prepare(lab, true);
    const at::sqlite::InstalledCapture before = lab.installed(capture);
    lab.run("DROP TABLE aftertouch_log");
    CHECK_THAT(lab.differences(capture),
        ContainsSubstring("aftertouch_log is missing: install the capture; aftertouch_image_1 has "
                          "images of changes that aren't in the log"));
    CHECK(lab.install(capture));
    CHECK(lab.differences(capture) == "");
    CHECK(lab.installed(capture).log_id != before.log_id);
    CHECK(lab.text("SELECT * FROM aftertouch_image_1") == "");
    CHECK(lab.escaped(capture, "INSERT OR ABORT INTO t VALUES (3,'c',0)") == "");
    CHECK(lab.last_code() == SQLITE_OK);
}

TEST_CASE("B13: everything of ours dropped and made anew is another log") {
    Lab lab;
    const at::Capture capture = prepare(lab, true);
    const at::sqlite::InstalledCapture before = lab.installed(capture);
    lab.remove(capture);
    lab.install(capture);
    CHECK(lab.installed(capture).log_id != before.log_id);
    CHECK(lab.installed(capture).log != before.log);
}

TEST_CASE("B47: a log without AUTOINCREMENT is refused") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    lab.run("DROP TABLE aftertouch_log; CREATE TABLE aftertouch_log (seq INTEGER PRIMARY KEY,"
            "capture, operation, at, origin, k1, k2, k3, k4);");
    const char* sentence =
        "the database in memory: aftertouch_log has no AUTOINCREMENT, so that numbers of changes "
        "could come twice: remove() the captures of this database and install them again";
    CHECK_THROWS_SAYING(lab.differences(capture), at::Error, sentence);
    CHECK_THROWS_SAYING(lab.install(capture), at::Error, sentence);
    lab.remove(capture);
    CHECK(lab.install(capture));
    CHECK(lab.escaped(capture, "UPDATE t SET v = 2") == "");
}

TEST_CASE("B19: a log with a constraint, a trigger or a unique index is refused") {
    struct Case {
        const char* sql;
        const char* sentence;
    };
    for (const Case& one :
        {Case{"DROP TABLE aftertouch_log; CREATE TABLE \"aftertouch_log\" (seq INTEGER PRIMARY KEY "
              "AUTOINCREMENT, capture NOT NULL, operation, at, origin, k1, k2, k3, k4)",
             "aftertouch_log isn't as it was made, so that writers could fail on it or changes "
             "be left out: remove() the captures of this database and install them again"},
            Case{"ALTER TABLE aftertouch_log ADD COLUMN note NOT NULL DEFAULT 1",
                "aftertouch_log isn't as it was made"},
            Case{"CREATE UNIQUE INDEX one ON aftertouch_log (capture, k1)",
                "unique index one on aftertouch_log could keep changes out of it, or make a writer "
                "fail: drop it"},
            Case{"CREATE TRIGGER \"the wake\" AFTER INSERT ON aftertouch_log BEGIN SELECT 1; END",
                "trigger the wake on aftertouch_log could keep changes out of it, or make a writer "
                "fail: drop it"}}) {
        Lab lab;
        const at::Capture capture = prepare(lab);
        lab.run(one.sql);
        CHECK_THROWS_SAYING(lab.differences(capture), at::Error, one.sentence);
    }
    Lab lab;
    const at::Capture capture = prepare(lab);
    lab.run("CREATE INDEX fine ON aftertouch_log (capture, seq)");
    CHECK(lab.differences(capture) == "");
}

TEST_CASE("B47: numbers that begin again are noticed, in the log and in the images") {
    Lab lab;
    const at::Capture capture = prepare(lab, true);
    const std::string log_id = lab.installed(capture).log_id;
    lab.run("UPDATE aftertouch_meta SET pruned_through = (SELECT max(seq) FROM aftertouch_log);"
            "DELETE FROM aftertouch_log; DELETE FROM aftertouch_image_1;");
    CHECK(lab.differences(capture) == "");
    lab.run("DELETE FROM sqlite_sequence; UPDATE t SET v = 3;");
    CHECK_THAT(lab.differences(capture),
        ContainsSubstring("the numbers of aftertouch_log have begun again below those that were "
                          "pruned: install the capture again"));
    CHECK(lab.lost(capture));
    lab.install(capture);
    CHECK(lab.installed(capture).log_id != log_id);

    lab.run("DELETE FROM aftertouch_log; DELETE FROM sqlite_sequence;");
    CHECK_THAT(lab.differences(capture),
        ContainsSubstring("aftertouch_image_1 has images of changes that aren't in the log"));
    lab.install(capture);
    CHECK(lab.text("SELECT * FROM aftertouch_image_1") == "");
}

TEST_CASE("P5: a log that was pruned up to its newest row goes on") {
    Lab lab;
    lab.run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    const at::Capture capture = capture_of("t", {"id"}, {"id"});
    lab.install(capture);
    lab.run("INSERT INTO t VALUES (1), (2); UPDATE aftertouch_meta SET pruned_through = 2;"
            "DELETE FROM aftertouch_log WHERE seq < 2");
    CHECK(lab.differences(capture) == "");
}

TEST_CASE("B47: a log that was emptied goes on counting") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    const std::int64_t end = lab.log_end(capture);
    lab.run("DELETE FROM aftertouch_log; UPDATE t SET v = 2 WHERE id = 1;");
    CHECK(lab.log_end(capture) == end + 1);
}

// A statement that fails under OR FAIL keeps what it logged, and SQLite doesn't count that in its
// sequence: were the log emptied then, the same numbers would come again.
TEST_CASE("B47: numbers of a statement that failed half-way don't come twice") {
    Lab lab;
    const at::Capture capture = prepare(lab, true);
    const at::Capture other = test::capture_of("s", {"id"}, {"id"});
    lab.run("CREATE TABLE s (id INTEGER PRIMARY KEY)");
    lab.install(other);
    lab.run("INSERT INTO s VALUES (1)");
    CHECK(lab.attempt("INSERT OR FAIL INTO t VALUES (5,'e',0),(6,'a',0)") == SQLITE_CONSTRAINT);
    const std::int64_t end = lab.log_end(capture);
    CHECK(lab.number("SELECT seq FROM sqlite_sequence WHERE name = 'aftertouch_log'") < end);
    CHECK(lab.number(at::sqlite::dialect::high_water("main")) == end);
    CHECK(lab.differences(capture) == "");
    lab.remove(capture);
    lab.run("INSERT INTO s VALUES (2)");
    CHECK(lab.log_end(other) > end);
    CHECK(lab.log(other) == "I(1) I(2)");
    CHECK(lab.text("SELECT capture, k1 FROM aftertouch_log ORDER BY seq") == "2,1 NULL,NULL 2,2");
    lab.install(capture);
    CHECK(lab.log(capture) == "");
}

TEST_CASE("B35: image tables of another form are made anew") {
    Lab lab;
    const at::Capture capture = prepare(lab, true);
    lab.run("DROP TABLE aftertouch_image_1; CREATE TABLE aftertouch_image_1 (seq INTEGER PRIMARY "
            "KEY, b1)");
    CHECK_THAT(
        lab.differences(capture), ContainsSubstring("aftertouch_image_1 isn't as it should be"));
    lab.install(capture);
    CHECK(lab.differences(capture) == "");
    CHECK(lab.escaped(capture, "UPDATE t SET v = 3") == "");
    CHECK(lab.last_code() == SQLITE_OK);
}

TEST_CASE("C3: a newer trigger that ends the statement for its row is noticed and overtaken") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    const std::string log = lab.installed(capture).log;
    lab.run("CREATE TRIGGER theirs AFTER UPDATE ON t BEGIN SELECT RAISE(IGNORE); END");
    CHECK(lab.escaped(capture, "UPDATE t SET v = 9 WHERE id = 1") != ""); // what is to be noticed
    CHECK_THAT(lab.differences(capture),
        ContainsSubstring("trigger aftertouch_t_update is older than trigger theirs, which runs "
                          "before it: install the capture again"));
    CHECK(lab.lost(capture));
    lab.install(capture);
    CHECK(lab.differences(capture) == "");
    CHECK(lab.installed(capture).log != log);
    CHECK(lab.escaped(capture, "UPDATE t SET v = 10 WHERE id = 1") == "");
    CHECK(lab.text("SELECT v FROM t WHERE id = 1") == "10");
    lab.run("VACUUM");
    CHECK(lab.differences(capture) == "");
}

TEST_CASE("C3: a newer trigger that can't end a statement costs no rebuild") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    const std::string log = lab.installed(capture).log;
    lab.run("CREATE TRIGGER before_is_fine BEFORE UPDATE ON t BEGIN SELECT RAISE(IGNORE) WHERE "
            "NEW.v = 5; END");
    CHECK(lab.differences(capture) == "");
    CHECK(lab.escaped(capture, "UPDATE t SET v = 5") == "");
    lab.run("CREATE TRIGGER theirs AFTER UPDATE OF v ON t WHEN NEW.u = 'a' BEGIN"
            " UPDATE t SET u = 'A' WHERE id = NEW.id; END");
    CHECK_THAT(lab.differences(capture), ContainsSubstring("is older than trigger theirs"));
    CHECK_FALSE(lab.lost(capture));
    lab.install(capture);
    CHECK(lab.installed(capture).log == log);
    // Ours are the newest now: the outer change is logged before the one that it causes.
    const at::Capture images = capture_of("t", {"id", "u", "v"}, {"id"}, true);
    lab.install(images);
    CHECK(lab.escaped(images, "UPDATE t SET v = 11 WHERE id = 1") == "");
    CHECK(lab.text("SELECT b2, a2 FROM aftertouch_image_2 ORDER BY seq") == "'a','a' 'a','A'");
    CHECK(lab.differences(capture) == "");
}

TEST_CASE("C3: triggers of theirs that write the table are captured, whatever they do") {
    Lab lab;
    const at::Capture capture = prepare(lab);
    lab.run(
        "CREATE TRIGGER one BEFORE INSERT ON t WHEN NEW.id > 10 BEGIN"
        " DELETE FROM t WHERE id = NEW.id - 10; INSERT OR REPLACE INTO t VALUES (NEW.id - 5, NEW.u "
        "|| 'x', 0); END;"
        "CREATE TRIGGER two AFTER DELETE ON t WHEN OLD.v = 0 BEGIN UPDATE t SET v = v + 1; END;");
    lab.install(capture);
    for (const char* sql : {"INSERT INTO t VALUES (11,'n',0)", "REPLACE INTO t VALUES (12,'bx',0)",
             "DELETE FROM t", "INSERT INTO t VALUES (1,'q',0),(11,'r',0)"}) {
        INFO(sql);
        CHECK(lab.escaped(capture, sql) == "");
    }
}
