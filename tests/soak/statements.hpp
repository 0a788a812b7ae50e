// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <soak/shapes.hpp>

/// \file
/// Random statements over random tables.

namespace test {

/// Makes statements over one shape.
class StatementMaker {
public:
    StatementMaker(Dice& dice, const Shape& shape) : dice_{dice}, shape_{shape} {}

    [[nodiscard]] std::string make() {
        switch (dice_.below(20)) {
            case 0: return "DELETE FROM t WHERE " + where() + returning();
            case 1:
                return dice_.one_of<std::string>(
                    {"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "COMMIT", "ROLLBACK"});
            case 2: return dice_.one_of<std::string>({"SAVEPOINT s", "ROLLBACK TO s", "RELEASE s"});
            case 3: return pragma();
            case 4:
            case 5:
            case 6:
            case 7:
            case 8:
            case 9: return update();
            default: return insert();
        }
    }

private:
    std::string value() {
        return dice_.one_of<std::string>(
            {"NULL", "0", "1", "2", "3", "4", "5", "-1", "1.0", "0.5", "''", "'a'", "'A'", "'a '",
                "'b'", "'1'", "'2'", "x'61'", "x''", "'a' || char(0) || 'b'"});
    }
    std::string column() { return dice_.one_of(shape_.columns); }
    std::string where() {
        const std::string x = column();
        return dice_.one_of<std::string>({x + " = " + value(), x + " IS " + value(),
            x + " > " + value(), "true", x + " < " + value()});
    }
    std::string clause(const char* or_replace) {
        return dice_.chance(45) ? or_replace
                                : dice_.one_of<std::string>({"", "", " OR ABORT", " OR FAIL",
                                      " OR IGNORE", " OR ROLLBACK"});
    }
    std::string returning() { return dice_.chance(10) ? " RETURNING *" : ""; }

    // Some of the columns that can be written, and at times the row's number by another name.
    std::vector<std::string> some_columns() {
        std::vector<std::string> names;
        for (const std::string& name : shape_.written) {
            if (dice_.chance(75)) { names.push_back(name); }
        }
        if (shape_.has_rowid && dice_.chance(8)) { names.insert(names.begin(), "rowid"); }
        if (names.empty()) { names.push_back(shape_.written.front()); }
        return names;
    }

    std::string insert() {
        const std::vector<std::string> names = some_columns();
        std::string list;
        for (const std::string& name : names) { list += (list.empty() ? "" : ", ") + name; }
        std::string sql = "INSERT" + clause(" OR REPLACE") + " INTO t (" + list + ") ";
        if (dice_.chance(8)) {
            sql += "SELECT ";
            for (std::size_t i = 0; i < names.size(); ++i) {
                sql += (i == 0 ? "" : ", ") + (dice_.chance(50) ? column() : value());
            }
            return sql + " FROM t WHERE " + where() + " LIMIT 4" + returning();
        }
        for (std::size_t row = 1 + (dice_.chance(25) ? dice_.below(3) : 0); row > 0; --row) {
            sql += sql.ends_with(' ') ? "VALUES (" : ", (";
            for (std::size_t i = 0; i < names.size(); ++i) {
                sql += (i == 0 ? "" : ", ") + value();
            }
            sql += ')';
        }
        if (dice_.chance(12)) {
            const std::string x = dice_.one_of(shape_.written);
            sql += dice_.one_of<std::string>(
                {" ON CONFLICT DO NOTHING", " ON CONFLICT DO UPDATE SET " + x + " = excluded." + x,
                    " ON CONFLICT DO UPDATE SET " + x + " = " + value() + " WHERE " +
                        where_of("t." + column())});
        }
        return sql + returning();
    }

    std::string where_of(const std::string& x) { return x + " IS NOT " + value(); }

    std::string update() {
        std::string sql = "UPDATE" + clause(" OR REPLACE") + " t SET ";
        const std::vector<std::string> names = some_columns();
        const std::size_t count = 1 + dice_.below(dice_.chance(70) ? 2 : names.size());
        for (std::size_t i = 0; i < count && i < names.size(); ++i) {
            sql += (i == 0 ? "" : ", ") + names[(i + first_) % names.size()] + " = " +
                   (dice_.chance(20)      ? column()
                       : dice_.chance(10) ? column() + " + 1"
                                          : value());
        }
        ++first_;
        if (dice_.chance(6)) {
            return sql + " FROM t AS n WHERE n." + column() + " = t." + column() + returning();
        }
        return sql + " WHERE " + where() + returning();
    }

    std::string pragma() {
        return dice_.one_of<std::string>({"PRAGMA recursive_triggers = on",
            "PRAGMA recursive_triggers = off", "PRAGMA foreign_keys = on",
            "PRAGMA foreign_keys = off", "PRAGMA ignore_check_constraints = on",
            "PRAGMA ignore_check_constraints = off", "PRAGMA trusted_schema = off",
            "PRAGMA trusted_schema = on", "PRAGMA defer_foreign_keys = on", "ANALYZE", "REINDEX"});
    }

    Dice& dice_;
    const Shape& shape_;
    std::size_t first_ = 0;
};

} // namespace test
