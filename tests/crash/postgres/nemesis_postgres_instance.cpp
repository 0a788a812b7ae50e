// SPDX-License-Identifier: MIT
#include <memory>
#include <string>

#include <crash/nemesis.hpp>

#include <aftertouch/postgres.hpp>

/// \file
/// One instance of a pipeline over a PostgreSQL database, for the nemesis:
/// `nemesis_postgres_instance CONNECTION NAME LEASE SEED WORD...`, as nemesis.hpp says.

int main(int count, char** words) {
    using aftertouch::postgres::Database;
    return nemesis::run_instance(count, words,
        [](const std::string& connection) { return std::make_unique<Database>(connection); });
}
