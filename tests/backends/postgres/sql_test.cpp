// SPDX-License-Identifier: MIT
// O4, O5: the files of sql/postgres are what the backend would run, and psql runs them as they lie.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;

namespace sample {

struct Account {
    std::int64_t id = 0;
    std::string owner;
    double balance = 0;
    std::optional<std::string> note;
};

namespace {

constexpr std::string_view table = "CREATE TABLE account (id bigint PRIMARY KEY, owner text NOT "
                                   "NULL, balance double precision NOT "
                                   "NULL, note text)";

const auto touch = at::source<Account>();
const auto images =
    at::source<Account>().images().exclude<&Account::note>().named("account_images");
const auto low = at::source<Account>().low_priority().named("account_low");

const std::filesystem::path folder = std::filesystem::path{AFTERTOUCH_SOURCE_DIR} / "sql/postgres";

std::string content(const std::filesystem::path& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

std::string file(const at::Script& script) {
    return "-- Rendered by Aftertouch " + std::string{at::version} +
           " from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R "
           "'postgres.O4'\n\n" +
           script.text();
}

// A printed script is a transaction; its first part makes what all captures share.
std::map<std::string, std::string> split(const at::Script& whole) {
    at::Script shared;
    at::Script capture;
    bool declared = false;
    const auto& statements = whole.statements();
    for (std::size_t i = 1; i + 1 < statements.size(); ++i) {
        declared = declared || statements[i].sql.starts_with("INSERT INTO aftertouch.capture");
        (declared ? capture : shared).add(statements[i].comment, statements[i].sql);
    }
    const auto& begin = statements.front();
    return {{"001_change_log.sql", file(shared.in_transaction(begin.comment, begin.sql))},
        {"capture_account.sql", file(capture.in_transaction(begin.comment, begin.sql))}};
}

/// Every file of sql/postgres by its name.
std::map<std::string, std::string> rendered() {
    Shop shop;
    Database& database = shop.database;
    database.execute(table);
    at::Script sample_table;
    sample_table.add("The sample table that the other files are for.", std::string{table});
    std::map<std::string, std::string> files = split(at::install_script(database, touch));
    files["000_sample_table.sql"] = file(sample_table);
    at::install(database, touch);
    files["status.sql"] = file(at::status_script(database));
    files["prune.sql"] = file(at::prune_script(database));
    files["remove.sql"] = file(at::remove_script(database, touch));
    files["capture_account_images.sql"] = file(at::install_script(database, images));
    files["capture_account_low.sql"] = file(at::install_script(database, low));
    at::install(database, images);
    files["release_account_images.sql"] = file(at::remove_script(database, images));
    return files;
}

// psql runs a file of sql/postgres as it lies.
bool run(const Shop& shop, const std::string& name) {
    std::string host;
    std::string database;
    for (const auto& [keyword, value] : shop.place.parameters()) {
        if (keyword == "host") { host = value; }
        if (keyword == "dbname") { database = value; }
    }
    const std::string command = "psql -X -q -v ON_ERROR_STOP=1 -U postgres -h '" + host + "' -d '" +
                                database + "' -f '" + (folder / name).string() +
                                "' > /dev/null 2>&1";
    return std::system(command.c_str()) == 0;
}

} // namespace

// AFTERTOUCH_APPROVE=1 writes the files instead: the difference is for a person to read.
TEST_CASE("O4: sql/postgres is byte for byte what the backend would run") {
    const bool approve = std::getenv("AFTERTOUCH_APPROVE") != nullptr;
    if (approve) { std::filesystem::create_directories(folder); }
    std::set<std::string> expected;
    for (const auto& [name, text] : rendered()) {
        expected.insert(name);
        if (approve) { std::ofstream{folder / name, std::ios::binary} << text; }
        INFO(name);
        CHECK(content(folder / name) == text);
    }
    std::set<std::string> there;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        if (entry.path().filename() == "README.md") { continue; } // written by hand
        there.insert(entry.path().filename().string());
    }
    CHECK(there == expected);
}

TEST_CASE("O4: psql installs by file, and verify has nothing to say") {
    Shop shop;
    for (const char* name : {"000_sample_table.sql", "001_change_log.sql", "capture_account.sql",
             "capture_account_images.sql"}) {
        REQUIRE(run(shop, name));
    }
    Database& database = shop.database;
    CHECK(at::to_text(at::verify(database, touch, images)).empty());
    int changes = 0;
    at::Options options;
    options.name = "p";
    options.schema = at::Schema::verify;
    at::Pipeline pipeline{images,
        [&](const at::Batch<Account>& batch) {
            changes += static_cast<int>(batch.changes().size());
        },
        database, options};
    pipeline.drain();
    database.execute(
        "INSERT INTO account VALUES (1, 'ada', 5, NULL), (2, 'bob', 6, 'x'); DELETE FROM "
        "account WHERE id = 2");
    CHECK(run(shop, "status.sql"));
    pipeline.drain();
    CHECK(changes == 3);
    CHECK(run(shop, "status.sql"));
    CHECK(run(shop, "prune.sql"));
    CHECK(one<std::int64_t>(database, "SELECT count(*) FROM aftertouch.log") == 0);
    const std::string status = at::status_script(database).statements().front().sql;
    CHECK(
        one<std::int64_t>(database, "SELECT lag_records::bigint FROM (" + status + ") AS s") == 0);
}

TEST_CASE("O4, PT10: psql installs a capture that heeds priorities, and marks changes by hand") {
    Shop shop;
    for (const char* name : {"000_sample_table.sql", "001_change_log.sql", "capture_account.sql",
             "capture_account_low.sql"}) {
        REQUIRE(run(shop, name));
    }
    Database& database = shop.database;
    CHECK(at::to_text(at::verify(database, touch, low)).empty());
    at::Options options;
    options.name = "p";
    options.schema = at::Schema::verify;
    std::vector<std::int64_t> keys;
    at::Pipeline pipeline{low,
        [&](const at::Batch<Account>& batch) {
            keys.insert(keys.end(), batch.ids().begin(), batch.ids().end());
        },
        database, options};
    pipeline.drain();
    // Rows of one statement lie in the log one by one and as pods; both are marked.
    database.execute(
        "BEGIN; SET LOCAL aftertouch.priority = 'low'; INSERT INTO account SELECT i, "
        "'job', 0, NULL FROM generate_series(1, 1200) AS i; COMMIT; INSERT INTO account "
        "VALUES (2000, 'ada', 5, NULL)");
    const std::string status = at::status_script(database).statements().front().sql;
    CHECK(one<std::int64_t>(database, "SELECT lag_records::bigint FROM (" + status + ") AS s") ==
          1201);
    CHECK(one<std::int64_t>(database,
              "SELECT low_priority_lag_records::bigint FROM (" + status + ") AS s") == 1200);
    pipeline.drain();
    REQUIRE(keys.size() == 1201);
    CHECK(keys.front() == 2000);
    CHECK(one<std::int64_t>(
              database, "SELECT low_priority_lag_records::bigint FROM (" + status + ") AS s") == 0);
    CHECK(run(shop, "prune.sql"));
}

TEST_CASE("O5: releasing by file takes off what is ours") {
    Shop shop;
    for (const char* name : {"000_sample_table.sql", "001_change_log.sql", "capture_account.sql",
             "capture_account_images.sql", "release_account_images.sql", "remove.sql"}) {
        INFO(name);
        REQUIRE(run(shop, name));
    }
    CHECK(one<bool>(shop.database,
        "SELECT to_regnamespace('aftertouch') IS NULL AND NOT EXISTS (SELECT 1 "
        "FROM pg_trigger WHERE NOT tgisinternal)"));
}

TEST_CASE("C7: a script that is run twice fails whole, and changes nothing") {
    Shop shop;
    for (const char* name : {"000_sample_table.sql", "001_change_log.sql", "capture_account.sql"}) {
        REQUIRE(run(shop, name));
    }
    CHECK_FALSE(run(shop, "001_change_log.sql"));
    CHECK_FALSE(run(shop, "capture_account.sql"));
    CHECK(at::verify(shop.database, touch).empty());
}

} // namespace sample
