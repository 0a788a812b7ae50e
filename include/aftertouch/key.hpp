// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/value.hpp>

/// \file
/// Keys as the engine stores them: one form for each key that the database calls equal, and an
/// index over a batch's keys.

namespace aftertouch {

/// How a database compares the text of a key part, where that isn't byte for byte.
enum class KeyFold : std::uint8_t {
    exact,
    ascii_case,     ///< SQLite's NOCASE: A to Z equal a to z
    trailing_spaces ///< SQLite's RTRIM
};

namespace detail {

inline void append_number(std::string& form, char letter, std::uint64_t bits) {
    char bytes[1 + sizeof bits];
    bytes[0] = letter;
    for (std::size_t i = 0; i < sizeof bits; ++i) {
        bytes[1 + i] = static_cast<char>(bits >> (8 * i) & 0xFFU);
    }
    form.append(bytes, sizeof bytes);
}

inline void append_text(std::string& form, char letter, std::string_view text, KeyFold fold) {
    if (fold == KeyFold::trailing_spaces) {
        const std::size_t last = text.find_last_not_of(' ');
        text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
    }
    append_number(form, letter, text.size());
    const std::size_t begin = form.size();
    form.append(text);
    if (fold != KeyFold::ascii_case) { return; }
    bool compared = true;
    for (std::size_t i = begin; i < form.size(); ++i) {
        // SQLite compares no further than a NUL byte, but for the length.
        compared = compared && form[i] != '\0';
        if (!compared) { form[i] = '\0'; }
        if (form[i] >= 'A' && form[i] <= 'Z') { form[i] = static_cast<char>(form[i] - 'A' + 'a'); }
    }
}

} // namespace detail

/// Appends the form of one key part: a letter for its kind, then its content, texts with their
/// length in front.
///
/// The form is injective, and equal for values that compare equal in the database: 1 and 1.0, and
/// texts under `fold`. It is the same on every machine: lanes are dealt by it.
inline void append_key_form(std::string& form, Cell part, KeyFold fold = KeyFold::exact) {
    switch (part.kind()) {
        case Kind::text:
        case Kind::blob:
        case Kind::uuid:
            return detail::append_text(form,
                part.kind() == Kind::text   ? 't'
                : part.kind() == Kind::blob ? 'x'
                                            : 'u',
                part.bytes(), part.kind() == Kind::text ? fold : KeyFold::exact);
        case Kind::real: {
            const double real = part.as_real();
            constexpr double limit = 9223372036854775808.0;
            if (real >= -limit && real < limit &&
                static_cast<double>(static_cast<std::int64_t>(real)) == real) {
                return append_key_form(form, Cell::integer(static_cast<std::int64_t>(real)));
            }
            return detail::append_number(form, 'r', std::bit_cast<std::uint64_t>(real));
        }
        case Kind::null: form += 'n'; return;
        default:
            return detail::append_number(form, 'i', static_cast<std::uint64_t>(part.as_integer()));
    }
}

/// The same for all parts of a key, one fold for each.
inline void append_key_form(
    std::string& form, std::span<const Cell> key, std::span<const KeyFold> folds) {
    for (std::size_t i = 0; i < key.size(); ++i) { append_key_form(form, key[i], folds[i]); }
}

/// A set of key forms with the order in which they came. Its storage is reused.
class KeyIndex {
public:
    void clear() noexcept {
        forms_.clear();
        ends_.clear();
        slots_.assign(slots_.size(), 0);
    }

    /// The number of a key's form, counted from 0, and whether it is new.
    std::pair<std::size_t, bool> insert(std::span<const Cell> key, std::span<const KeyFold> folds) {
        if ((ends_.size() + 1) * 4 > slots_.size()) { grow(); }
        const std::size_t begin = forms_.size();
        append_key_form(forms_, key, folds);
        const std::size_t slot = find_slot(std::string_view{forms_}.substr(begin));
        if (slots_[slot] != 0) {
            forms_.resize(begin);
            return {slots_[slot] - 1U, false};
        }
        ends_.push_back(forms_.size());
        slots_[slot] = static_cast<std::uint32_t>(ends_.size());
        return {ends_.size() - 1, true};
    }

    [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
    [[nodiscard]] std::string_view form(std::size_t number) const noexcept {
        const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
        return std::string_view{forms_}.substr(begin, ends_[number] - begin);
    }

private:
    [[nodiscard]] std::size_t find_slot(std::string_view wanted) const noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = hash(wanted) & mask;
        while (slots_[slot] != 0 && form(slots_[slot] - 1U) != wanted) { slot = (slot + 1) & mask; }
        return slot;
    }

    // By words, since most keys are numbers; the high bits are folded down at the end.
    [[nodiscard]] static std::size_t hash(std::string_view form) noexcept {
        constexpr std::uint64_t prime = 0x9e3779b97f4a7c15;
        std::uint64_t hash = form.size();
        for (; form.size() >= sizeof hash; form.remove_prefix(sizeof hash)) {
            std::uint64_t word = 0;
            std::memcpy(&word, form.data(), sizeof word);
            hash = (hash ^ word) * prime;
        }
        for (const char byte : form) { hash = (hash ^ static_cast<unsigned char>(byte)) * prime; }
        return static_cast<std::size_t>(hash ^ hash >> 32U);
    }

    void grow() {
        slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, 0);
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            slots_[find_slot(form(i))] = static_cast<std::uint32_t>(i + 1);
        }
    }

    std::string forms_;                // one behind the other
    std::vector<std::size_t> ends_;    // of each form
    std::vector<std::uint32_t> slots_; // open addressing: number + 1, or 0
};

} // namespace aftertouch
