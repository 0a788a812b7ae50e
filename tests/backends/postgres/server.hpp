// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Of a pipeline that tells nobody what happens to it.
[[nodiscard]] inline at::Options named(std::string name, at::Begin begin = at::Begin::now) {
    at::Options options;
    options.name = std::move(name);
    options.begin = begin;
    options.observer = {};
    return options;
}

struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};
/// A connection without the library.
using Own = std::unique_ptr<PGconn, Finish>;

[[nodiscard]] inline Own connect(const at::postgres::Parameters& parameters) {
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : parameters) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    Own connection{PQconnectdbParams(keywords.data(), values.data(), 0)};
    if (PQstatus(connection.get()) != CONNECTION_OK) {
        throw std::runtime_error{PQerrorMessage(connection.get())};
    }
    return connection;
}

/// The first value of the first row.
template <class T>
[[nodiscard]] T one(Database& database, std::string_view sql) {
    return database.query(at::type<T>, sql).front();
}

} // namespace test
