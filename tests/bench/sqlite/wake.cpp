// How long a commit takes to reach a handler in another process that has nothing to do.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

#include <measure.hpp>
#include <sqlite/benches.hpp>
#include <sqlite/item.hpp>

namespace at = aftertouch;

namespace {

/// Milliseconds on a clock that all processes share.
double now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Arrival {
    std::int64_t id = 0;
    double at = 0;
};

/// The follower's process; both ends close with this object, which ends it.
class Follower {
public:
    explicit Follower(const std::string& path) {
        int in[2];
        int out[2];
        if (pipe(in) != 0 || pipe(out) != 0) { std::exit(1); }
        child_ = fork();
        if (child_ == 0) {
            dup2(in[0], STDIN_FILENO);
            dup2(out[1], STDOUT_FILENO);
            for (const int end : {in[0], in[1], out[0], out[1]}) { close(end); }
            execl("/proc/self/exe", "bench", "--follow", path.c_str(), nullptr);
            _exit(1);
        }
        close(in[0]);
        close(out[1]);
        to_ = in[1];
        from_ = out[0];
    }
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;
    ~Follower() {
        close(to_);
        close(from_);
        waitpid(child_, nullptr, 0);
    }

    [[nodiscard]] Arrival next() const {
        Arrival arrival;
        if (read(from_, &arrival, sizeof arrival) != sizeof arrival) {
            std::fputs("bench: the follower has ended\n", stderr);
            std::exit(1);
        }
        return arrival;
    }

private:
    pid_t child_ = -1;
    int to_ = -1;
    int from_ = -1;
};

} // namespace

void follow(const std::string& path) {
    at::sqlite::Database database{path};
    const auto tell = [](const auto& batch, auto&) {
        const double at = now_ms();
        for (const std::int64_t id : batch.ids()) {
            const Arrival arrival{id, at};
            (void)!write(STDOUT_FILENO, &arrival, sizeof arrival);
        }
    };
    at::Pipeline pipeline{at::source<bench::Item>(), tell, database, {.name = "bench"}};
    pipeline.start();
    pipeline.await_idle();
    const Arrival ready;
    (void)!write(STDOUT_FILENO, &ready, sizeof ready);
    char end = 0;
    (void)!read(STDIN_FILENO, &end, 1);
}

void bench_wake() {
    const bench::File file;
    bench::Plain db{file.path()};
    bench::create_items(db);
    const Follower follower{file.path()};
    (void)follower.next();
    std::mt19937 random{7};
    std::uniform_int_distribution pause{5, 45};
    std::vector<double> delays;
    for (std::int64_t id = 1; id <= 300; ++id) {
        std::this_thread::sleep_for(std::chrono::milliseconds{pause(random)});
        bench::insert_items(db, id, 1);
        const double committed = now_ms();
        delays.push_back(follower.next().at - committed);
    }
    bench::report("wake.p50_ms", bench::median(delays), bench::at_most(1));
    bench::report("wake.p99_ms", bench::quantile(delays, 0.99), bench::at_most(50));
}
