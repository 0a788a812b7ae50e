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
[[nodiscard]] inline std::optional<std::array<char, 16>> uuid_from(std::string_view text) {
    if (text.size() != 36) { return std::nullopt; }
    std::string digits;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash != (text[i] == '-')) { return std::nullopt; }
        digits.append(dash ? 0 : 1, text[i]);
    }
    const std::optional<std::string> bytes = detail::bytes_from_hex(digits);
    if (!bytes) { return std::nullopt; }
    std::array<char, 16> out{};
    bytes->copy(out.data(), out.size());
    return out;
}

} // namespace aftertouch
