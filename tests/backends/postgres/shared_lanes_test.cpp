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
#include <stdexcept>
#include <string>
#include <thread>
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

using Tx = fixture::Tx;
using Work = std::function<void(const at::Batch<Job>&, Tx&)>;

template <class Condition>
bool comes_true(Condition condition) {
    for (const auto until = std::chrono::steady_clock::now() + 20s;
        std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(2ms)) {
        if (condition()) { return true; }
    }
    return false;
}

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
        more.lease = 300ms;
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
        REQUIRE(comes_true([&] {
            add_jobs();
            REQUIRE((*instances.front())->await_idle(20s) == at::Awaited::idle);
            return std::all_of(instances.begin(), instances.end(),
                [](const Instance* instance) { return instance->calls() != 0; });
        }));
        for (Instance* const instance : instances) { instance->set_work({}); }
    }

private:
    fixture::Place place_{fixture::Kind::server};
    fixture::Database database_{place_.open()};
    std::int64_t jobs_ = 0;
};

} // namespace

TEST_CASE("L2: instances share the lanes evenly, all of them at the same time", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 6};
    Instance two{shop.place(), "two", 6};
    Instance three{shop.place(), "three", 6};
    shop.start({&one, &two, &three});
    CHECK(shop.standbys() == 2);
    std::this_thread::sleep_for(300ms); // until the holder has counted both
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

TEST_CASE("L2: what fails with one that stands by is left to the holder", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 4};
    shop.start({&one, &two});
    const std::int64_t before = two.calls();
    two.set_work([](const at::Batch<Job>&, Tx&) { throw std::runtime_error{"not here"}; });
    one.set_work([](const at::Batch<Job>&, Tx&) { std::this_thread::sleep_for(20ms); });
    REQUIRE(comes_true([&] {
        shop.add_jobs();
        REQUIRE(one->await_idle(20s) == at::Awaited::idle);
        return two.calls() != before;
    }));
    CHECK(comes_true([&] { return two.told(at::Moment::standby_failed) != 0; }));
    CHECK(two->errors().empty());
    CHECK(two->status().state == at::State::standby);
    CHECK(one->errors().empty());
    CHECK(shop.is_right());
}

TEST_CASE("L2: a part whose instance is cut off is the holder's", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 4};
    shop.start({&one, &two});
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
            return state == at::State::following || state == at::State::standby;
        }));
    }
    for (int i = 0; i < 20; ++i) {
        shop.add_jobs();
        REQUIRE(one->await_idle(20s) == at::Awaited::idle);
    }
    CHECK(two.calls() == 0);
    CHECK(three.calls() == 0);
    CHECK(shop.standbys() == 0);
    two->lanes(4);
    three->resume();
    REQUIRE(comes_true([&] {
        shop.add_jobs();
        REQUIRE(one->await_idle(20s) == at::Awaited::idle);
        return two.calls() != 0 && three.calls() != 0;
    }));
    CHECK(shop.is_right());
}

TEST_CASE("L2: who stands by commits nothing of what the holder has given up", "[threads]") {
    Shop shop;
    Instance one{shop.place(), "one", 4};
    Instance two{shop.place(), "two", 4};
    shop.start({&one, &two});
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
    shop.add_jobs();
    REQUIRE(one->await_idle(20s) == at::Awaited::idle);
    CHECK(one->dead_letters().size() == 1);
    REQUIRE(comes_true([&] { return shop.standbys() == 1; }));
    const std::int64_t before = two.calls();
    for (int i = 0; i < 10; ++i) {
        shop.add_jobs();
        REQUIRE(one->await_idle(20s) == at::Awaited::idle);
    }
    CHECK(two.calls() == before);
    poison = 0;
    CHECK(one->release() == 1);
    REQUIRE(comes_true([&] {
        shop.add_jobs();
        REQUIRE(one->await_idle(20s) == at::Awaited::idle);
        return two.calls() != before;
    }));
    CHECK(shop.is_right());
    CHECK(one->errors().empty());
    CHECK(two->errors().empty());
}

} // namespace shared_lanes
