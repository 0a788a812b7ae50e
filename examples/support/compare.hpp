// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <iostream>
#include <string>

#include <aftertouch/aftertouch.hpp>

#include "screen.hpp"

/// \file
/// Questions to a database, and whether two queries have the same rows.

namespace support {

namespace at = aftertouch;

template <class Database>
std::int64_t number(Database& database, const std::string& sql) {
    return database.query(at::type<std::int64_t>, sql).front();
}

/// Whether a pipeline's rebuild goes on, by the query that a person would ask the database with.
template <class Database>
bool rebuilding(Database& database) {
    const std::string status = at::status_script(database).statements().front().sql;
    return number(database,
               "SELECT count(*) FROM (" + status + ") AS s WHERE state = 'rebuilding'") != 0;
}

/// Prints whether two queries have the same rows, each as often.
template <class Database>
bool compare(Database& database, const std::string& what, const std::string& derived,
    const std::string& computed) {
    const auto count = [&](const std::string& sql) {
        return number(database, "SELECT count(*) FROM (" + sql + ") AS r");
    };
    const std::int64_t wrong = count(derived + " EXCEPT " + computed) +
                               count(computed + " EXCEPT " + derived) +
                               (count(derived) == count(computed) ? 0 : 1);
    std::cout << "   " << what << grouped(count(computed))
              << " rows: " << (wrong == 0 ? "equal" : grouped(wrong) + " differ") << '\n';
    return wrong == 0;
}

} // namespace support
