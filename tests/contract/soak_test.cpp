// SPDX-License-Identifier: MIT
// Writers in threads, on connections of their own, against pipelines: nothing lost, nothing out of
// order (C1, P1, P2, K1).
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

namespace {

/// Raises a row's amount by one in each committed change: so a handler can see order and loss in
/// the images alone.
class Writer {
public:
    Writer(Database& shop, unsigned seed, std::int64_t first_id, std::int64_t ids)
        : shop_{shop}, random_{seed}, first_id_{first_id}, ids_{ids} {}

    void write(int transactions) {
        for (int i = 0; i < transactions; ++i) {
            const std::int64_t id = first_id_ + static_cast<std::int64_t>(random_()) % ids_;
            const bool rolls_back = random_() % 5 == 0;
            const auto statements = random_() % 3 + 1;
            try {
                shop_.transaction([&](Tx& tx) {
                    for (auto n = statements; n > 0; --n) {
                        tx.execute(
                            "INSERT INTO \"order\" (id, customer, amount) VALUES ($1, 'ada', 1) "
                            "ON CONFLICT (id) DO UPDATE SET amount = \"order\".amount + 1",
                            id);
                    }
                    if (rolls_back) { throw std::runtime_error{"changed my mind"}; }
                });
                committed[id] += static_cast<double>(statements);
            } catch (const std::runtime_error&) {
                if (!rolls_back) { throw; }
            }
        }
    }

    std::map<std::int64_t, double> committed; // the amount that each row has

private:
    Database& shop_;
    std::mt19937 random_;
    std::int64_t first_id_;
    std::int64_t ids_;
};

/// What a handler over images makes of the changes: each must begin where the one before ended.
struct Checker {
    std::mutex mutex;
    std::map<std::int64_t, double> seen;
    std::string fault;

    void note(const at::Batch<Order>& batch) {
        const std::lock_guard guard{mutex};
        for (const at::Change<Order>& change : batch.changes()) {
            if (change.operation() == Operation::touched) { continue; }
            double& amount = seen[change.key()];
            const double before = change.before() != nullptr ? change.before()->amount : 0;
            if (change.operation() == Operation::present) {
                amount = change.after()->amount;
            } else if (before != amount || change.after() == nullptr ||
                       change.after()->amount != amount + 1) {
                fault = "row " + std::to_string(change.key()) + " was " + std::to_string(amount) +
                        " and is said to change from " + std::to_string(before);
            } else {
                amount += 1;
            }
        }
    }
};

} // namespace

TEST_CASE(
    "P1, P2: nothing is lost and every row's changes are in order, whoever writes at the same time",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1000, 1300); // to be rebuilt meanwhile
    at::Options options = quiet("checker");
    options.batch_size = 50;
    Checker checker;
    ImagePipeline pipeline{at::source<Order>().images(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            checker.note(batch);
            copy_rows(batch, tx);
        },
        shop, options};
    pipeline.start();

    const std::vector<Kind> shared = fixture::shared_kinds();
    const bool others = std::find(shared.begin(), shared.end(), kind) != shared.end();
    std::vector<std::unique_ptr<Database>> programs;
    std::vector<Writer> writers;
    for (unsigned i = 0; i < 3; ++i) {
        if (others) { programs.push_back(std::unique_ptr<Database>{new Database{place.open()}}); }
        // Rows of its own, that it can count.
        writers.emplace_back(
            others ? *programs.back() : shop, i, static_cast<std::int64_t>(i) * 10 + 1, 7);
    }
    std::vector<std::thread> threads;
    std::vector<std::string> errors(writers.size());
    for (std::size_t i = 0; i < writers.size(); ++i) {
        threads.emplace_back([&, i] { errors[i] = error_of([&] { writers[i].write(60); }); });
    }
    for (std::thread& thread : threads) { thread.join(); }
    REQUIRE(pipeline.await_idle(100s) == at::Awaited::idle);
    pipeline.stop();

    for (const std::string& error : errors) { CHECK(error.empty()); }
    CHECK(pipeline.errors().empty());
    CHECK(checker.fault.empty());
    for (const Writer& writer : writers) {
        for (const auto& [id, amount] : writer.committed) {
            INFO("row " << id);
            CHECK(checker.seen[id] == amount);
        }
    }
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE(
    "K1: with stops, failures and rebuilds in between, effects inside the database happen once",
    "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<int> calls{0};
    at::Options options = quiet("sum");
    options.batch_size = 20;
    options.begin = at::Begin::now;
    // Adds what each change adds: right only if each takes effect exactly once.
    ImagePipeline pipeline{at::source<Order>().images(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            double sum = 0;
            for (const at::Change<Order>& change : batch.changes()) {
                sum += change.after() != nullptr ? change.after()->amount : 0;
                sum -= change.before() != nullptr && change.operation() != Operation::touched
                           ? change.before()->amount
                           : 0;
            }
            const auto there = tx.get(at::type<Copy>, 0);
            tx.upsert(Copy{0, "sum", (there ? there->amount : 0) + sum});
            if (++calls % 4 == 0) { throw std::runtime_error{"every fourth time"}; }
        },
        shop, options};
    pipeline.start();
    std::thread writer{[&] {
        Writer one{shop, 1, 1, 9};
        one.write(80);
    }};
    for (int i = 0; i < 20; ++i) {
        pipeline.await_idle(5ms);
        if (i % 3 == 0) { pipeline.stop(1ms); }
        pipeline.start();
    }
    writer.join();
    while (pipeline.await_idle(30s) != at::Awaited::idle) { pipeline.start(); }
    pipeline.stop();
    const double sum =
        shop.query(at::type<double>, "SELECT coalesce(sum(amount), 0.0) FROM \"order\"").front();
    REQUIRE(copies(shop).size() == 1);
    CHECK(copies(shop).front().amount == sum);
}
