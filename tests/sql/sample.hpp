// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

/// \file
/// The sample table whose scripts lie in sql/, and how they are rendered.

namespace sample {

namespace at = aftertouch;

struct Account {
    std::int64_t id = 0;
    std::string owner;
    double balance = 0;
    std::optional<std::string> note;
};

inline constexpr std::string_view table =
    "CREATE TABLE \"account\" (id INTEGER PRIMARY KEY, owner TEXT NOT NULL COLLATE NOCASE UNIQUE, "
    "balance REAL NOT NULL, note TEXT)";

inline const auto touch = at::source<Account>();
inline const auto images =
    at::source<Account>().images().exclude<&Account::note>().named("account_images");
inline const auto low = at::source<Account>().low_priority().named("account_low");

/// The text of a file in sql/sqlite: how it came to be, then the script.
[[nodiscard]] inline std::string file(const at::Script& script) {
    return "-- Rendered by Aftertouch " + std::string{at::version} +
           " from backends/sqlite; approve a change with: cmake --build build --target sql\n\n" +
           script.text();
}

// A printed script is a transaction; its first part makes what all captures share.
[[nodiscard]] inline std::map<std::string, std::string> split(const at::Script& whole) {
    at::Script shared;
    at::Script capture;
    bool declared = false;
    const auto& statements = whole.statements();
    for (std::size_t i = 1; i + 1 < statements.size(); ++i) {
        declared = declared ||
                   statements[i].sql.starts_with("INSERT INTO \"main\".\"aftertouch_capture\"");
        (declared ? capture : shared).add(statements[i].comment, statements[i].sql);
    }
    const auto& begin = statements.front();
    return {{"001_change_log.sql", file(shared.in_transaction(begin.comment, begin.sql))},
        {"capture_account.sql", file(capture.in_transaction(begin.comment, begin.sql))}};
}

/// Every file of sql/sqlite by its name.
[[nodiscard]] inline std::map<std::string, std::string> rendered() {
    at::sqlite::Database database{":memory:"};
    database.execute(table);
    at::Script sample_table;
    sample_table.add("The sample table that the other files are for.", std::string{table});
    std::map<std::string, std::string> files = split(at::install_script(database, touch));
    files["000_sample_table.sql"] = file(sample_table);
    at::install(database, touch);
    files["status.sql"] = file(at::status_script(database));
    files["remove.sql"] = file(at::remove_script(database, touch));
    files["capture_account_images.sql"] = file(at::install_script(database, images));
    files["capture_account_low.sql"] = file(at::install_script(database, low));
    at::install(database, images);
    files["prune.sql"] = file(at::prune_script(database));
    files["release_account_images.sql"] = file(at::remove_script(database, images));
    files["release_account.sql"] = file(at::remove_script(database, touch));
    return files;
}

} // namespace sample
