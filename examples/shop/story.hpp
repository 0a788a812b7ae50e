// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

#include "../support/compare.hpp"
#include "../support/process.hpp"
#include "../support/screen.hpp"
#include "scripts.hpp"

/// \file
/// The story: the sqlite3 shell sells, the program is started and killed, and in the end somebody
/// else counts.

namespace shop {

namespace at = aftertouch;
using support::compare;
using support::grouped;
using support::number;
using support::Process;
using support::rebuilding;
using Clock = std::chrono::steady_clock;

/// A folder that goes with the object.
class Folder {
public:
    Folder() {
        std::string name =
            (std::filesystem::temp_directory_path() / "aftertouch-shop-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            throw std::system_error{errno, std::generic_category(), "make a temporary folder"};
        }
        path_ = name;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// The sqlite3 shell at the till.
class Till {
public:
    Till(const std::string& path, std::int64_t orders)
        : shell_{{"sqlite3", "-bail", path}, true}, day_{orders} {
        shell_.send(".timeout 20000\nPRAGMA synchronous = normal;\n");
    }

    void sell(int statements) {
        for (int i = 0; i < statements; ++i) { shell_.send(day_.next()); }
        statements_ += statements;
    }

    /// Some hundred statements a second, while the program runs.
    template <class Condition>
    void sell_while(const Process& program, Condition condition) {
        const auto deadline = Clock::now() + std::chrono::minutes{2};
        while (condition()) {
            if (!program.running()) { throw std::runtime_error("the program ended by itself"); }
            if (Clock::now() > deadline) { throw std::runtime_error("the program doesn't get on"); }
            sell(4);
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    /// *Returns* how many statements it ran.
    std::int64_t close() {
        if (shell_.wait() != 0) { throw std::runtime_error("the sqlite3 shell failed"); }
        return statements_;
    }

private:
    Process shell_;
    Day day_;
    std::int64_t statements_ = 0;
};

inline void open_shop(const std::string& path, std::int64_t orders) {
    Process shell{{"sqlite3", path}, true};
    shell.send(opening(orders));
    const int status = shell.wait();
    if (status == 127) {
        throw std::runtime_error("there is no sqlite3 shell: install it (apt-get install sqlite3)");
    }
    if (status != 0) { throw std::runtime_error("the sqlite3 shell could not make the shop"); }
}

/// How many rows; none as long as there is no such table.
inline std::int64_t rows(at::sqlite::Database& database, const std::string& table) {
    const std::string there = "SELECT count(*) FROM sqlite_schema WHERE name = '" + table + "'";
    return number(database, there) == 0 ? 0 : number(database, "SELECT count(*) FROM " + table);
}

inline void kill_it(at::sqlite::Database& database, Process& program) {
    program.kill(SIGKILL);
    if (program.wait() != -SIGKILL) { throw std::runtime_error("the program ended by itself"); }
    support::end_of_progress();
    std::cout << "   Killed while it " << (rebuilding(database) ? "rebuilds" : "follows")
              << " (SIGKILL). In the file are the totals of " << grouped(rows(database, "counted"))
              << " orders, and " << grouped(rows(database, "order_text")) << " in the index.\n";
}

inline bool compare_all(at::sqlite::Database& database) {
    bool equal =
        compare(database, "totals by customer    ", "SELECT customer, orders, cents FROM total",
            "SELECT customer, count(*), sum(cents) FROM orders GROUP BY customer");
    equal &= compare(database, "indexed orders        ", "SELECT rowid, note FROM order_text",
        "SELECT id, note FROM orders");
    for (const std::string word : {"jasmine", "green tea", "white tea"}) {
        equal &= compare(database, "search for " + word + std::string(11 - word.size(), ' '),
            "SELECT rowid FROM order_text WHERE order_text MATCH '\"" + word + "\"'",
            "SELECT id FROM orders WHERE note LIKE '%" + word + "%'");
    }
    return equal;
}

/// Runs `program follow FILE`, kills it twice, and compares. *Returns* whether all that it derived
/// is right.
inline bool tell(const std::string& program, std::int64_t orders) {
    if (orders < 20'000) {
        throw std::runtime_error(
            "with fewer than 20000 orders there is no time to kill the program");
    }
    std::signal(SIGPIPE, SIG_IGN); // a shell that ends early is told of by its exit status
    const Folder folder;
    const std::string path = folder.file("shop.db");
    const std::vector<std::string> follow{program, "follow", path};
    const auto say = [](const std::string& text) { std::cout << text << std::endl; };

    say("1. The sqlite3 shell makes a shop: " + grouped(orders) + " orders of 1,000 customers.");
    open_shop(path, orders);
    at::sqlite::Database database{path};
    Till till{path, orders};

    say("\n2. The program starts. It keeps totals by customer, and a full text index. Both are "
        "new: a rebuild hands\n"
        "   over every order, while the shell goes on: it sells, changes, renumbers, deletes, "
        "replaces.");
    {
        Process first{follow, true};
        till.sell_while(first, [&] { return rows(database, "counted") < orders * 2 / 5; });
        kill_it(database, first);
    }
    say("\n3. The program starts again. Its rebuilds go on where they were; then it follows the "
        "shell.");
    {
        Process second{follow, true};
        till.sell_while(second, [&] { return rebuilding(database); });
        const auto then = Clock::now() + std::chrono::seconds{2};
        till.sell_while(second, [&] { return Clock::now() < then; });
        kill_it(database, second);
    }
    say("\n4. The shell goes on alone. Then the program starts a third time, and catches up.");
    till.sell(500);
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    Process third{follow, true};
    till.sell(500);
    const std::int64_t statements = till.close();
    if (third.wait() != 0) { throw std::runtime_error("the program failed"); }

    say("\n5. The shell is done, after " + grouped(statements) +
        " statements. What was derived, and what the orders say now:");
    const bool equal = compare_all(database);
    say(equal ? "\nAll is equal: killed twice, and no change was lost or counted twice."
              : "\nNOT all is equal: what the program derived is wrong.");
    return equal;
}

} // namespace shop
