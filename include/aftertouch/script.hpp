// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// SQL that is run by the library or printed for a DBA: the same statements, each with its reason.

namespace aftertouch {

struct ScriptStatement {
    std::string comment; ///< for the reader; may have several lines, may be empty
    std::string sql;     ///< one statement, without the semicolon behind it

    friend bool operator==(const ScriptStatement&, const ScriptStatement&) = default;
};

/// Statements in the order they are to run.
class Script {
public:
    Script& add(std::string comment, std::string sql) {
        statements_.push_back({std::move(comment), std::move(sql)});
        return *this;
    }

    Script& add(const Script& other) {
        statements_.reserve(statements_.size() + other.statements_.size());
        for (std::size_t i = 0, count = other.statements_.size(); i < count; ++i) {
            statements_.push_back(other.statements_[i]);
        }
        return *this;
    }

    /// The same between `begin` and `commit`, so that it runs whole or not at all; an empty one
    /// stays empty.
    [[nodiscard]] Script in_transaction(std::string comment, std::string begin) const {
        Script whole;
        if (empty()) { return whole; }
        whole.add(std::move(comment), std::move(begin)).add(*this).add({}, "COMMIT");
        return whole;
    }

    [[nodiscard]] const std::vector<ScriptStatement>& statements() const& noexcept {
        return statements_;
    }

    [[nodiscard]] bool empty() const noexcept { return statements_.empty(); }

    /// A file for psql or sqlite3: for each statement its comment, the SQL, a semicolon, a blank
    /// line.
    [[nodiscard]] std::string text() const {
        std::string out;
        for (const ScriptStatement& statement : statements_) {
            append_comment(out, statement.comment);
            out += statement.sql;
            out += statement.sql.ends_with(';') ? "\n\n" : ";\n\n";
        }
        return out;
    }

    template <class Traits>
    friend std::basic_ostream<char, Traits>& operator<<(
        std::basic_ostream<char, Traits>& out, const Script& script) {
        return out << std::string_view{script.text()};
    }

    friend bool operator==(const Script&, const Script&) = default;

private:
    static void append_comment(std::string& out, std::string_view comment) {
        while (!comment.empty()) {
            const std::string_view line = comment.substr(0, comment.find('\n'));
            out.append(line.empty() ? "--" : "-- ").append(line).append("\n");
            comment.remove_prefix(line.size() < comment.size() ? line.size() + 1 : line.size());
        }
    }

    std::vector<ScriptStatement> statements_;
};

} // namespace aftertouch
