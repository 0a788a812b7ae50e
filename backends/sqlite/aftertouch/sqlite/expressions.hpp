// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/identifier.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/index_text.hpp>

/// \file
/// What expressions of a schema are worth inside a trigger: whether they have the same value over
/// NEW as over the table, and what a default will be.

namespace aftertouch::sqlite {

namespace detail {

template <std::size_t Count>
[[nodiscard]] bool is_one_of(std::string_view token, const std::string_view (&words)[Count]) {
    return std::any_of(std::begin(words), std::end(words),
        [&](std::string_view word) { return same_name(token, word); });
}

[[nodiscard]] inline bool is_number(std::string_view token) noexcept {
    return std::isdigit(static_cast<unsigned char>(token.front())) != 0;
}

/// Whether the token at `i` compares; `IS NULL` and its like don't.
[[nodiscard]] inline bool compares(const Tokens& tokens, std::size_t i) {
    constexpr std::string_view operators[] = {"=", "<", ">", "!", "IN", "BETWEEN"};
    const auto token = [&](std::size_t at) {
        return at < tokens.size() ? tokens[at] : std::string_view{};
    };
    if (same_name(token(i), "IS")) {
        return !same_name(token(i + (same_name(token(i + 1), "NOT") ? 2 : 1)), "NULL");
    }
    if (same_name(token(i), "CASE")) { return !same_name(token(i + 1), "WHEN"); }
    return is_one_of(token(i), operators);
}

/// What kinds of operands meet in a part of an expression.
struct Operands {
    bool numbers = false;
    bool texts = false;
    bool number_columns = false;
    bool text_columns = false;
    bool typeless_columns = false;
    bool arithmetic = false;
    bool others = false; ///< functions, blobs, concatenations: not looked into
    std::size_t comparisons = 0;

    // A column that stands alone gives its affinity to the other side of a comparison, which
    // matters where that is of another kind. A comparison's own result is a number.
    [[nodiscard]] bool alike() const noexcept {
        if (comparisons == 0) { return true; }
        if (others || (typeless_columns && (number_columns || text_columns))) { return false; }
        if (text_columns) { return comparisons == 1 && !(arithmetic || numbers || number_columns); }
        return !(number_columns && texts);
    }
};

[[nodiscard]] inline Operands operands_of(const Tokens& tokens, const TableFacts& facts) {
    constexpr std::string_view silent[] = {
        "AND", "OR", "NOT", "IS", "IN", "NULL", "ISNULL", "NOTNULL", "BETWEEN"};
    const auto is_any = [](std::string_view token, std::string_view characters) {
        return characters.find(token.front()) != std::string_view::npos;
    };
    Operands operands;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::string_view token = tokens[i];
        const bool two = i != 0 && is_any(token, "=<>") && is_any(tokens[i - 1], "=<>!");
        operands.comparisons += compares(tokens, i) && !two ? 1U : 0U;
        if (same_name(token, "COLLATE")) {
            ++i;
        } else if (is_number(token) || same_name(token, "TRUE") || same_name(token, "FALSE")) {
            operands.numbers = true;
        } else if (token.front() == '\'') {
            operands.texts = true;
        } else if (is_any(token, "+-*/%&~")) {
            operands.arithmetic = true;
        } else if (is_one_of(token, silent) || is_any(token, "()=<>!,.")) {
            continue;
        } else if (const ColumnFacts* column = facts.column(name_of(token)); column == nullptr) {
            operands.others = true;
        } else if (column->affinity == "TEXT") {
            operands.text_columns = true;
        } else {
            (column->affinity == "BLOB" ? operands.typeless_columns : operands.number_columns) =
                true;
        }
    }
    return operands;
}

} // namespace detail

/// Whether an expression over NEW's values has the value that it has over the table's columns.
///
/// NEW's values have no affinity: over a TEXT column with '1' in it, `a = 1` is true, over NEW it
/// isn't. Where that could matter the answer is no; it may be no where it couldn't.
[[nodiscard]] inline bool same_over_new(std::string_view expression, const TableFacts& facts) {
    const detail::Tokens tokens = detail::tokens_of(expression);
    const auto has = [&](std::string_view word) {
        return std::any_of(tokens.begin(), tokens.end(),
            [&](std::string_view token) { return detail::same_name(token, word); });
    };
    const bool whole = has("BETWEEN") || has("CASE");
    detail::Tokens part;
    std::size_t depth = 0;
    for (const std::string_view token : tokens) {
        if (token == "(") { ++depth; }
        if (token == ")" && depth != 0) { --depth; }
        if (!whole && depth == 0 &&
            (detail::same_name(token, "AND") || detail::same_name(token, "OR"))) {
            if (!detail::operands_of(part, facts).alike()) { return false; }
            part.clear();
        } else {
            part.push_back(token);
        }
    }
    return detail::operands_of(part, facts).alike();
}

namespace detail {

[[nodiscard]] inline bool has_name(const std::vector<std::string>& names, std::string_view name) {
    return std::any_of(
        names.begin(), names.end(), [&](const std::string& one) { return same_name(one, name); });
}

inline void add_names(std::vector<std::string>& names, const std::vector<std::string>& more) {
    for (const std::string& name : more) {
        if (!has_name(names, name)) { names.push_back(name); }
    }
}

inline void collect_columns(
    std::string_view expression, const TableFacts& facts, std::vector<std::string>& columns) {
    for (const ColumnFacts& column : facts.columns) {
        if (has_name(columns, column.name) || !mentions(expression, column.name)) { continue; }
        columns.push_back(column.name);
        collect_columns(column.generated, facts, columns);
    }
}

} // namespace detail

/// The columns that an expression is computed from, and those behind generated ones.
[[nodiscard]] inline std::vector<std::string> columns_behind(
    std::string_view expression, const TableFacts& facts) {
    std::vector<std::string> columns;
    detail::collect_columns(expression, facts, columns);
    return columns;
}

/// Whether an expression names a row's number otherwise than by a column.
[[nodiscard]] inline bool names_rowid(std::string_view expression, const TableFacts& facts) {
    for (const std::string_view name : {"rowid", "oid", "_rowid_"}) {
        if (facts.column(name) == nullptr && detail::mentions(expression, name)) { return true; }
    }
    return false;
}

/// The default of a column as an expression that a trigger can use; empty where it calls functions
/// that a trigger may not be allowed to call.
[[nodiscard]] inline std::string default_in_trigger(std::string_view text) {
    constexpr std::string_view words[] = {"TRUE", "FALSE", "NULL", "CURRENT_TIMESTAMP",
        "CURRENT_DATE", "CURRENT_TIME", "AND", "OR", "NOT", "IS", "CASE", "WHEN", "THEN", "ELSE",
        "END", "CAST", "AS", "INTEGER", "TEXT", "REAL", "BLOB", "X"};
    constexpr std::string_view functions[] = {"abs", "char", "coalesce", "date", "datetime", "hex",
        "ifnull", "julianday", "length", "lower", "max", "min", "nullif", "printf", "random",
        "randomblob", "replace", "round", "strftime", "substr", "time", "trim", "typeof",
        "unixepoch", "upper", "zeroblob"};
    const detail::Tokens tokens = detail::tokens_of(text);
    const auto foreign = [&](std::string_view token) {
        const bool name = detail::is_word(token.front()) || token.front() == '"' ||
                          token.front() == '`' || token.front() == '[';
        return name && !detail::is_number(token) && !detail::is_one_of(token, words) &&
               !detail::is_one_of(token, functions);
    };
    if (tokens.empty()) { return {}; }
    // A name alone stands for its text.
    if (tokens.size() == 1 && foreign(tokens.front())) {
        return quoted_text(detail::unquoted(tokens.front()));
    }
    if (std::any_of(tokens.begin(), tokens.end(), foreign)) { return {}; }
    return '(' + std::string{text} + ')';
}

} // namespace aftertouch::sqlite
