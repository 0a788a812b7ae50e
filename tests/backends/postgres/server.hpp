// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <aftertouch/aftertouch.hpp>
#include <postgres/fixture.hpp>

/// \file
/// A database on the tests' server, and other programs on it.

namespace test {

namespace at = aftertouch;
using Database = at::postgres::Database;
using Tx = Database::Transaction;

/// A new database, and a connection to it.
struct Shop {
    fixture::Place place{fixture::Kind::server};
    Database database{place.open()};
};

/// The first value of the first row.
template <class T>
[[nodiscard]] T one(Database& database, std::string_view sql) {
    return database.query(at::type<T>, sql).front();
}

} // namespace test
