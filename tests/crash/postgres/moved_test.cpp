// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <support/catch.hpp>
#include <support/own_server.hpp>

#include <aftertouch/aftertouch.hpp>
#include <postgres/fixture.hpp>

/// \file
/// P5: a database that is another one now: dumped and restored, cloned, copied with its files, made
/// from a standby, with a new log, or with its transaction numbers set back. A pipeline goes on
/// where log and checkpoint came along and the numbers mean the same, and rebuilds where they
/// don't; it never passes over a change in silence.

namespace moved {

struct Item {
    std::int64_t id = 0;
    std::int64_t version = 0;
    friend bool operator==(const Item&, const Item&) = default;
};

namespace {

namespace at = aftertouch;
using at::postgres::Database;
using at::postgres::Parameters;

// What a pipeline was given, and whether all of it anew.
struct Told {
    std::vector<Item> changes; // as they were afterwards
    bool rebuilt = false;
    friend bool operator==(const Told&, const Told&) = default;
};

Told follow(const Parameters& parameters) {
    Database database{parameters};
    Told told;
    at::Pipeline pipeline{at::source<Item>().images(),
        [&](const at::Batch<Item>& batch) {
            for (const at::Change<Item>& change : batch.changes()) {
                told.changes.push_back(*change.after());
                told.rebuilt = told.rebuilt || change.operation() == at::Operation::present;
            }
        },
        database, {.name = "items", .observer = {}}};
    pipeline.drain();
    return told;
}

// Three rows, of which it is told.
void begin(const Parameters& parameters) {
    Database database{parameters};
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL)");
    database.execute("INSERT INTO item VALUES (1, 0), (2, 0), (3, 0)");
    CHECK(follow(parameters).changes.size() == 3);
}

void change(const Parameters& parameters, std::int64_t id, std::int64_t version) {
    Database{parameters}.execute("UPDATE item SET version = $2 WHERE id = $1", id, version);
}

// Transactions that write nothing of ours: their numbers are used up.
void use_up_numbers(const Parameters& parameters, int count) {
    Database database{parameters};
    for (int i = 0; i < count; ++i) { database.execute("SELECT pg_current_xact_id()"); }
}

const Told went_on{{{1, 1}, {2, 2}}, false};
const Told told_anew{{{1, 1}, {2, 2}, {3, 0}}, true};

void dump_and_restore(const Parameters& from, const Parameters& to) {
    const auto words = [](const Parameters& parameters) {
        const auto value = [&](const char* keyword) {
            return at::postgres::detail::value_of(parameters, keyword);
        };
        return " --host=" + value("host") + " --username=" + value("user") +
               " --dbname=" + value("dbname");
    };
    const std::string command = "pg_dump" + words(from) +
                                " | psql -Xqo /dev/null -v "
                                "ON_ERROR_STOP=1" +
                                words(to);
    if (std::system(command.c_str()) != 0) { // NOLINT: words of this file alone
        throw std::runtime_error{"failed: " + command};
    }
}

[[nodiscard]] Parameters database_of_server(const std::string& name) {
    Parameters parameters = fixture::server();
    parameters.emplace_back("dbname", name);
    return parameters;
}

// A database of the tests' server beside that of a Place; gone with this object.
class Second {
public:
    explicit Second(const std::string& options = {}) {
        Database{fixture::server()}.execute("CREATE DATABASE " + name_ + ' ' + options);
    }
    Second(const Second&) = delete;
    Second& operator=(const Second&) = delete;
    ~Second() { Database{fixture::server()}.execute("DROP DATABASE " + name_ + " WITH (FORCE)"); }
    [[nodiscard]] Parameters parameters() const { return database_of_server(name_); }

private:
    std::string name_ = "moved_" + std::to_string(getpid());
};

} // namespace

TEST_CASE("P5: dumped and restored beside itself, it goes on with what wasn't handled") {
    const fixture::Place place{fixture::Kind::server};
    begin(place.parameters());
    change(place.parameters(), 1, 1);
    const Second second{"TEMPLATE template0"};
    dump_and_restore(place.parameters(), second.parameters());
    change(second.parameters(), 2, 2);
    CHECK(follow(second.parameters()) == went_on);
    CHECK(follow(place.parameters()) == Told{{{1, 1}}, false});
}

TEST_CASE("P5: cloned as a template, both go on with what wasn't handled") {
    const fixture::Place place{fixture::Kind::server};
    begin(place.parameters());
    change(place.parameters(), 1, 1);
    std::string template_name = at::postgres::detail::value_of(place.parameters(), "dbname");
    const Second second{"TEMPLATE " + template_name};
    change(second.parameters(), 2, 2);
    change(place.parameters(), 3, 3);
    CHECK(follow(second.parameters()) == went_on);
    CHECK(follow(place.parameters()) == Told{{{1, 1}, {3, 3}}, false});
}

TEST_CASE("P5: restored into another cluster, it rebuilds", "[slow]") {
    const fixture::Place place{fixture::Kind::server};
    begin(place.parameters());
    use_up_numbers(place.parameters(), 3); // what it has handled lies ahead of the other's numbers
    change(place.parameters(), 1, 1);
    const test::OwnServer other{"moved-other"};
    dump_and_restore(place.parameters(), other.parameters());
    change(other.parameters(), 2, 2);
    CHECK(follow(other.parameters()) == told_anew);
    CHECK(follow(other.parameters()) == Told{});
}

TEST_CASE("P5: a new log in place of the old one leads to a rebuild") {
    const fixture::Place place{fixture::Kind::server};
    begin(place.parameters());
    Database database{place.parameters()};
    database.execute(
        "CREATE TABLE kept AS TABLE aftertouch.checkpoint; DROP SCHEMA aftertouch CASCADE; UPDATE "
        "item SET version = 1 WHERE id = 1; UPDATE item SET version = 2 WHERE id = 2");
    at::install(database, at::source<Item>().images());
    database.execute("INSERT INTO aftertouch.checkpoint TABLE kept");
    CHECK(follow(place.parameters()) == told_anew);
}

TEST_CASE("P5: copied with its files, both go on with what wasn't handled", "[slow]") {
    test::OwnServer server{"moved-files"};
    begin(server.parameters());
    change(server.parameters(), 1, 1);
    Database{server.parameters()}.execute("CHECKPOINT"); // or the crash may forget it
    const test::OwnServer copy = server.copy("moved-copy");
    change(copy.parameters(), 2, 2);
    change(server.parameters(), 3, 3);
    CHECK(follow(copy.parameters()) == went_on);
    CHECK(follow(server.parameters()) == Told{{{1, 1}, {3, 3}}, false});
}

TEST_CASE("P5: a standby is refused in a sentence; promoted, it goes on", "[slow]") {
    test::OwnServer server{"moved-primary"};
    begin(server.parameters());
    test::OwnServer standby = server.standby("moved-standby");
    change(server.parameters(), 1, 1);
    CHECK_THROWS_SAYING(follow(standby.parameters()), at::Error, "is a standby");
    // What the primary has must have arrived before the promotion.
    Database replica{standby.parameters()};
    const std::string arrived = "SELECT count(*) FROM item WHERE id = 1 AND version = 1";
    while (replica.query(at::type<std::int64_t>, arrived).front() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    standby.promote();
    change(standby.parameters(), 2, 2);
    CHECK(follow(standby.parameters()) == went_on);
}

TEST_CASE("P5: transaction numbers that were set back lead to a rebuild", "[slow]") {
    test::OwnServer server{"moved-reset"};
    begin(server.parameters());
    use_up_numbers(server.parameters(), 100);
    change(server.parameters(), 3, 0);
    CHECK(follow(server.parameters()).changes.size() == 1);   // its place is behind these numbers
    Database{server.parameters()}.execute("VACUUM (FREEZE)"); // or the server forgets it all
    server.reset_xid(60);
    change(server.parameters(), 1, 1);
    change(server.parameters(), 2, 2);
    CHECK(follow(server.parameters()) == told_anew);
}

} // namespace moved
