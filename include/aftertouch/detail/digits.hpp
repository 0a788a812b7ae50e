// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// \file
/// Bytes and numbers as digits and back, strictly: every value has one text.

namespace aftertouch::detail {

[[nodiscard]] inline std::string hex_of(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char byte : bytes) {
        out += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4U];
        out += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15U];
    }
    return out;
}

[[nodiscard]] constexpr std::optional<char> byte_from_hex(char high, char low) noexcept {
    constexpr std::string_view alphabet = "0123456789abcdef";
    const std::size_t h = alphabet.find(high);
    const std::size_t l = alphabet.find(low);
    if (h == std::string_view::npos || l == std::string_view::npos) { return std::nullopt; }
    return static_cast<char>(h * 16 + l);
}

[[nodiscard]] inline std::optional<std::string> bytes_from_hex(std::string_view digits) {
    if (digits.size() % 2 != 0) { return std::nullopt; }
    std::string out;
    out.reserve(digits.size() / 2);
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        const std::optional<char> byte = byte_from_hex(digits[i], digits[i + 1]);
        if (!byte) { return std::nullopt; }
        out += *byte;
    }
    return out;
}

/// A decimal number as to_text() writes it: no plus, no leading zero, no "-0", nothing behind it.
[[nodiscard]] inline std::optional<std::int64_t> integer_from(std::string_view digits) {
    std::int64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc{} || stopped != end || std::to_string(number) != digits) {
        return std::nullopt;
    }
    return number;
}

} // namespace aftertouch::detail
