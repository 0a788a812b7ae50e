// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

/// \file
/// Text as a template argument, and the way a concept's requirement carries its sentence.

namespace aftertouch {

/// A string literal that can be a template argument. A structural type, so its member is public.
template <std::size_t N>
struct fixed_string {
    char text[N]{};

    // Implicit: a literal between template brackets is to become one of these by itself.
    consteval fixed_string(const char (&literal)[N]) noexcept {
        for (std::size_t i = 0; i < N; ++i) { text[i] = literal[i]; }
    }

    [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, N - 1}; }
};

/// False, with a sentence. A requirement `condition || unmet<"an entity needs a key: ...">()` reads
/// the same, and both compilers print the sentence with the requirement that isn't met.
template <fixed_string Sentence>
[[nodiscard]] constexpr bool unmet() noexcept {
    return false;
}

} // namespace aftertouch
