// SPDX-License-Identifier: MIT
// L2: instances of one pipeline share its lanes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <contract/latch.hpp>
#include <postgres/fixture.hpp>
#include <support/catch.hpp>

#include <aftertouch/aftertouch.hpp>

using namespace std::chrono_literals;
namespace at = aftertouch;

namespace shared_lanes {

namespace {

struct Job {
    std::int64_t id = 0;
    std::int64_t worth = 0;
};

/// Long enough for a machine that is slow and busy: who holds it here keeps it.
constexpr std::chrono::milliseconds lease = 2s;
/// Then the holder has counted who stands by.
constexpr std::chrono::milliseconds until_counted = lease / 4 + 300ms;

using contract::comes_true;
using Tx = fixture::Tx;
using Work = std::function<void(const at::Batch<Job>&, Tx&)>;

/// One instance, with a connection of its own that tells its name. It writes how often each job was
/// handled, and does `work` in front of that.
class Instance {
public:
    Instance(
        const fixture::Place& place, std::string name, std::size_t lanes, at::Options more = {})
        : name_{std::move(name)},
          database_{named(place)},
          pipeline_{at::source<Job>(),
              [this](const at::Batch<Job>& batch, Tx& tx) { handle(batch, tx); }, database_,
              options(lanes, std::move(more))} {}

    [[nodiscard]] at::Pipeline<at::Source<Job>, Work, fixture::Database>& operator*() noexcept {
        return pipeline_;
    }
    auto* operator->() noexcept { return &pipeline_; }

    void set_work(Work work) {
        const std::lock_guard lock{mutex_};
        work_ = std::move(work);
    }
    [[nodiscard]] std::int64_t calls() const noexcept { return calls_; }
    [[nodiscard]] std::int64_t told(at::Moment moment) {
        const std::lock_guard lock{mutex_};
        return told_[moment];
    }

private:
    [[nodiscard]] fixture::Database named(const fixture::Place& place) const {
        at::postgres::Parameters parameters = place.parameters();
        parameters.emplace_back("application_name", name_);
        return fixture::Database{parameters, {.lock_timeout = 20s}};
    }
    [[nodiscard]] at::Options options(std::size_t lanes, at::Options more) {
        more.name = "jobs";
        more.begin = at::Begin::now;
        more.batch_size = 10; // what has more behind it is shared
        more.lanes = lanes;
        more.lease = lease;
        more.instance = name_;
        more.observer = [this](const at::Report& report) {
            const std::lock_guard lock{mutex_};
            ++told_[report.moment];
        };
        return more;
    }
    void handle(const at::Batch<Job>& batch, Tx& tx) {
        ++calls_;
        Work work;
        {
            const std::lock_guard lock{mutex_};
            work = work_;
        }
        if (work) { work(batch, tx); }
        for (const std::int64_t id : batch.ids()) {
            tx.execute("INSERT INTO handled VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET n = "
                       "handled.n + 1",
                id);
        }
    }

    std::string name_;
    std::mutex mutex_;
    Work work_;
    std::map<at::Moment, std::int64_t> told_;
    std::atomic<std::int64_t> calls_{0};
    fixture::Database database_;
    at::Pipeline<at::Source<Job>, Work, fixture::Database> pipeline_;
};

class Shop {
public:
    Shop() {
        database_.create_table<Job>();
        database_.execute("CREATE TABLE handled (id bigint PRIMARY KEY, n bigint NOT NULL)");
    }

    [[nodiscard]] const fixture::Place& place() const noexcept { return place_; }
    fixture::Database* operator->() noexcept { return &database_; }
    [[nodiscard]] std::int64_t number(const std::string& sql) {
        return database_.query(at::type<std::int64_t>, sql).front();
    }

    /// Changes of new jobs, more than lanes take at once.
    void add_jobs(std::int64_t count = 300) {
        database_.execute("INSERT INTO job SELECT i, i FROM generate_series($1::bigint, "
                          "$2::bigint) AS i",
            jobs_ + 1, jobs_ + count);
        jobs_ += count;
    }
    /// Whether each job was handled once.
    [[nodiscard]] bool is_right() {
        return number("SELECT count(*) FROM handled WHERE n = 1") == jobs_ &&
               number("SELECT count(*) FROM handled") == jobs_;
    }
    [[nodiscard]] std::int64_t standbys() {
        return number("SELECT count(*) FROM aftertouch.standby WHERE until > clock_timestamp()");
    }

    /// Gives the one that has the lease work, and waits until it is done.
    void work(Instance& holder) {
        add_jobs();
        REQUIRE(holder->await_idle(20s) == at::Awaited::idle);
    }
    /// The same, again and again.
    template <class Condition>
    void work_until(Instance& holder, Condition condition) {
        REQUIRE(comes_true([&] {
            work(holder);
            return condition();
        }));
    }

    /// Starts them, the one that gets the lease first, and gives them work until all take part.
    void start(std::vector<Instance*> instances) {
        for (Instance* const instance : instances) {
            (*instance)->start();
            const at::State wanted =
                instance == instances.front() ? at::State::following : at::State::standby;
            REQUIRE(comes_true([&] { return (*instance)->status().state == wanted; }));
            instance->set_work(
                [](const at::Batch<Job>&, Tx&) { std::this_thread::sleep_for(20ms); });
        }
        work_until(*instances.front(), [&] {
            return std::all_of(instances.begin(), instances.end(),
                [](const Instance* instance) { return instance->calls() != 0; });
        });
        for (Instance* const instance : instances) { instance->set_work({}); }
    }

private:
    fixture::Place place_{fixture::Kind::server};
    fixture::Database database_{place_.open()};
    std::int64_t jobs_ = 0;
};

/// Two instances with four lanes each, which share them; the first has the lease.
struct Two {
    Two() { shop.start({&one, &two}); }

    Shop shop;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 4};
};

} // namespace

TEST_CASE("L2: instances share the lanes evenly, all of them at the same time", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 6};
    Instance two{shop.place(), "two", 6};
    Instance three{shop.place(), "three", 6};
    shop.start({&one, &two, &three});
    CHECK(shop.standbys() == 2);
    std::this_thread::sleep_for(until_counted);
    std::map<std::string, int> there;
    int all = 0;
    std::mutex mutex;
    contract::Latch met;
    for (const auto& [name, instance] :
        {std::pair{"one", &one}, std::pair{"two", &two}, std::pair{"three", &three}}) {
        instance->set_work([&, key = std::string{name}](const at::Batch<Job>&, Tx&) {
            {
                const std::lock_guard lock{mutex};
                if (all < 6) { ++there[key]; }
                if (++all == 6) { met.open(); }
            }
            met.wait(); // fails where one comes behind another
        });
    }
    shop.add_jobs();
    REQUIRE(one->await_idle(90s) == at::Awaited::idle);
    CHECK(there == std::map<std::string, int>{{"one", 2}, {"three", 2}, {"two", 2}});
    for (Instance* const instance : {&one, &two, &three}) { (*instance)->stop(); }
    CHECK(shop.is_right());
    CHECK(shop.number("SELECT count(*) FROM aftertouch.standby") == 0);
}

TEST_CASE("L2: a part is one instance's at a time", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 4};
    Instance three{shop.place(), "three", 4};
    shop.start({&one, &two, &three});
    std::mutex mutex;
    std::set<std::int64_t> in_hand;
    std::atomic<std::int64_t> met{0};
    for (Instance* const instance : {&one, &two, &three}) {
        instance->set_work([&](const at::Batch<Job>& batch, Tx&) {
            const auto ids = batch.ids();
            {
                const std::lock_guard lock{mutex};
                for (const std::int64_t id : ids) { met += in_hand.insert(id).second ? 0 : 1; }
            }
            std::this_thread::sleep_for(5ms);
            const std::lock_guard lock{mutex};
            for (const std::int64_t id : ids) { in_hand.erase(id); }
        });
    }
    for (int i = 0; i < 5; ++i) { shop.work(one); }
    CHECK(met == 0);
    CHECK(shop.is_right());
}

TEST_CASE("L2: what fails with one that stands by is left to the holder", "[threads]") {
    Two both;
    auto& [shop, one, two] = both;
    const std::int64_t before = two.calls();
    two.set_work([](const at::Batch<Job>&, Tx&) { throw std::runtime_error{"not here"}; });
    one.set_work([](const at::Batch<Job>&, Tx&) { std::this_thread::sleep_for(20ms); });
    shop.work_until(one, [&] { return two.calls() != before; });
    CHECK(comes_true([&] { return two.told(at::Moment::standby_failed) != 0; }));
    CHECK(two->errors().empty());
    CHECK(two->status().state == at::State::standby);
    CHECK(one->errors().empty());
    CHECK(shop.is_right());
}

TEST_CASE("L2: what the holder can't handle for now goes to one that stands by", "[threads]") {
    Two both;
    auto& [shop, one, two] = both;
    two.set_work([](const at::Batch<Job>&, Tx&) { std::this_thread::sleep_for(5ms); });
    std::atomic<bool> broken{false};
    one.set_work([&](const at::Batch<Job>&, Tx&) {
        std::this_thread::sleep_for(20ms);
        if (broken) { throw at::Transient{"not now"}; }
    });
    std::this_thread::sleep_for(until_counted);
    const std::int64_t before = shop.number("SELECT count(*) FROM handled");
    shop.add_jobs(600);
    REQUIRE(comes_true([&] { return shop.number("SELECT count(*) FROM handled") > before + 100; }));
    broken = true;
    CHECK(comes_true([&] { return shop.number("SELECT count(*) FROM handled") == before + 600; }));
    CHECK(one->status().state != at::State::failed);
    broken = false;
    REQUIRE(one->await_idle(20s) == at::Awaited::idle);
    CHECK(shop.is_right());
}

TEST_CASE("L2: what one alone can't handle for now goes to one that stands by later", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 4};
    one.set_work([](const at::Batch<Job>&, Tx&) { throw at::Transient{"not here"}; });
    one->start();
    shop.add_jobs(120);
    REQUIRE(comes_true([&] { return one.calls() > 4; }));
    two->start();
    CHECK(comes_true([&] { return shop.is_right(); }));
    CHECK(one->status().state != at::State::failed);
}

TEST_CASE(
    "L2, F2: what one alone fails on really isn't offered, and its attempts end", "[threads]") {
    Shop shop;
    at::Options three;
    three.retry.attempts = 3;
    Instance one{shop.place(), "one", 4, std::move(three)};
    Instance two{shop.place(), "two", 4};
    contract::Latch counted;
    one.set_work([&](const at::Batch<Job>&, Tx&) {
        if (one.calls() > 4) { counted.wait(); } // no more than four parts a time
        throw std::runtime_error{"wrong"};
    });
    one->start();
    shop.add_jobs();
    REQUIRE(comes_true([&] { return one.calls() > 4; }));
    two->start();
    REQUIRE(comes_true([&] { return shop.standbys() == 1; }));
    std::this_thread::sleep_for(until_counted);
    counted.open();
    CHECK(comes_true([&] { return one->status().state == at::State::failed; }));
    CHECK(one.calls() <= 12);
    REQUIRE(two->await_idle(20s) == at::Awaited::idle);
    CHECK(shop.is_right());
}

TEST_CASE("L2: who stands by makes rows for lanes without, whichever there are", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 64};
    Instance two{shop.place(), "two", 64};
    one->start();
    shop->execute("INSERT INTO aftertouch.lane (pipeline, lane, deal) VALUES ('jobs', 63, 0)");
    two->start();
    CHECK(comes_true([&] { return shop.number("SELECT count(*) FROM aftertouch.lane") == 64; }));
}

TEST_CASE("L2: a part whose instance is cut off is the holder's", "[threads]") {
    Two both;
    auto& [shop, one, two] = both;
    contract::Latch reached;
    contract::Latch go_on;
    two.set_work([&](const at::Batch<Job>&, Tx&) {
        reached.open();
        go_on.wait();
    });
    one.set_work([](const at::Batch<Job>&, Tx&) { std::this_thread::sleep_for(20ms); });
    std::thread cutting{[&] {
        reached.wait();
        shop->execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                      "application_name = 'two'");
        go_on.open();
    }};
    const bool met = comes_true([&] {
        shop.add_jobs();
        return one->await_idle(20s) == at::Awaited::idle && reached.wait_for(0ms);
    });
    reached.open();
    cutting.join();
    REQUIRE(met);
    REQUIRE(one->await_idle(20s) == at::Awaited::idle);
    CHECK(shop.is_right());
}

TEST_CASE("L2: an instance that has one lane, or is paused, only stands by", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 1};
    Instance three{shop.place(), "three", 4};
    three->pause();
    for (Instance* const instance : {&one, &two, &three}) {
        (*instance)->start();
        instance->set_work([](const at::Batch<Job>&, Tx&) { std::this_thread::sleep_for(10ms); });
        REQUIRE(comes_true([&] {
            const at::State state = (*instance)->status().state;
            return state == at::State::following || state == at::State::standby ||
                   state == at::State::paused;
        }));
    }
    for (int i = 0; i < 20; ++i) { shop.work(one); }
    CHECK(two.calls() == 0);
    CHECK(three.calls() == 0);
    CHECK(shop.standbys() == 0);
    two->lanes(4);
    three->resume();
    shop.work_until(one, [&] { return two.calls() != 0 && three.calls() != 0; });
    CHECK(shop.is_right());
}

TEST_CASE("L2: who stands by commits nothing of what the holder has given up", "[threads]") {
    Two both;
    auto& [shop, one, two] = both;
    contract::Latch reached;
    contract::Latch go_on;
    std::atomic<bool> first{true};
    two.set_work([&](const at::Batch<Job>&, Tx&) {
        if (!first.exchange(false)) { return; }
        reached.open();
        go_on.wait();
    });
    one.set_work([](const at::Batch<Job>&, Tx&) { std::this_thread::sleep_for(20ms); });
    std::thread taking_over{[&] {
        reached.wait();
        // As another instance would that takes the lease over.
        shop->execute("UPDATE aftertouch.checkpoint SET version = version + 1");
        go_on.open();
    }};
    const bool met = comes_true([&] {
        shop.add_jobs();
        return one->await_idle(20s) == at::Awaited::idle && reached.wait_for(0ms);
    });
    reached.open();
    taking_over.join();
    REQUIRE(met);
    REQUIRE(one->await_idle(20s) == at::Awaited::idle);
    CHECK(shop.is_right());
    CHECK(two->errors().empty());
    CHECK(two.told(at::Moment::standby_failed) == 0);
}

TEST_CASE("L2: one that stood by goes on with what the holder's lanes left", "[threads]") {
    Shop shop;
    auto one = std::make_unique<Instance>(shop.place(), "one", 4);
    Instance two{shop.place(), "two", 4};
    shop.start({one.get(), &two});
    contract::Latch reached;
    std::atomic<bool> in_the_way{true};
    one->set_work([&](const at::Batch<Job>&, Tx& tx) {
        reached.open();
        while (in_the_way) { tx.execute("SELECT pg_sleep(0.01)"); } // until it is aborted
    });
    shop.add_jobs();
    reached.wait();
    (*one)->stop(0ms);
    in_the_way = false;
    one.reset();
    REQUIRE(two->await_idle(20s) == at::Awaited::idle);
    CHECK(two->status().state == at::State::following);
    CHECK(shop.is_right());
}

TEST_CASE(
    "L2: a unique value that moves from one instance's part to another's passes", "[threads]") {
    Two both;
    auto& [shop, one, two] = both;
    shop->execute("CREATE TABLE label (text text UNIQUE); INSERT INTO label VALUES ('a')");
    contract::Latch taken;
    std::mutex mutex;
    std::int64_t giver = 0; // the first jobs of the parts that give the value up, and take it
    std::int64_t taker = 0;
    const auto is_first = [&](std::int64_t& whose, const at::Batch<Job>& batch) {
        const std::lock_guard lock{mutex};
        if (whose == 0) { whose = batch.ids().front(); }
        return whose == batch.ids().front();
    };
    two.set_work([&](const at::Batch<Job>& batch, Tx& tx) {
        if (!is_first(giver, batch)) { return; }
        taken.open();
        std::this_thread::sleep_for(300ms); // the other one meets it meanwhile
        tx.execute("DELETE FROM label");
    });
    one.set_work([&](const at::Batch<Job>& batch, Tx& tx) {
        std::this_thread::sleep_for(20ms);
        if (taken.wait_for(0ms) && is_first(taker, batch)) {
            tx.execute("INSERT INTO label VALUES ('a')");
        }
    });
    shop.work_until(one, [&] { return taken.wait_for(0ms); });
    CHECK(one->errors().empty());
    CHECK(two->errors().empty());
    CHECK(shop.is_right());
}

TEST_CASE("L2: an instance that stood by once, and can't open now, waits for the database") {
    Shop shop;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 4};
    one->start();
    REQUIRE(comes_true([&] { return one->status().state == at::State::following; }));
    CHECK_THROWS_AS(two->run_once(), at::Error); // the lease is another one's
    two->stop();
    fixture::Database other{shop.place().open()};
    other.execute("BEGIN; LOCK TABLE aftertouch.capture IN ACCESS EXCLUSIVE MODE");
    std::thread starting{[&] { two->start(); }};
    std::this_thread::sleep_for(100ms);
    other.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE "
                  "application_name = 'two' AND state = 'active'");
    std::this_thread::sleep_for(100ms);
    other.execute("ROLLBACK");
    starting.join();
    CHECK(comes_true([&] { return two->status().state == at::State::standby; }));
}

TEST_CASE("L2: an instance that can't say that it takes part no more takes over all the same",
    "[threads]") {
    Two both;
    auto& [shop, one, two] = both;
    shop->execute("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE "
                  "insufficient_privilege; END'; CREATE TRIGGER refuse BEFORE DELETE ON "
                  "aftertouch.standby FOR EACH ROW EXECUTE FUNCTION refuse()");
    one->stop();
    shop.work(two);
    CHECK(two->status().state == at::State::following);
    CHECK(two->errors().empty());
    CHECK(shop.is_right());
}

TEST_CASE("L2: an instance that takes part no more closes its lanes' connections", "[threads]") {
    Two both;
    auto& [shop, one, two] = both;
    const auto connections = [&] {
        return shop.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'two'");
    };
    CHECK(connections() > 3);
    two->lanes(1);
    CHECK(comes_true([&] { return connections() == 3; })); // the database's, its own, the lease's
    CHECK(comes_true([&] { return shop.standbys() == 0; }));
}

TEST_CASE("L2: an instance that can't read what the holder deals isn't counted on", "[threads]") {
    Shop shop;
    at::Options without_own;
    without_own.skip_own_changes = true;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 4, without_own};
    for (Instance* const instance : {&one, &two}) {
        (*instance)->start();
        REQUIRE(comes_true([&] { return (*instance)->status().state != at::State::starting; }));
    }
    shop.work_until(one, [&] { return shop.standbys() == 0; });
    CHECK(two.calls() == 0);
    one->stop(); // its own deals it can read
    shop.work(two);
    CHECK(shop.is_right());
}

TEST_CASE("L2, F3: while there are dead letters the holder works alone", "[threads]") {
    Shop shop;
    at::Options options;
    options.retry = {.attempts = 1, .pause = 0ms, .then = at::Then::park};
    Instance one{shop.place(), "one", 4, options};
    Instance two{shop.place(), "two", 4, options};
    shop.start({&one, &two});
    std::atomic<std::int64_t> poison{0};
    for (Instance* const instance : {&one, &two}) {
        instance->set_work([&](const at::Batch<Job>& batch, Tx&) {
            std::this_thread::sleep_for(10ms);
            const auto ids = batch.ids();
            if (std::find(ids.begin(), ids.end(), poison) != ids.end()) {
                throw std::runtime_error{"poison"};
            }
        });
    }
    poison = shop.number("SELECT max(id) FROM job") + 7;
    shop.work(one);
    CHECK(one->dead_letters().size() == 1);
    REQUIRE(comes_true([&] { return shop.standbys() == 1; }));
    std::this_thread::sleep_for(until_counted);
    const std::int64_t before = two.calls();
    std::atomic<std::int64_t> shared{0};
    one.set_work([&](const at::Batch<Job>&, Tx& tx) {
        shared += tx.query(at::type<std::int64_t>, "SELECT count(*) FROM aftertouch.checkpoint "
                                                   "WHERE checkpoint LIKE '%/4x2/%'")
                      .front();
    });
    for (int i = 0; i < 10; ++i) {
        shop.add_jobs();
        REQUIRE(one->await_idle(90s) == at::Awaited::idle);
    }
    CHECK(two.calls() == before);
    CHECK(shared == 0); // else it would work with its share
    one.set_work([](const at::Batch<Job>&, Tx&) { std::this_thread::sleep_for(10ms); });
    poison = 0;
    CHECK(one->release() == 1);
    shop.work_until(one, [&] { return two.calls() != before; });
    CHECK(shop.is_right());
    CHECK(one->errors().empty());
    CHECK(two->errors().empty());
}

} // namespace shared_lanes
