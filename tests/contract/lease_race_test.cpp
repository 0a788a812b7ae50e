// SPDX-License-Identifier: MIT
// Several take a lease at once: exactly one gets it (L1).
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shop.hpp"

using namespace contract;

namespace {

constexpr std::size_t takers = 4;

// How the lease comes to be free.
enum class Free { ended, given_back };

// What one of the takers does, in a program of its own: as often as `rounds` asks for.
class Taker {
public:
    Taker(const Place& place, std::size_t number) : database_{place.open()} {
        lease_ = database_.open_lease({"copy", at::source<Order>().capture(),
                                          "taker " + std::to_string(number), std::chrono::hours{1}},
            stopping_);
    }

    void run(std::barrier<>& barrier, int rounds) {
        for (int i = 0; i < rounds; ++i) {
            barrier.arrive_and_wait();
            got_it_ = lease_->take().held;
            barrier.arrive_and_wait();
        }
    }
    [[nodiscard]] bool got_it() const noexcept { return got_it_; }

private:
    const std::atomic<bool> stopping_{false};
    Database database_;
    std::unique_ptr<Database::Lease> lease_;
    bool got_it_ = false;
};

void set_free(Database& database, Free how) {
    const std::string lease = fixture::own_table("lease");
    database.execute(how == Free::ended
                         ? "UPDATE " + lease + " SET until = " + std::string{fixture::long_ago}
                         : "DELETE FROM " + lease);
}

} // namespace

TEST_CASE("L1: of several that take a lease at once exactly one gets it", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    const Free how = GENERATE(Free::ended, Free::given_back);
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::install(shop, at::source<Order>());
    constexpr int rounds = 100;
    std::vector<std::unique_ptr<Taker>> all;
    for (std::size_t i = 0; i < takers; ++i) { all.push_back(std::make_unique<Taker>(place, i)); }
    std::barrier barrier{takers + 1};
    std::vector<std::thread> threads;
    for (const auto& taker : all) {
        threads.emplace_back([&] { taker->run(barrier, rounds); });
    }
    int right = 0;
    for (int i = 0; i < rounds; ++i) {
        set_free(shop, how);
        const std::int64_t version = fixture::checkpoint_version(shop, "copy");
        barrier.arrive_and_wait();
        barrier.arrive_and_wait();
        const std::string holder =
            shop.query(at::type<std::string>, "SELECT holder FROM " + fixture::own_table("lease"))
                .at(0);
        int got_it = 0;
        for (std::size_t taker = 0; taker < takers; ++taker) {
            if (!all[taker]->got_it()) { continue; }
            got_it += holder == "taker " + std::to_string(taker) ? 1 : 2;
        }
        const bool fenced = fixture::checkpoint_version(shop, "copy") == version + 1;
        right += got_it == 1 && fenced ? 1 : 0;
    }
    for (std::thread& thread : threads) { thread.join(); }
    CHECK(right == rounds);
}
