// One pipeline, two processes: the lease says who runs it. The one that does is killed, and the
// other one takes over where it was.
// Run with: examples/run 10_standby
// Expect: the child copies a part, the parent the rest, and nothing is missing.
//
// expect: the parent stands by, the child copies
// expect: the child is killed
// expect: the parent has taken over: nothing is missing
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
namespace at = aftertouch;
using namespace std::chrono_literals;

struct Invoice {
    std::int64_t id;
    double amount;
};
struct Copy {
    std::int64_t id;
    double amount;
};

// The same program is started on each machine, or twice on one.
auto follow(at::sqlite::Database& shop, const std::string& instance) {
    const auto copy = [](const at::Batch<Invoice>& batch, auto& tx) {
        for (const Invoice& invoice : batch.records()) {
            tx.upsert(Copy{invoice.id, invoice.amount});
        }
    };
    return at::Pipeline{at::source<Invoice>(), copy, shop,
        {.name = "copies", .batch_size = 10, .lease = 1s, .instance = instance}};
}

int main() {
    for (const char* end : {"", "-wal", "-shm"}) {
        std::filesystem::remove(std::string{"standby.db"} + end);
    }
    const pid_t child = fork();
    at::sqlite::Database shop{"standby.db", {.wal = true}};
    shop.create_table<Invoice>();
    shop.create_table<Copy>();
    auto copies = follow(shop, child == 0 ? "child" : "parent");
    const auto count = [&](const std::string& table) {
        return shop.query(at::type<std::int64_t>, "SELECT count(*) FROM " + table).front();
    };
    if (child == 0) {
        copies.start();
        for (std::int64_t id = 1;; ++id) { // it writes invoices until it is killed
            shop.execute("INSERT INTO invoice VALUES ($1, $2)", id, 9.5);
        }
    }
    while (count("copy") == 0) { std::this_thread::sleep_for(10ms); }
    copies.start();
    while (copies.status().state != at::State::standby) { std::this_thread::sleep_for(10ms); }
    std::cout << "the parent stands by, the child copies\n";
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::cout << "the child is killed\n";
    copies.await_idle(); // waits for the lease, too: a second at most
    const bool complete = count("copy") == count("invoice");
    std::cout << "the parent has taken over: " << (complete ? "nothing" : "something")
              << " is missing\n";
}
