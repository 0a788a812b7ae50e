// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <support/catch.hpp>

#include "sample.hpp"

namespace at = aftertouch;

namespace {

// Tests run beside each other in one folder.
const std::string path = "applies-" + std::to_string(getpid()) + ".db";

// The shell runs a file of sql/sqlite as it lies.
bool run(const std::string& name) {
    const std::string file = std::string{AFTERTOUCH_SOURCE_DIR} + "/sql/sqlite/" + name;
    return std::system(("sqlite3 -bail " + path + " < '" + file + "' > /dev/null 2>&1").c_str()) ==
           0;
}

std::vector<std::string> schema() {
    at::sqlite::Database database{path};
    return database.query(at::type<std::string>,
        "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema "
        "WHERE name <> 'sqlite_sequence' ORDER BY 1");
}

class Files {
public:
    Files() { std::filesystem::remove(path); }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
    ~Files() { std::filesystem::remove(path); }
};

} // namespace

TEST_CASE("O4: the sqlite3 shell installs by file, and verify has nothing to say") {
    const Files files;
    REQUIRE(run("000_sample_table.sql"));
    REQUIRE(run("001_change_log.sql"));
    REQUIRE(run("capture_account.sql"));
    REQUIRE(run("capture_account_images.sql"));
    at::sqlite::Database database{path};
    CHECK(at::to_text(at::verify(database, sample::touch, sample::images)).empty());

    int changes = 0;
    at::Pipeline pipeline{sample::images,
        [&](const at::Batch<sample::Account>& batch) {
            changes += static_cast<int>(batch.changes().size());
        },
        database, {.name = "p", .schema = at::Schema::verify}};
    pipeline.drain();
    database.execute("INSERT INTO account VALUES (1, 'ada', 5, NULL), (2, 'bob', 6, 'x'); DELETE "
                     "FROM account WHERE id = 2");
    pipeline.drain();
    CHECK(changes == 3);
    CHECK(run("status.sql"));
    CHECK(run("prune.sql"));
    const auto left = [&](const std::string& table) {
        return database.query(at::type<std::int64_t>, "SELECT count(*) FROM " + table).front();
    };
    CHECK(left("aftertouch_log") != 0); // nobody follows the touches, and their rows are here too
    CHECK(left("aftertouch_image_2") == 0);
}

TEST_CASE("O5: releasing by file takes off what is ours and nothing else") {
    const Files files;
    REQUIRE(run("000_sample_table.sql"));
    const std::vector<std::string> before = schema();
    REQUIRE(run("001_change_log.sql"));
    REQUIRE(run("capture_account.sql"));
    const std::vector<std::string> with_touch = schema();
    REQUIRE(run("capture_account_images.sql"));
    CHECK(schema() != with_touch);
    REQUIRE(run("release_account_images.sql"));
    CHECK(schema() == with_touch);
    REQUIRE(run("remove.sql"));
    CHECK(schema() == before);
}

TEST_CASE("O5: a capture is released while another one stays") {
    const Files files;
    for (const char* file : {"000_sample_table.sql", "001_change_log.sql", "capture_account.sql",
             "capture_account_images.sql"}) {
        REQUIRE(run(file));
    }
    REQUIRE(run("release_account.sql"));
    at::sqlite::Database database{path};
    CHECK(at::verify(database, sample::images).empty());
    CHECK_FALSE(at::verify(database, sample::touch).empty());
}

TEST_CASE("C7: a script that is run twice fails whole, and changes nothing") {
    const Files files;
    for (const char* file : {"000_sample_table.sql", "001_change_log.sql", "capture_account.sql"}) {
        REQUIRE(run(file));
    }
    const std::vector<std::string> before = schema();
    CHECK_FALSE(run("capture_account.sql"));
    CHECK_FALSE(run("001_change_log.sql"));
    CHECK(schema() == before);
}
