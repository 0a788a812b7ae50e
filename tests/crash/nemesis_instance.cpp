// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <string>

#include <crash/nemesis.hpp>

#include <aftertouch/sqlite.hpp>

/// \file
/// One instance of a pipeline over a SQLite file, for the nemesis: `nemesis_instance FILE NAME
/// LEASE SEED WORD...`, as nemesis.hpp says.

int main(int count, char** words) {
    using aftertouch::sqlite::Database;
    return nemesis::run_instance(count, words, [](const std::string& path) {
        return std::make_unique<Database>(path,
            aftertouch::sqlite::Options{
                .busy_timeout = std::chrono::seconds{20}, .on_open = [](sqlite3* handle) {
                    sqlite3_exec(handle, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
                }});
    });
}
