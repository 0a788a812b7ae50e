// What writers get done beside a pipeline whose handler takes its time, where they get 1 done
// without it.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/postgres.hpp>

#include <measure.hpp>
#include <postgres/benches.hpp>
#include <postgres/item.hpp>

namespace at = aftertouch;

namespace {

using namespace std::chrono_literals;

/// Programs that insert rows, a transaction each.
class Writers {
public:
    explicit Writers(int count) : connections_(static_cast<std::size_t>(count)) {
        for (bench::Plain& db : connections_) {
            db.prepare("insert", "INSERT INTO item VALUES ($1::bigint, 7, 'open', 3, 9.5, 'a note "
                                 "about it')");
        }
    }

    /// Seconds for an insertion, over some time of all at once.
    [[nodiscard]] double run() {
        constexpr auto time = 1500ms;
        std::atomic<bool> over{false};
        std::atomic<std::int64_t> done{0};
        std::vector<std::thread> threads;
        for (bench::Plain& db : connections_) {
            threads.emplace_back([&] {
                while (!over) {
                    const std::string id = std::to_string(++next_);
                    const char* const values[]{id.c_str()};
                    db.checked(PQexecPrepared(db.get(), "insert", 1, values, nullptr, nullptr, 1));
                    ++done;
                }
            });
        }
        std::this_thread::sleep_for(time);
        over = true;
        for (std::thread& thread : threads) { thread.join(); }
        return 1 / static_cast<double>(done);
    }

private:
    std::vector<bench::Plain> connections_;
    std::atomic<std::int64_t> next_{0};
};

} // namespace

void bench_writers() {
    for (const int count : {8, 16}) {
        bench::Plain admin;
        bench::create_items(admin);
        at::postgres::Database database{""};
        at::install(database, at::source<bench::Item>());
        Writers writers{count};
        const auto wait = [](const auto&, auto&) { std::this_thread::sleep_for(50ms); };
        at::Pipeline pipeline{
            at::source<bench::Item>(), wait, database, {.name = "bench", .begin = at::Begin::now}};
        bench::Duel duel;
        for (int round = 0; round < 9; ++round) {
            duel.round(
                [&] {
                    pipeline.start();
                    const double took = writers.run();
                    pipeline.stop();
                    return took;
                },
                [&] { return writers.run(); });
        }
        bench::report("writers." + std::to_string(count), duel.rate(), bench::at_least(0.9));
        at::remove(database, at::source<bench::Item>());
    }
}
