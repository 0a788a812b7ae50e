// What lanes get done with a handler that waits 5 ms a batch, where one lane gets 1 done; and what
// eight of them cost with a handler that does nothing, where one lane costs 1. Wall time.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/postgres.hpp>

#include <measure.hpp>
#include <postgres/benches.hpp>
#include <postgres/item.hpp>

namespace at = aftertouch;

namespace {

using namespace std::chrono_literals;

/// A database whose log holds 80,000 touches, which pipelines follow again and again.
class Backlog {
public:
    Backlog() {
        bench::create_items(admin_);
        at::install(database_, at::source<bench::Item>());
        admin_.run("INSERT INTO aftertouch.log (capture, op, key) SELECT c.id, 'U', i::text FROM "
                   "aftertouch.capture AS c, generate_series(1, 80000) AS i");
        admin_.run("VACUUM ANALYZE aftertouch.log");
    }
    ~Backlog() { at::remove(database_, at::source<bench::Item>()); }
    Backlog(const Backlog&) = delete;
    Backlog& operator=(const Backlog&) = delete;

    /// Seconds for all of it, everything being connected.
    template <class Handler>
    [[nodiscard]] double seconds(std::size_t lanes, Handler handler) {
        at::Pipeline pipeline{at::source<bench::Item>(), std::move(handler), database_,
            {.name = "bench", .begin = at::Begin::now, .lanes = lanes}};
        pipeline.run_once();
        for (int warm = 0; warm < 2; ++warm) {
            pipeline.rewind(at::Timestamp{});
            pipeline.run_once();
        }
        const auto begin = std::chrono::steady_clock::now();
        pipeline.drain();
        return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin}.count();
    }

private:
    bench::Plain admin_;
    at::postgres::Database database_{""};
};

} // namespace

void bench_lanes() {
    Backlog backlog;
    const auto waits = [](const auto&, auto&) { std::this_thread::sleep_for(5ms); };
    for (const std::size_t lanes : {2U, 4U, 8U}) {
        bench::Duel duel;
        for (int round = 0; round < 5; ++round) {
            duel.round([&] { return backlog.seconds(lanes, waits); },
                [&] { return backlog.seconds(1, waits); });
        }
        bench::report("lanes." + std::to_string(lanes), duel.rate(),
            bench::at_least(0.75 * static_cast<double>(lanes)));
    }
    const auto nothing = [](const auto&, auto&) {};
    bench::Duel duel;
    for (int round = 0; round < 9; ++round) {
        duel.round([&] { return backlog.seconds(8, nothing); },
            [&] { return backlog.seconds(1, nothing); });
    }
    bench::report("lanes.empty", duel.cost(), bench::at_most(1.5));
}
