// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// \file
/// Random tables with everything that can be unique in SQLite.

namespace test {

/// A source of choices that a seed repeats.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine_{seed} {}

    [[nodiscard]] std::size_t below(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>{0, count - 1}(engine_);
    }
    [[nodiscard]] bool chance(std::size_t percent) { return below(100) < percent; }
    template <class T>
    [[nodiscard]] const T& one_of(const std::vector<T>& all) {
        return all[below(all.size())];
    }

private:
    std::mt19937_64 engine_;
};

/// A table `t`, as SQL and as what a capture of it needs to know.
struct Shape {
    std::string schema;
    std::vector<std::string> columns; ///< all, generated ones too
    std::vector<std::string> written; ///< those that statements may write
    std::vector<std::string> key;
    bool has_rowid = true;
    bool has_triggers = false; ///< or references, that write the table within a statement
};

/// Makes shapes.
class ShapeMaker {
public:
    explicit ShapeMaker(Dice& dice) : dice_{dice} {}

    [[nodiscard]] Shape make() {
        shape_ = {};
        definitions_.clear();
        strict_ = dice_.chance(15);
        const std::string options = make_key();
        const std::size_t count = 2 + dice_.below(3);
        for (std::size_t i = 0; i < count; ++i) { add_column("c" + std::to_string(i)); }
        if (alias_ && dice_.chance(20)) { add_reference(); }
        for (std::size_t i = 0; i < 2; ++i) {
            if (dice_.chance(35)) { add_generated("g" + std::to_string(i)); }
        }
        shape_.schema = "CREATE TABLE t (";
        for (std::size_t i = 0; i < definitions_.size(); ++i) {
            shape_.schema += (i == 0 ? "" : ", ") + definitions_[i];
        }
        const bool comma = !options.empty() && strict_;
        shape_.schema += constraint_ + ") " + options + (comma ? ", " : "") +
                         (strict_ ? "STRICT" : "") + ";\n" + key_index_;
        for (std::size_t i = dice_.below(4); i > 0; --i) { add_index(i); }
        if (dice_.chance(25)) { add_trigger(); }
        return shape_;
    }

private:
    // The table's options.
    std::string make_key() {
        constraint_ = key_index_ = {};
        alias_ = true;
        const auto text = [&] {
            return std::string{
                strict_ ? "TEXT"
                        : dice_.one_of<std::string>({"TEXT", "", "INTEGER", "NUMERIC", "BLOB"})};
        };
        const auto collation = [&] {
            return dice_.one_of<std::string>({"", "", " COLLATE NOCASE", " COLLATE RTRIM"});
        };
        switch (dice_.below(8)) {
            case 0: add("id", "INTEGER PRIMARY KEY"); return key({"id"});
            case 1: add("id", "INTEGER PRIMARY KEY AUTOINCREMENT"); return key({"id"});
            case 2:
                add("id", "INTEGER PRIMARY KEY");
                add("k", text() + collation() + " NOT NULL UNIQUE");
                return key({"k"});
            case 3:
                add("id", "INTEGER PRIMARY KEY");
                add("k", text() + " NOT NULL");
                constraint_ = ", UNIQUE (k, id)";
                return key({"k", "id"});
            default: alias_ = false;
        }
        switch (dice_.below(4)) {
            case 0: add("k", text() + collation() + " PRIMARY KEY NOT NULL"); return key({"k"});
            case 1:
                add("k", text() + " NOT NULL");
                key_index_ = "CREATE UNIQUE INDEX key ON t (k COLLATE NOCASE);\n";
                return key({"k"});
            case 2: add("k", text() + collation() + " PRIMARY KEY NOT NULL"); break;
            default:
                add("a", text() + collation());
                add("b", text());
                constraint_ = ", PRIMARY KEY (a, b)";
        }
        shape_.has_rowid = false;
        return key(shape_.columns.size() == 1 ? std::vector<std::string>{"k"}
                                              : std::vector<std::string>{"b", "a"},
            "WITHOUT ROWID");
    }

    std::string key(std::vector<std::string> names, const char* options = "") {
        shape_.key = std::move(names);
        return options;
    }

    void add(const std::string& name, const std::string& definition) {
        definitions_.push_back(name + ' ' + definition);
        shape_.columns.push_back(name);
        shape_.written.push_back(name);
    }

    std::string conflict() {
        return dice_.one_of<std::string>(
            {"", "", "", " ON CONFLICT REPLACE", " ON CONFLICT IGNORE"});
    }

    std::string type() {
        return strict_ ? dice_.one_of<std::string>({"ANY", "TEXT", "INTEGER", "ANY"})
                       : dice_.one_of<std::string>(
                             {"", "INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "VARCHAR(9)"});
    }

    void add_column(const std::string& name) {
        std::string definition =
            type() + dice_.one_of<std::string>({"", "", "", " COLLATE NOCASE", " COLLATE RTRIM"});
        if (dice_.chance(25)) {
            definition += " NOT NULL" + conflict();
            if (dice_.chance(70)) {
                definition += " DEFAULT " +
                              dice_.one_of<std::string>({"1", "'a'", "'1'", "(1 + 1)", "a_word"});
            }
        }
        if (dice_.chance(35)) { definition += " UNIQUE" + conflict(); }
        if (dice_.chance(5)) { definition += " CHECK (" + name + " IS NOT 5)"; }
        add(name, definition);
    }

    // A reference's actions write the table before AFTER triggers run.
    void add_reference() {
        shape_.has_triggers = true;
        const std::string action =
            dice_.one_of<std::string>({"CASCADE", "SET NULL", "SET DEFAULT"});
        add("p", std::string{strict_ ? "ANY" : ""} + " REFERENCES t (id) ON DELETE " + action +
                     " ON UPDATE CASCADE" +
                     dice_.one_of<std::string>({"", " DEFERRABLE INITIALLY DEFERRED"}) +
                     (dice_.chance(20) ? " UNIQUE" + conflict() : ""));
    }

    void add_generated(const std::string& name) {
        const std::string expression = this->expression();
        definitions_.push_back(name + ' ' + type() + " AS (" + expression + ")" +
                               (dice_.chance(50) ? " STORED" : "") +
                               (dice_.chance(60) ? " UNIQUE" + conflict() : ""));
        shape_.columns.push_back(name);
    }

    std::string column() { return dice_.one_of(shape_.columns); }

    std::string expression() {
        const std::string x = column();
        const std::string y = column();
        return dice_.one_of<std::string>({"lower(" + x + ")", x + " || " + y,
            "coalesce(" + x + ", " + y + ")", "length(" + x + ")", x + " = " + y, x + " = 1",
            x + " < 'b'", "CASE WHEN " + x + " = 1 THEN " + y + " END",
            "CASE " + x + " WHEN '1' THEN " + y + " ELSE 0 END", x + " IS NOT NULL",
            "typeof(" + x + ")", x + " + 1", "substr(" + x + ", 1, 1)", x + " IN (1, 'a')",
            x + " BETWEEN 0 AND 'b'", "ifnull(" + x + ", 0) % 3",
            "iif(" + x + " > " + y + ", " + x + ", " + y + ")", "max(" + x + ", " + y + ")",
            "nullif(" + x + ", " + y + ")", "(" + x + " = '1') || " + y, "-" + x, x + " LIKE 'a%'",
            x + " IS " + y, "lower(" + x + ") = " + y, "hex(" + x + ")"});
    }

    std::string condition() {
        const std::string x = column();
        const std::string y = column();
        std::vector<std::string> all{x + " IS NOT NULL", x + " = 0", x + " = '1'", x + " <> 'a'",
            x + " > 0 AND " + y + " IS NULL", x + " IN (0, 1)", x + " = " + y, x + " LIKE 'a%'",
            "NOT " + x, x + " >= '1' OR " + y + " = 1", x};
        if (shape_.has_rowid) { all.emplace_back("rowid > 2"); }
        return dice_.one_of(all);
    }

    void add_index(std::size_t number) {
        std::string terms;
        for (std::size_t i = 1 + dice_.below(2); i > 0; --i) {
            terms += (terms.empty() ? "" : ", ") +
                     (dice_.chance(50) ? column() : '(' + expression() + ')') +
                     dice_.one_of<std::string>(
                         {"", "", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"}) +
                     dice_.one_of<std::string>({"", "", " DESC"});
        }
        shape_.schema += "CREATE UNIQUE INDEX i" + std::to_string(number) + " ON t (" + terms +
                         ")" + (dice_.chance(40) ? " WHERE " + condition() : "") + ";\n";
    }

    void add_trigger() {
        const std::string x = dice_.one_of(shape_.written);
        const std::string y = dice_.one_of(shape_.written);
        shape_.has_triggers = true;
        shape_.schema +=
            "CREATE TRIGGER theirs " +
            dice_.one_of<std::string>({"AFTER INSERT ON t BEGIN UPDATE OR IGNORE t SET " + x +
                                           " = NEW." + y + " WHERE " + x + " IS NULL; END",
                "AFTER UPDATE ON t BEGIN UPDATE OR REPLACE t SET " + x + " = OLD." + x + " WHERE " +
                    y + " IS NEW." + y + "; END",
                "AFTER DELETE ON t WHEN OLD." + x + " = 1 BEGIN DELETE FROM t WHERE " + y +
                    " IS OLD." + y + "; END",
                "BEFORE INSERT ON t BEGIN DELETE FROM t WHERE " + x + " = NEW." + y + "; END",
                "BEFORE UPDATE ON t WHEN NEW." + x + " IS 2 BEGIN SELECT RAISE(IGNORE); END",
                "AFTER UPDATE ON t WHEN NEW." + x + " IS 3 BEGIN SELECT RAISE(IGNORE); END",
                "AFTER INSERT ON t WHEN NEW." + x +
                    " IS 4 BEGIN SELECT RAISE(FAIL, 'theirs'); END"}) +
            ";\n";
    }

    Dice& dice_;
    Shape shape_;
    std::vector<std::string> definitions_;
    std::string constraint_;
    std::string key_index_;
    bool strict_ = false;
    bool alias_ = true; // the column id is the row's number
};

} // namespace test
