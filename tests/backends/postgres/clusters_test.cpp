// SPDX-License-Identifier: MIT
// P5: what happens to a whole server: a standby of it, a dump of it into another one, transaction
// ids that are set back. Each test has servers of its own.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;

namespace clusters {

struct Item {
    std::int64_t id = 0;
};

namespace {

using Ids = std::vector<std::int64_t>;

void shell(const std::string& command) {
    if (std::system(command.c_str()) != 0) { throw std::runtime_error{"failed: " + command}; }
}

/// A server of one test, gone with this object.
class Server {
public:
    explicit Server(std::string name) : folder_{"cluster_" + std::move(name)} { support("start"); }
    /// One that follows `primary`.
    Server(std::string name, const Server& primary) : folder_{"cluster_" + std::move(name)} {
        std::filesystem::create_directories(folder_);
        shell(primary.command("standby", std::filesystem::absolute(folder_).string()));
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() { static_cast<void>(std::system(command("stop", {}).c_str())); }

    void renumber(std::int64_t next) { support("renumber", std::to_string(next)); }
    [[nodiscard]] std::string socket() const {
        std::ifstream in{folder_ + "/postgres.socket"};
        std::string socket;
        std::getline(in, socket);
        return socket;
    }
    [[nodiscard]] Database open() const {
        return Database{at::postgres::Parameters{
            {"host", socket()}, {"user", "postgres"}, {"dbname", "postgres"}}};
    }

private:
    [[nodiscard]] std::string command(const std::string& action, const std::string& more) const {
        return std::string{AFTERTOUCH_SOURCE_DIR} + "/tests/support/postgres " + action + " '" +
               std::filesystem::absolute(folder_).string() + "' '" + more + "' > /dev/null 2>&1";
    }
    void support(const std::string& action, const std::string& more = {}) {
        std::filesystem::create_directories(folder_);
        shell(command(action, more));
    }

    std::string folder_;
};

/// A pipeline that notes what it is handed, with `P` for what a rebuild hands over.
class Follower {
public:
    explicit Follower(Database& database)
        : pipeline_{at::source<Item>(),
              [this](const at::Batch<Item>& batch, Tx&) {
                  for (const at::Change<Item>& change : batch.changes()) {
                      told_.push_back(
                          static_cast<char>(change.operation()) + std::to_string(change.key()));
                  }
              },
              database,
              [] {
                  at::Options options;
                  options.name = "follower";
                  options.observer = {};
                  return options;
              }()} {}
    std::vector<std::string> take() {
        told_.clear();
        pipeline_.drain();
        return told_;
    }

private:
    std::vector<std::string> told_;
    at::Pipeline<at::Source<Item>, std::function<void(const at::Batch<Item>&, Tx&)>, Database>
        pipeline_;
};

using Told = std::vector<std::string>;

} // namespace

TEST_CASE("P5: a standby is refused in words: its snapshots don't say what runs on the primary") {
    Server primary{"primary"};
    Database database = primary.open();
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY); INSERT INTO item VALUES (1)");
    CHECK(Follower{database}.take() == Told{"P1"});
    Server standby{"standby", primary};
    Database copy = standby.open();
    Follower follower{copy};
    CHECK_THROWS_SAYING(follower.take(), at::Error, "is a standby");

    // Promoted, it goes on where the primary's checkpoint stood.
    copy.execute("SELECT pg_promote()");
    copy.execute("INSERT INTO item VALUES (2)");
    CHECK(follower.take() == Told{"I2"});
}

TEST_CASE("P5: a dump in another server leads to a rebuild") {
    Server first{"first"};
    Server second{"second"};
    Database database = first.open();
    database.execute("CREATE TABLE item (id bigint PRIMARY KEY); INSERT INTO item VALUES (1)");
    {
        Follower follower{database};
        CHECK(follower.take() == Told{"P1"});
        database.execute("INSERT INTO item VALUES (2)");
    }
    shell("pg_dump -U postgres -h '" + first.socket() + "' postgres | psql -X -q -U postgres -h '" +
          second.socket() + "' postgres > /dev/null 2>&1");
    Database copy = second.open();
    copy.execute("INSERT INTO item VALUES (3)");
    Follower follower{copy};
    CHECK(follower.take() == Told{"P1", "P2", "P3"});
    copy.execute("INSERT INTO item VALUES (4)");
    CHECK(follower.take() == Told{"I4"});
    Follower original{database};
    CHECK(original.take() == Told{"I2"});
}

TEST_CASE("P5: transaction ids that were set back lead to a rebuild, however many came since") {
    for (const int later : {0, 100}) {
        INFO(later);
        Server server{"renumbered"};
        Database database = server.open();
        database.execute("CREATE TABLE item (id bigint PRIMARY KEY); INSERT INTO item VALUES (1)");
        {
            Follower follower{database};
            CHECK(follower.take() == Told{"P1"});
        }
        const auto next = one<std::int64_t>(
            database, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint");
        for (std::int64_t id = 2; id <= 40; ++id) {
            database.execute("INSERT INTO item VALUES ($1)", id);
        }
        {
            Follower follower{database};
            CHECK(follower.take().size() == 39);
        }
        database.execute("VACUUM FREEZE"); // so that the rows stay visible
        server.renumber(next + 5);
        Database again = server.open();
        again.execute("INSERT INTO item VALUES (41)"); // under an id that was used before
        for (int i = 0; i < later; ++i) { again.execute("SELECT pg_current_xact_id()"); }
        Follower follower{again};
        const Told told = follower.take();
        CHECK(told.size() == 41);
        CHECK(told.front() == "P1");
        again.execute("INSERT INTO item VALUES (42)");
        CHECK(follower.take() == Told{"I42"});
    }
}

} // namespace clusters
