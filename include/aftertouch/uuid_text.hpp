// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <aftertouch/detail/digits.hpp>

/// \file
/// A uuid as text and back, for engines without a type for it.

namespace aftertouch {

/// "01234567-89ab-cdef-0123-456789abcdef" for sixteen bytes. *Requires* sixteen bytes.
[[nodiscard]] inline std::string uuid_text(std::string_view bytes) {
    std::string out = detail::hex_of(bytes);
    for (const std::size_t dash : {8U, 13U, 18U, 23U}) { out.insert(dash, 1, '-'); }
    return out;
}

/// The sixteen bytes that uuid_text() wrote, nothing for any other text. Capital letters are
/// refused: a key that is read in one spelling and looked up in another is never found.
[[nodiscard]] constexpr std::optional<std::array<char, 16>> uuid_from(
    std::string_view text) noexcept {
    if (text.size() != 36) { return std::nullopt; }
    std::array<char, 16> out{};
    std::size_t at = 0;
    for (char& byte : out) {
        if (at == 8 || at == 13 || at == 18 || at == 23) {
            if (text[at++] != '-') { return std::nullopt; }
        }
        const std::optional<char> value = detail::byte_from_hex(text[at], text[at + 1]);
        if (!value) { return std::nullopt; }
        byte = *value;
        at += 2;
    }
    return out;
}

} // namespace aftertouch
