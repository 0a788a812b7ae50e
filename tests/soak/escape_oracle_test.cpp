// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include <soak/oracle.hpp>
#include <support/catch.hpp>
#include <support/soak.hpp>

// Random statements over random tables: none may change a row that the log doesn't name.
//
//   AFTERTOUCH_SEED=n         repeats a run
//   AFTERTOUCH_STATEMENTS=n   how many; 100,000 unless AFTERTOUCH_SOAK=night asks for 2 million

namespace at = aftertouch;

namespace escape_oracle {

namespace {

using test::Dice;
using test::Lab;
using test::Oracle;
using test::Shape;
using test::ShapeMaker;
using test::StatementMaker;

std::uint64_t seed() {
    static const std::uint64_t chosen = test::chosen_seed();
    return chosen;
}

std::uint64_t statements() {
    const char* text = std::getenv("AFTERTOUCH_STATEMENTS");
    if (text != nullptr) { return std::strtoull(text, nullptr, 10); }
    return test::is_night() ? 2'000'000 : 100'000;
}

// A table that SQLite accepts: some combinations it doesn't.
Shape make_shape(Dice& dice) {
    for (;;) {
        Shape shape = ShapeMaker{dice}.make();
        Lab lab;
        if (lab.attempt(shape.schema) != SQLITE_OK) { continue; }
        try {
            lab.install(test::capture_of("t", shape.columns, shape.key));
            return shape;
        } catch (const at::Error&) {
            // Refused: a key that may be null in a column without a type, say.
        }
    }
}

struct Run {
    std::size_t statements = 0;
    std::size_t changed = 0;
    std::size_t wrong = 0;
    std::string first; ///< what was wrong first, and where
};

// `harm` damages the capture of each table, for runs that must notice.
template <class Harm>
Run run(std::uint64_t seed, std::uint64_t count, std::size_t stop_after, Harm harm) {
    Run result;
    for (std::uint64_t number = 0; result.statements < count && result.wrong < stop_after;
        ++number) {
        Dice dice{seed * 1'000'003 + number};
        const Shape shape = make_shape(dice);
        Oracle oracle{shape, dice.chance(40)};
        harm(oracle);
        StatementMaker statement{dice, shape};
        std::string history;
        for (int i = 0; i < 200 && result.wrong < stop_after; ++i) {
            const std::string sql = statement.make();
            const std::string wrong = oracle.step(sql);
            history += sql + ";\n";
            ++result.statements;
            if (!wrong.empty()) {
                ++result.wrong;
                if (result.first.empty()) {
                    result.first = "AFTERTOUCH_SEED=" + std::to_string(seed) + ", table " +
                                   std::to_string(number) + ", statement " + std::to_string(i) +
                                   "\n" + shape.schema + history + wrong;
                }
                break; // the twins may differ from here on
            }
            if (oracle.over()) { break; }
            if (dice.chance(3)) { oracle.prune(); }
        }
        result.changed += oracle.changed();
    }
    return result;
}

} // namespace

TEST_CASE("I8: no statement changes a row that the log doesn't name") {
    const auto start = std::chrono::steady_clock::now();
    std::cout << "AFTERTOUCH_SEED=" << seed() << std::endl;
    const Run result = run(seed(), statements(), 1, [](Oracle&) {});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::cout << result.statements << " statements, " << result.changed << " changed rows, "
              << result.wrong << " escaped, " << took.count() << " s" << std::endl;
    std::cout << result.first; // unbroken, to be run again
    CHECK(result.wrong == 0);
    CHECK(result.changed > result.statements / 4);
}

// Doubles: captures that are known to lose changes. The oracle must see it.

TEST_CASE("the oracle notices when guards against REPLACE are missing") {
    const Run result = run(1, 20'000, 5, [](Oracle& oracle) {
        for (const char* guard : {"insert_guard", "update_guard", "rowid_guard"}) {
            oracle.captured().run("DROP TRIGGER IF EXISTS \"" +
                                  at::sqlite::trigger_name(oracle.capture(), guard) + '"');
        }
    });
    INFO(result.first);
    CHECK(result.wrong == 5);
    CHECK(result.first.find("escaped") != std::string::npos);
}

TEST_CASE("the oracle notices when the log has a constraint") {
    const Run result = run(2, 20'000, 5, [](Oracle& oracle) {
        oracle.captured().run("DROP TABLE aftertouch_log; CREATE TABLE aftertouch_log (seq INTEGER "
                              "PRIMARY KEY AUTOINCREMENT, capture, "
                              "operation, at, origin, k1 CHECK (k1 IS NOT 1), k2, k3, k4)");
    });
    INFO(result.first);
    CHECK(result.wrong == 5);
}

TEST_CASE("the oracle notices when numbers of the log come twice") {
    const Run result = run(3, 50'000, 5, [](Oracle& oracle) {
        oracle.empty_when_pruning();
        oracle.captured().run("DROP TABLE aftertouch_log; CREATE TABLE aftertouch_log (seq INTEGER "
                              "PRIMARY KEY, capture, operation, at, "
                              "origin, k1, k2, k3, k4)");
    });
    INFO(result.first);
    CHECK(result.wrong == 5);
}

} // namespace escape_oracle
