// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

/// \file
/// What the programs of the soak share: two tables that writers fill, what the writers say they
/// committed, and what a follower says it was given.

namespace soak {

namespace at = aftertouch;

/// A table with an INTEGER PRIMARY KEY and two more unique indexes that REPLACE can meet.
struct Item {
    std::int64_t id = 0;
    std::optional<std::string> code;
    std::optional<std::int64_t> place;
    std::int64_t version = 0;
};

/// A WITHOUT ROWID table with a key of two parts.
struct Stock {
    std::string area;
    std::int64_t bin = 0;
    std::int64_t version = 0;
};

} // namespace soak

template <>
struct aftertouch::EntityTraits<soak::Stock> {
    static constexpr auto key = aftertouch::key<&soak::Stock::area, &soak::Stock::bin>;
};

namespace soak {

/// `truth`: each change of a key's state in the order of the commits, in the writer's own
/// transaction; no version where the row is gone. `ledger`: each change as it was handed over;
/// without a unique key, which would hide what comes twice.
inline constexpr const char* tables = R"(
CREATE TABLE item (id INTEGER PRIMARY KEY, code TEXT UNIQUE, place INTEGER, version INTEGER NOT NULL);
CREATE UNIQUE INDEX item_place ON item (place % 1000) WHERE place IS NOT NULL;
CREATE TABLE stock (area TEXT NOT NULL, bin INTEGER NOT NULL, version INTEGER NOT NULL,
                    PRIMARY KEY (area, bin)) WITHOUT ROWID;
CREATE TABLE truth (n INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT, key TEXT, version INTEGER);
)";
inline constexpr const char* ledger_tables = R"(
CREATE TABLE ledger (n INTEGER PRIMARY KEY AUTOINCREMENT, pipeline TEXT, change TEXT, operation TEXT,
                     key TEXT, version INTEGER);
)";

[[nodiscard]] inline std::string key_text(std::int64_t id) { return std::to_string(id); }
[[nodiscard]] inline std::string key_text(const std::tuple<std::string, std::int64_t>& key) {
    return std::get<0>(key) + std::to_string(std::get<1>(key));
}

} // namespace soak
