// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

/// \file
/// What every fuzz target uses. A target is one function over bytes, as libFuzzer calls it; what it
/// finds wrong ends the program.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

/// Ends the program, with what should have held.
inline void require(bool holds, std::string_view what) {
    if (holds) { return; }
    std::fprintf(stderr, "fuzz: doesn't hold: %.*s\n", static_cast<int>(what.size()), what.data());
    std::abort();
}

/// Takes choices off the front of an input; an input that is used up answers zeros.
class Input {
public:
    Input(const std::uint8_t* data, std::size_t size)
        : rest_{reinterpret_cast<const char*>(data), size} {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

    std::size_t below(std::size_t count) {
        return count == 0 ? 0 : static_cast<unsigned char>(bytes(1).front()) % count;
    }
    /// Exactly so many bytes.
    std::string bytes(std::size_t count) {
        std::string taken{rest_.substr(0, std::min(count, rest_.size()))};
        rest_.remove_prefix(taken.size());
        taken.resize(count, '\0');
        return taken;
    }
    /// A text of at most `longest` bytes, its length in front.
    std::string text(std::size_t longest) {
        std::string taken{rest_.substr(0, 0)};
        const std::size_t length = std::min(below(longest + 1), rest_.size());
        return bytes(length);
    }

private:
    std::string_view rest_;
};

} // namespace fuzz
