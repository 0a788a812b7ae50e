// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Reads CREATE INDEX and CREATE TABLE texts as SQLite keeps them: expressions, conditions and
/// generated columns are told no other way.

namespace aftertouch::sqlite {

namespace detail {

[[nodiscard]] inline bool is_word(char c) noexcept {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
           (c & '\x80') != 0;
}

/// The end of the token that begins at `at`: a quoted thing, a comment, a word, or one character.
[[nodiscard]] inline std::size_t token_end(std::string_view text, std::size_t at) noexcept {
    const char first = text[at];
    if (text.substr(at).starts_with("--")) { return std::min(text.find('\n', at), text.size()); }
    if (text.substr(at).starts_with("/*")) {
        const std::size_t end = text.find("*/", at + 2);
        return end == std::string_view::npos ? text.size() : end + 2;
    }
    if (first == '\'' || first == '"' || first == '`' || first == '[') {
        const char close = first == '[' ? ']' : first;
        std::size_t end = text.find(close, at + 1);
        // A doubled quote is a quote within.
        while (first != '[' && end != std::string_view::npos && end + 1 < text.size() &&
               text[end + 1] == close) {
            end = text.find(close, end + 2);
        }
        return end == std::string_view::npos ? text.size() : end + 1;
    }
    std::size_t end = at + 1;
    while (is_word(first) && end < text.size() && is_word(text[end])) { ++end; }
    return end;
}

[[nodiscard]] inline bool is_blank(std::string_view token) noexcept {
    return token.starts_with("--") || token.starts_with("/*") ||
           std::isspace(static_cast<unsigned char>(token.front())) != 0;
}

using Tokens = std::vector<std::string_view>;

/// The tokens of SQL text, without blanks and comments.
[[nodiscard]] inline Tokens tokens_of(std::string_view sql) {
    Tokens tokens;
    for (std::size_t at = 0; at < sql.size();) {
        const std::size_t end = token_end(sql, at);
        if (const auto token = sql.substr(at, end - at); !is_blank(token)) {
            tokens.push_back(token);
        }
        at = end;
    }
    return tokens;
}

/// The tokens as they stood, with one blank for whatever was between them.
[[nodiscard]] inline std::string joined(const Tokens& tokens) {
    std::string text;
    const char* end = nullptr;
    for (const std::string_view token : tokens) {
        if (!text.empty() && token.data() != end) { text += ' '; }
        text += token;
        end = token.data() + token.size();
    }
    return text;
}

/// Whether two names are one to SQLite, which folds A to Z only.
[[nodiscard]] inline bool same_name(std::string_view a, std::string_view b) noexcept {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
        [&](char x, char y) { return lower(x) == lower(y); });
}

/// A token without its quotes.
[[nodiscard]] inline std::string unquoted(std::string_view token) {
    const char quote = token.front();
    if (quote != '\'' && quote != '"' && quote != '`' && quote != '[') {
        return std::string{token};
    }
    std::string name;
    for (std::size_t i = 1; i + 1 < token.size(); ++i) {
        name += token[i];
        if (quote != '[' && token[i] == quote) { ++i; }
    }
    return name;
}

/// What a token of an expression names; text in single quotes names nothing.
[[nodiscard]] inline std::string name_of(std::string_view token) {
    return token.front() == '\'' ? std::string{} : unquoted(token);
}

/// Whether SQL text names this column anywhere.
[[nodiscard]] inline bool mentions(std::string_view sql, std::string_view column) {
    const Tokens tokens = tokens_of(sql);
    return std::any_of(tokens.begin(), tokens.end(),
        [&](std::string_view token) { return same_name(name_of(token), column); });
}

/// Whether a CREATE TABLE text makes a virtual table.
[[nodiscard]] inline bool is_virtual_table(std::string_view sql) {
    const Tokens tokens = tokens_of(sql);
    return tokens.size() > 1 && same_name(tokens[1], "VIRTUAL");
}

/// Takes `COLLATE x`, `ASC` and `DESC` off the end of an indexed term.
[[nodiscard]] inline std::string bare_term(Tokens tokens) {
    if (!tokens.empty() && (same_name(tokens.back(), "ASC") || same_name(tokens.back(), "DESC"))) {
        tokens.pop_back();
    }
    if (tokens.size() > 2 && same_name(tokens[tokens.size() - 2], "COLLATE")) {
        tokens.resize(tokens.size() - 2);
    }
    return joined(tokens);
}

/// The items of the first pair of parentheses, apart at their commas, and what follows it.
struct Listed {
    std::vector<Tokens> items;
    Tokens rest;
};

[[nodiscard]] inline Listed read_list(std::string_view sql) {
    Listed list;
    std::size_t depth = 0;
    bool done = false;
    for (const std::string_view token : tokens_of(sql)) {
        if (done) {
            list.rest.push_back(token);
            continue;
        }
        const bool opens = token == "(";
        const bool closes = token == ")" && depth != 0;
        done = closes && depth == 1;
        if (done) { continue; }
        const bool begins_item = depth == 0 ? opens : depth == 1 && token == ",";
        if (begins_item) {
            list.items.emplace_back();
        } else if (depth != 0) {
            list.items.back().push_back(token);
        }
        depth = depth + (opens ? 1U : 0U) - (closes ? 1U : 0U);
    }
    return list;
}

} // namespace detail

/// What follows ON in a CREATE INDEX statement.
struct IndexText {
    std::vector<std::string> terms; ///< each without its collation and direction
    std::string predicate;          ///< behind WHERE; empty for a whole index
};

/// Reads a CREATE INDEX statement.
[[nodiscard]] inline IndexText read_index_text(std::string_view sql) {
    IndexText index;
    detail::Listed list = detail::read_list(sql);
    for (detail::Tokens& term : list.items) {
        index.terms.push_back(detail::bare_term(std::move(term)));
    }
    if (!list.rest.empty()) { list.rest.erase(list.rest.begin()); }
    index.predicate = detail::joined(list.rest);
    return index;
}

/// What no pragma tells of a table.
struct TableText {
    struct Generated {
        std::string column;
        std::string expression;
    };
    std::vector<Generated> generated;
    bool strict = false;
    bool without_rowid = false;
    bool autoincrement = false;
};

namespace detail {

// `AS (...)` of a column's definition; empty for a column that is stored as it is given.
[[nodiscard]] inline std::string read_generated(const Tokens& definition) {
    Tokens expression;
    std::size_t depth = 0;
    bool found = false;
    for (std::size_t i = 1; i < definition.size(); ++i) {
        const std::string_view token = definition[i];
        if (token == ")" && --depth == 0 && found) { return joined(expression); }
        if (found && depth != 0) { expression.push_back(token); }
        if (token == "(" && depth++ == 0) { found = same_name(definition[i - 1], "AS"); }
    }
    return {};
}

} // namespace detail

/// Reads a CREATE TABLE statement.
[[nodiscard]] inline TableText read_table_text(std::string_view sql) {
    TableText table;
    const detail::Listed list = detail::read_list(sql);
    const auto has = [](const detail::Tokens& tokens, std::string_view word) {
        return std::any_of(tokens.begin(), tokens.end(),
            [&](std::string_view token) { return detail::same_name(token, word); });
    };
    for (const detail::Tokens& definition : list.items) {
        if (definition.empty()) { continue; }
        table.autoincrement = table.autoincrement || has(definition, "AUTOINCREMENT");
        if (std::string expression = detail::read_generated(definition); !expression.empty()) {
            table.generated.push_back(
                {detail::unquoted(definition.front()), std::move(expression)});
        }
    }
    table.strict = has(list.rest, "STRICT");
    table.without_rowid = has(list.rest, "WITHOUT");
    return table;
}

} // namespace aftertouch::sqlite
