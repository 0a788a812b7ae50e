// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include <aftertouch/error.hpp>
#include <aftertouch/hash.hpp>

/// \file
/// Names and literals in SQL text: the only place where text is quoted, for every engine.

namespace aftertouch {

namespace detail {

/// The length of the UTF-8 sequence that `text` begins with, 0 if it begins with none.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80U) { return 1; }
    const std::size_t length = lead < 0xC2U   ? 0
                               : lead < 0xE0U ? 2
                               : lead < 0xF0U ? 3
                               : lead < 0xF5U ? 4
                                              : 0;
    if (length == 0 || text.size() < length) { return 0; }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) { return 0; }
    }
    const bool overlong = (lead == 0xE0U && byte(1) < 0xA0U) || (lead == 0xF0U && byte(1) < 0x90U);
    const bool surrogate = lead == 0xEDU && byte(1) > 0x9FU;
    const bool beyond = lead == 0xF4U && byte(1) > 0x8FU;
    return overlong || surrogate || beyond ? 0 : length;
}

[[nodiscard]] constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
[[nodiscard]] constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

[[nodiscard]] constexpr char to_lower(char c) noexcept {
    return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace detail

/// Whether the bytes are UTF-8 without overlong forms, surrogates or numbers above U+10FFFF.
[[nodiscard]] constexpr bool valid_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t length = detail::utf8_length(text);
        if (length == 0) { return false; }
        text.remove_prefix(length);
    }
    return true;
}

/// The table name that a class name stands for: OrderLine is order_line, HTTPServer http_server,
/// Order2Line order2_line. Only A to Z are touched; snake case comes back as it was.
[[nodiscard]] inline std::string snake_case(std::string_view name) {
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char before = i == 0 ? '_' : name[i - 1];
        const char after = i + 1 < name.size() ? name[i + 1] : '_';
        const bool word_ends = detail::is_lower(before) || detail::is_digit(before);
        const bool acronym_ends = detail::is_upper(before) && detail::is_lower(after);
        if (detail::is_upper(name[i]) && (word_ends || acronym_ends)) { out += '_'; }
        out += detail::to_lower(name[i]);
    }
    return out;
}

namespace detail {

inline std::string quoted_with(char quote, std::string_view text, const char* what) {
    if (text.find('\0') != std::string_view::npos) {
        throw Error{Errc::invalid_argument,
            std::string{what} + " holds a NUL byte, which SQL text can't carry: remove it"};
    }
    if (!valid_utf8(text)) {
        throw Error{Errc::invalid_argument,
            std::string{what} + " isn't valid UTF-8: convert it before it gets here"};
    }
    std::string out;
    out.reserve(text.size() + 2);
    out += quote;
    for (const char c : text) {
        if (c == quote) { out += quote; }
        out += c;
    }
    out += quote;
    return out;
}

} // namespace detail

/// An SQL identifier that stands for exactly this text, reserved word or not.
/// *Throws* Error(invalid_argument) for an empty one, a NUL byte, or invalid UTF-8.
[[nodiscard]] inline std::string quoted(std::string_view identifier) {
    if (identifier.empty()) {
        throw Error{Errc::invalid_argument,
            "an SQL identifier is empty: give the table, column or object a name"};
    }
    return detail::quoted_with('"', identifier, "an SQL identifier");
}

// For a std::string, <iomanip>'s std::quoted would be found too, and would fit better.
[[nodiscard]] inline std::string quoted(const std::string& identifier) {
    return quoted(std::string_view{identifier});
}
[[nodiscard]] inline std::string quoted(std::string& identifier) {
    return quoted(std::string_view{identifier});
}
[[nodiscard]] inline std::string quoted(const char* identifier) {
    return quoted(std::string_view{identifier});
}

/// An SQL text literal that stands for exactly this text.
/// *Throws* Error(invalid_argument) for a NUL byte or invalid UTF-8.
[[nodiscard]] inline std::string quoted_text(std::string_view text) {
    return detail::quoted_with('\'', text, "an SQL text literal");
}

/// A table's name; without a schema the connection's own search order decides.
struct TableName {
    std::string schema;
    std::string name;

    /// For SQL text. *Throws* as aftertouch::quoted() does.
    [[nodiscard]] std::string quoted() const {
        const std::string table = aftertouch::quoted(name);
        return schema.empty() ? table : aftertouch::quoted(schema) + "." + table;
    }

    /// For people and messages.
    [[nodiscard]] std::string text() const { return schema.empty() ? name : schema + "." + name; }

    friend auto operator<=>(const TableName&, const TableName&) = default;
};

/// The name of a database object made for `readable`: prefix, underscore, readable if that fits
/// into the limit; else as much of it as leaves room for an underscore and sixteen digits of its
/// hash, cut between characters. The same input gives the same name for ever. *Throws*
/// Error(invalid_argument) if the prefix leaves no room.
[[nodiscard]] inline std::string object_name(
    std::string_view prefix, std::string_view readable, std::size_t limit_bytes = 63) {
    std::string out{prefix};
    out += '_';
    if (out.size() + readable.size() <= limit_bytes) { return out += readable; }
    const std::string tail = "_" + hex(fnv1a(readable));
    if (out.size() + tail.size() > limit_bytes) {
        throw Error{Errc::invalid_argument, "the object name prefix \"" + std::string{prefix} +
                                                "\" leaves no room for a name: shorten it"};
    }
    std::size_t cut = limit_bytes - out.size() - tail.size();
    while (cut > 0 && (static_cast<unsigned char>(readable[cut]) & 0xC0U) == 0x80U) { --cut; }
    return out.append(readable, 0, cut) + tail;
}

} // namespace aftertouch
