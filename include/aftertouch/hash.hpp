// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// The hash behind shortened object names and definitions' fingerprints: a format, not a detail.

namespace aftertouch {

/// 64 bit FNV-1a (offset basis 14695981039346656037, prime 1099511628211). Names in databases are
/// made of it, so its results never change between versions, compilers or machines.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view bytes) noexcept {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char byte : bytes) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 1099511628211ULL;
    }
    return hash;
}

/// Exactly sixteen lower-case hexadecimal digits, the highest first.
[[nodiscard]] inline std::string hex(std::uint64_t number) {
    std::string digits(16, '0');
    for (std::size_t i = digits.size(); i-- > 0; number >>= 4U) {
        digits[i] = "0123456789abcdef"[number & 15U];
    }
    return digits;
}

} // namespace aftertouch
