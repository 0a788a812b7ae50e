// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/postgres.hpp>

/// \file
/// What the programs of the soak share: the tables that writers fill, what the writers say they
/// committed, and what a follower says it was given.

namespace soak {

namespace at = aftertouch;

/// Followed with images, by touches, and for a sum.
struct Item {
    std::int64_t id = 0;
    std::int64_t account = 0;
    std::int64_t amount = 0;
    std::int64_t version = 0;
};

/// A partitioned table with a key of two parts, the first of which moves a row.
struct Stock {
    std::string area;
    std::int64_t bin = 0;
    std::int64_t version = 0;
};

/// Its follower changes it again, `hops` times.
struct Echo {
    std::int64_t id = 0;
    std::int64_t version = 0;
    std::int64_t hops = 0;
};

} // namespace soak

template <>
struct aftertouch::EntityTraits<soak::Stock> {
    static constexpr auto key = aftertouch::key<&soak::Stock::area, &soak::Stock::bin>;
};

namespace soak {

/// `truth`: each change of a key's state, written behind the change in the writer's own
/// transaction, so that the numbers of one key come in the order of its row locks, which is the
/// order of the commits; no version where the row is gone. `ledger`: each change as it was handed
/// over; without a unique key, which would hide what comes twice. `later_snapshot` is for a double.
inline constexpr const char* tables = R"(
CREATE TABLE item (id bigint PRIMARY KEY, account bigint NOT NULL, amount bigint NOT NULL,
                   version bigint NOT NULL);
CREATE TABLE stock (area text NOT NULL, bin bigint NOT NULL, version bigint NOT NULL,
                    PRIMARY KEY (area, bin)) PARTITION BY LIST (area);
CREATE TABLE stock_north PARTITION OF stock FOR VALUES IN ('north');
CREATE TABLE stock_south PARTITION OF stock FOR VALUES IN ('south');
CREATE TABLE echo (id bigint PRIMARY KEY, version bigint NOT NULL, hops bigint NOT NULL);
CREATE TABLE total (account bigint PRIMARY KEY, amount bigint NOT NULL, items bigint NOT NULL);
CREATE TABLE truth (n bigint GENERATED ALWAYS AS IDENTITY, source text NOT NULL, key text NOT NULL,
                    version bigint);
CREATE TABLE ledger (n bigint GENERATED ALWAYS AS IDENTITY, pipeline text NOT NULL, change text,
                     operation text NOT NULL, key text NOT NULL, version bigint);
CREATE FUNCTION later_snapshot() RETURNS pg_snapshot LANGUAGE plpgsql VOLATILE AS
    'BEGIN PERFORM pg_sleep(0.02); RETURN pg_current_snapshot(); END';
)";

/// Accounts that differ from a computation from scratch.
inline constexpr const char* wrong_totals = R"(
SELECT count(*) FROM (SELECT account, sum(amount) AS amount, count(*) AS items FROM item
                      GROUP BY account) AS scratch
FULL JOIN (SELECT * FROM total WHERE items <> 0 OR amount <> 0) AS total USING (account)
WHERE scratch.amount IS DISTINCT FROM total.amount OR scratch.items IS DISTINCT FROM total.items
)";

[[nodiscard]] inline std::string key_text(std::int64_t id) { return std::to_string(id); }
[[nodiscard]] inline std::string key_text(const std::tuple<std::string, std::int64_t>& key) {
    return std::get<0>(key) + std::to_string(std::get<1>(key));
}

[[nodiscard]] inline std::int64_t state_of(const Item& item) { return item.version; }
[[nodiscard]] inline std::int64_t state_of(const Stock& stock) { return stock.version; }
[[nodiscard]] inline std::int64_t state_of(const Echo& echo) {
    return echo.version * 10 + echo.hops;
}

} // namespace soak
