// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// What happened to a row, and the sets of operations that a capture asks for.

namespace aftertouch {

/// The letter is what the change log stores.
enum class Operation : char {
    inserted = 'I',
    updated = 'U',
    deleted = 'D',
    truncated = 'X', ///< the whole table at once
    touched = 'T',   ///< something may have happened to this key
    present = 'P',   ///< a row handed over by a rebuild
};

[[nodiscard]] constexpr std::string_view name(Operation operation) noexcept {
    switch (operation) {
        case Operation::inserted: return "inserted";
        case Operation::updated: return "updated";
        case Operation::deleted: return "deleted";
        case Operation::truncated: return "truncated";
        case Operation::touched: return "touched";
        case Operation::present: return "present";
    }
    return "unknown";
}

/// The operation a letter of the change log stands for, nothing for any other letter.
[[nodiscard]] constexpr std::optional<Operation> operation_from(char letter) noexcept {
    switch (letter) {
        case 'I': return Operation::inserted;
        case 'U': return Operation::updated;
        case 'D': return Operation::deleted;
        case 'X': return Operation::truncated;
        case 'T': return Operation::touched;
        case 'P': return Operation::present;
        default: return std::nullopt;
    }
}

/// A set of the operations that triggers can be asked to capture.
class Operations {
public:
    /// The empty set.
    constexpr Operations() noexcept = default;

    /// *Requires* inserted, updated or deleted; the others are not for asking and add nothing.
    constexpr explicit Operations(Operation operation) noexcept : bits_{bit(operation)} {}

    [[nodiscard]] static constexpr Operations all() noexcept { return Operations{std::uint8_t{7}}; }

    [[nodiscard]] constexpr bool contains(Operation operation) const noexcept {
        return (bits_ & bit(operation)) != 0;
    }

    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

    /// Always in the same order: "insert,update,delete".
    [[nodiscard]] std::string text() const {
        std::string out;
        const auto add = [&](Operation operation, const char* word) {
            if (contains(operation)) { out.append(out.empty() ? "" : ",").append(word); }
        };
        add(Operation::inserted, "insert");
        add(Operation::updated, "update");
        add(Operation::deleted, "delete");
        return out;
    }

    [[nodiscard]] friend constexpr Operations operator|(Operations a, Operations b) noexcept {
        return Operations{static_cast<std::uint8_t>(a.bits_ | b.bits_)};
    }

    friend constexpr bool operator==(Operations, Operations) noexcept = default;

private:
    constexpr explicit Operations(std::uint8_t bits) noexcept : bits_{bits} {}

    static constexpr std::uint8_t bit(Operation operation) noexcept {
        switch (operation) {
            case Operation::inserted: return 1;
            case Operation::updated: return 2;
            case Operation::deleted: return 4;
            default: return 0;
        }
    }

    std::uint8_t bits_ = 0;
};

inline constexpr Operations inserts{Operation::inserted};
inline constexpr Operations updates{Operation::updated};
inline constexpr Operations deletes{Operation::deleted};

} // namespace aftertouch
