// A program that stops in order on Ctrl+C and SIGTERM: the batch in hand is given back, what was
// committed stays, and the next start goes on behind it.
// Run with: examples/run 09_stop_by_signal
// Expect: a part is handled when the signal comes, and nothing is missing or double at the end.
//
// expect: stopping: signal 15
// expect: mailed when it stopped: a part, none twice
// expect: mailed behind the next start: 2000
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <thread>
#include <unistd.h>
namespace at = aftertouch;

struct Invoice {
    std::int64_t id;
};
struct Mail {
    std::int64_t invoice;
};
template <>
struct aftertouch::EntityTraits<Mail> {
    static constexpr auto key = aftertouch::key<&Mail::invoice>;
};

int main() {
    sigset_t signals; // blocked before a thread is made, so that only sigwait() gets them
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    if (fork() == 0) { // here a child sends the signal; there systemd, docker, or you
        std::this_thread::sleep_for(std::chrono::milliseconds{300});
        kill(getppid(), SIGTERM);
        _exit(0);
    }

    at::sqlite::Database shop{":memory:"};
    shop.create_table<Invoice>();
    shop.create_table<Mail>();
    const auto mail = [](const at::Batch<Invoice>& batch, auto& tx) {
        for (const Invoice& invoice : batch.records()) {
            if (tx.stopping()) { return at::Outcome::retry; } // undone, and no failure
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            tx.insert(Mail{invoice.id}); // would fail for one that is mailed already
        }
        return at::Outcome::done;
    };
    at::Pipeline mails{at::source<Invoice>(), mail, shop, {.name = "mails", .batch_size = 20}};
    const auto mailed = [&] {
        return shop.query(at::type<std::int64_t>, "SELECT count(*) FROM mail").front();
    };
    mails.start();
    shop.execute("INSERT INTO invoice WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
                 "n WHERE i < 2000) SELECT i FROM n");

    int signal = 0;
    sigwait(&signals, &signal);
    std::cout << "stopping: signal " << signal << '\n';
    mails.stop(std::chrono::seconds{5}); // at most; then what the handler waits for is interrupted
    const bool a_part = mailed() > 0 && mailed() < 2000;
    std::cout << "mailed when it stopped: " << (a_part ? "a part" : "none or all")
              << ", none twice\n";

    mails.start();
    mails.await_idle();
    std::cout << "mailed behind the next start: " << mailed() << '\n';
}
