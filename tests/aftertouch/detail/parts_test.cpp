// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>
#include <support/soak.hpp>

#include <aftertouch/detail/parts.hpp>

namespace at = aftertouch;
using at::detail::FailedPart;
using at::detail::Parts;

namespace {

/// A database that knows savepoints: what was handled, and can be undone.
struct Database {
    std::vector<std::size_t> handled{};
    std::vector<std::size_t> kept{};
    int calls = 0;
    bool lost = false;        // the transaction
    bool in_conflict = false; // with others

    [[nodiscard]] at::Excuse excuse(const at::Error*) const noexcept {
        return in_conflict ? at::Excuse::conflict : at::Excuse::none;
    }

    struct Tx {
        Database& database;
        void execute(std::string_view sql) const {
            if (database.lost) { throw at::Error{at::Errc::transaction_lost, "no savepoint"}; }
            if (sql.starts_with("SAVEPOINT")) { database.kept = database.handled; }
            if (sql.starts_with("ROLLBACK")) { database.handled = database.kept; }
        }
    };
    template <class Work>
    void run_own(Work work) {
        Tx tx{*this};
        work(tx);
    }
};

std::vector<std::size_t> numbers(std::size_t count) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

template <class Fail>
std::vector<std::size_t> failed_of(Database& database, std::size_t count, Fail fail) {
    Parts parts{database, [&](std::span<const std::size_t> keys) {
                    ++database.calls;
                    for (const std::size_t key : keys) {
                        database.handled.push_back(key);
                        fail(key);
                    }
                }};
    std::vector<std::size_t> keys;
    for (const FailedPart& failed : parts.hand_over(numbers(count))) { keys.push_back(failed.key); }
    return keys;
}

} // namespace

TEST_CASE("F2: of any records, those at fault are found, and the others handled once, in order") {
    std::mt19937_64 random{test::chosen_seed()};
    for (int round = 0; round < 200; ++round) {
        const std::size_t count = 1 + random() % 60;
        std::set<std::size_t> poison;
        for (std::size_t i = random() % 6; i > 0; --i) { poison.insert(random() % count); }
        Database database;
        const auto failed = failed_of(database, count, [&](std::size_t key) {
            if (poison.contains(key)) { throw std::runtime_error{"poison"}; }
        });
        CHECK(std::set<std::size_t>(failed.begin(), failed.end()) == poison);
        std::vector<std::size_t> others = numbers(count);
        std::erase_if(others, [&](std::size_t key) { return poison.contains(key); });
        CHECK(database.handled == others);
    }
}

TEST_CASE("F2: one record at fault costs two calls for each halving") {
    Database database;
    CHECK(failed_of(database, 512, [](std::size_t key) {
        if (key == 300) { throw std::runtime_error{"poison"}; }
    }) == std::vector<std::size_t>{300});
    CHECK(database.calls == 1 + 2 * 9);
}

TEST_CASE("F2: what says nothing against a record is no fault of one") {
    Database database;
    CHECK_THROWS_AS(failed_of(database, 8, [](std::size_t) { throw at::Transient{"no broker"}; }),
        at::Transient);
    CHECK(database.calls == 1);
    CHECK_THROWS_AS(failed_of(database, 8,
                        [](std::size_t) { throw at::Error{at::Errc::connection_lost, "gone"}; }),
        at::Error);
    CHECK(database.calls == 2);
}

TEST_CASE("F2: a record isn't blamed for a conflict with others, whatever the handler threw") {
    Database database;
    CHECK_THROWS_AS(failed_of(database, 8,
                        [&](std::size_t) {
                            database.in_conflict = true;
                            throw std::runtime_error{"an error of its own"};
                        }),
        std::runtime_error);
    CHECK(database.calls == 1);
}

TEST_CASE("K2: where the transaction is gone, the handler's error is told, and nothing is split") {
    Database database;
    CHECK_THROWS_AS(failed_of(database, 8,
                        [&](std::size_t) {
                            database.lost = true;
                            throw std::runtime_error{"it ended the transaction"};
                        }),
        std::runtime_error);
    CHECK(database.calls == 1);
}
