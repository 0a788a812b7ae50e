// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Reads the terms and the condition out of a CREATE INDEX text; SQLite tells expressions no other way.

namespace aftertouch::sqlite {

/// What follows ON in a CREATE INDEX statement.
struct IndexText {
    std::vector<std::string> terms;  ///< each without its collation and direction
    std::string predicate;           ///< behind WHERE; empty for a whole index
};

namespace detail {

[[nodiscard]] inline bool is_word(char c) noexcept {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & '\x80') != 0;
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
        while (first != '[' && end != std::string_view::npos && end + 1 < text.size() && text[end + 1] == close) {
            end = text.find(close, end + 2);
        }
        return end == std::string_view::npos ? text.size() : end + 1;
    }
    std::size_t end = at + 1;
    while (is_word(first) && end < text.size() && is_word(text[end])) { ++end; }
    return end;
}

[[nodiscard]] inline bool is_keyword(std::string_view token, std::string_view upper) noexcept {
    if (token.size() != upper.size()) { return false; }
    for (std::size_t i = 0; i < token.size(); ++i) {
        if (std::toupper(static_cast<unsigned char>(token[i])) != upper[i]) { return false; }
    }
    return true;
}

[[nodiscard]] inline bool is_blank(std::string_view token) noexcept {
    return token.starts_with("--") || token.starts_with("/*") ||
           std::isspace(static_cast<unsigned char>(token.front())) != 0;
}

/// The tokens as they stood, with one blank for whatever was between them.
[[nodiscard]] inline std::string joined(const std::vector<std::string_view>& tokens) {
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
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

/// Whether a CREATE TABLE text, as SQLite keeps it, makes a virtual table.
[[nodiscard]] inline bool is_virtual_table(std::string_view sql) {
    constexpr std::string_view create = "CREATE ";
    return sql.size() > create.size() + 7 && is_keyword(sql.substr(create.size(), 7), "VIRTUAL");
}

/// Takes `COLLATE x`, `ASC` and `DESC` off the end of an indexed term.
[[nodiscard]] inline std::string bare_term(std::vector<std::string_view> tokens) {
    if (!tokens.empty() && (is_keyword(tokens.back(), "ASC") || is_keyword(tokens.back(), "DESC"))) { tokens.pop_back(); }
    if (tokens.size() > 2 && is_keyword(tokens[tokens.size() - 2], "COLLATE")) { tokens.resize(tokens.size() - 2); }
    return joined(tokens);
}

}  // namespace detail

/// Reads a CREATE INDEX statement as SQLite keeps it.
[[nodiscard]] inline IndexText read_index_text(std::string_view sql) {
    IndexText index;
    std::vector<std::string_view> term;
    std::size_t depth = 0;
    bool terms_done = false;
    for (std::size_t at = 0; at < sql.size();) {
        const std::size_t end = detail::token_end(sql, at);
        const std::string_view token = sql.substr(at, end - at);
        at = end;
        if (detail::is_blank(token)) { continue; }
        const bool outermost = depth == 1 && !terms_done;
        if (token == "(") { ++depth; }
        if (token == ")") { --depth; }
        if (outermost && (token == "," || (token == ")" && depth == 0))) {
            index.terms.push_back(detail::bare_term(term));
            term.clear();
            terms_done = token == ")";
        } else if ((depth > 1 || outermost || (token == ")" && depth == 1)) && !terms_done) {
            term.push_back(token);
        } else if (terms_done && !(term.empty() && detail::is_keyword(token, "WHERE"))) {
            term.push_back(token);
        } else if (terms_done) {
            term.clear();
        }
    }
    index.predicate = detail::joined(term);
    return index;
}

}  // namespace aftertouch::sqlite
