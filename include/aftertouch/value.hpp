// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <aftertouch/detail/digits.hpp>
#include <aftertouch/hash.hpp>

/// \file
/// What a column can hold, without an engine: Cell looks at it, Value owns it.

namespace aftertouch {

enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,
    real,
    text,
    blob,
    timestamp, ///< microseconds since 1970-01-01 00:00 UTC
    date,      ///< days since 1970-01-01
    uuid,      ///< 16 bytes
};

/// A noun for messages: "an integer", "text".
[[nodiscard]] constexpr std::string_view name(Kind kind) noexcept {
    switch (kind) {
        case Kind::null: return "null";
        case Kind::boolean: return "a boolean";
        case Kind::integer: return "an integer";
        case Kind::real: return "a real";
        case Kind::text: return "text";
        case Kind::blob: return "a blob";
        case Kind::timestamp: return "a timestamp";
        case Kind::date: return "a date";
        case Kind::uuid: return "a uuid";
    }
    return "an unknown kind";
}

/// A look at one value: three words, copied freely, good for as long as the bytes it points at.
class Cell {
public:
    constexpr Cell() noexcept = default;

    [[nodiscard]] static constexpr Cell null() noexcept { return {}; }
    [[nodiscard]] static constexpr Cell boolean(bool value) noexcept {
        return {Kind::boolean, value ? 1 : 0};
    }
    [[nodiscard]] static constexpr Cell integer(std::int64_t value) noexcept {
        return {Kind::integer, value};
    }
    [[nodiscard]] static constexpr Cell real(double value) noexcept {
        return {Kind::real, std::bit_cast<std::int64_t>(value)};
    }
    [[nodiscard]] static constexpr Cell text(std::string_view value) noexcept {
        return {Kind::text, value};
    }
    [[nodiscard]] static Cell blob(std::span<const std::byte> value) noexcept {
        return {Kind::blob, {reinterpret_cast<const char*>(value.data()), value.size()}};
    }
    [[nodiscard]] static constexpr Cell timestamp(std::int64_t microseconds) noexcept {
        return {Kind::timestamp, microseconds};
    }
    [[nodiscard]] static constexpr Cell date(std::int32_t days) noexcept {
        return {Kind::date, days};
    }
    [[nodiscard]] static Cell uuid(std::span<const std::byte, 16> value) noexcept {
        return {Kind::uuid, {reinterpret_cast<const char*>(value.data()), value.size()}};
    }

    [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
    [[nodiscard]] constexpr bool is_null() const noexcept { return kind_ == Kind::null; }

    /// The number of a boolean, integer, timestamp or date; 0 for every other kind.
    [[nodiscard]] constexpr std::int64_t as_integer() const noexcept {
        return holds_bytes() || kind_ == Kind::real ? 0 : number_;
    }

    /// The number of a real, bit for bit; 0 for every other kind.
    [[nodiscard]] constexpr double as_real() const noexcept {
        return kind_ == Kind::real ? std::bit_cast<double>(number_) : 0.0;
    }

    /// What a text, blob or uuid is made of; empty for every other kind.
    [[nodiscard]] constexpr std::string_view bytes() const noexcept {
        return holds_bytes() ? std::string_view{data_, size_} : std::string_view{};
    }

    /// How many bytes the value takes, for limits: those of bytes(), or of the number.
    [[nodiscard]] constexpr std::size_t size() const noexcept {
        switch (kind_) {
            case Kind::null: return 0;
            case Kind::boolean: return 1;
            case Kind::date: return 4;
            default: return holds_bytes() ? size_ : 8;
        }
    }

    /// Same kind and same content, bit for bit: NaN equals itself, 0.0 isn't -0.0.
    friend constexpr bool operator==(Cell a, Cell b) noexcept {
        if (a.kind_ != b.kind_) { return false; }
        return a.holds_bytes() ? a.bytes() == b.bytes() : a.number_ == b.number_;
    }

private:
    friend class Value;

    constexpr Cell(Kind kind, std::int64_t number) noexcept : number_{number}, kind_{kind} {}
    constexpr Cell(Kind kind, std::string_view bytes) noexcept
        : data_{bytes.data()}, size_{bytes.size()}, kind_{kind} {}

    [[nodiscard]] constexpr bool holds_bytes() const noexcept {
        return kind_ == Kind::text || kind_ == Kind::blob || kind_ == Kind::uuid;
    }

    union {
        std::int64_t number_ = 0; // a real's bits, too
        const char* data_;
    };
    std::size_t size_ = 0;
    Kind kind_ = Kind::null;
};

/// One value with its bytes. Ordered by kind, then content; a real by its bits, so that every value
/// is equal to itself and can be a map's key.
class Value {
public:
    /// Null.
    Value() noexcept = default;
    explicit Value(Cell cell) { *this = cell; }

    /// Keeps the storage it has for the bytes of the next value.
    // A template, so that `value = {}` means null and nothing else.
    template <std::same_as<Cell> C>
    Value& operator=(C cell) {
        if (cell.holds_bytes()) {
            bytes_.assign(cell.data_, cell.size_);
            number_ = 0;
        } else {
            bytes_.clear();
            number_ = cell.number_;
        }
        kind_ = cell.kind_;
        return *this;
    }

    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    [[nodiscard]] bool is_null() const noexcept { return kind_ == Kind::null; }

    /// A look at it, good until it is assigned to or gone.
    [[nodiscard]] Cell cell() const noexcept {
        const bool has_bytes = kind_ == Kind::text || kind_ == Kind::blob || kind_ == Kind::uuid;
        return has_bytes ? Cell{kind_, std::string_view{bytes_}} : Cell{kind_, number_};
    }
    [[nodiscard]] operator Cell() const noexcept { return cell(); }

    friend auto operator<=>(const Value&, const Value&) = default;
    friend bool operator==(const Value&, const Value&) = default;

private:
    Kind kind_ = Kind::null;
    std::int64_t number_ = 0;
    std::string bytes_;
};

namespace detail {

inline std::span<const std::byte> as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

} // namespace detail

/// The one printable text of a value, the form that checkpoints and dead letters store:
/// n, b0, b1, i-42, r and the real's 16 hex digits, t or x and the bytes in hex, m and
/// microseconds, d and days, u and 32 hex digits. Different values have different texts.
[[nodiscard]] inline std::string to_text(const Value& value) {
    const Cell cell = value.cell();
    switch (cell.kind()) {
        case Kind::null: return "n";
        case Kind::boolean: return cell.as_integer() != 0 ? "b1" : "b0";
        case Kind::integer: return "i" + std::to_string(cell.as_integer());
        case Kind::real: return "r" + hex(std::bit_cast<std::uint64_t>(cell.as_real()));
        case Kind::text: return "t" + detail::hex_of(cell.bytes());
        case Kind::blob: return "x" + detail::hex_of(cell.bytes());
        case Kind::timestamp: return "m" + std::to_string(cell.as_integer());
        case Kind::date: return "d" + std::to_string(cell.as_integer());
        case Kind::uuid: return "u" + detail::hex_of(cell.bytes());
    }
    return "n";
}

namespace detail {

inline std::optional<Value> number_from_text(char letter, std::string_view rest) {
    const std::optional<std::int64_t> number = integer_from(rest);
    if (!number) { return std::nullopt; }
    switch (letter) {
        case 'b':
            return *number == (*number & 1) ? std::optional{Value{Cell::boolean(*number != 0)}}
                                            : std::nullopt;
        case 'i': return Value{Cell::integer(*number)};
        case 'm': return Value{Cell::timestamp(*number)};
        default: break;
    }
    const auto days = static_cast<std::int32_t>(*number);
    return days == *number ? std::optional{Value{Cell::date(days)}} : std::nullopt;
}

inline std::optional<Value> bytes_from_text(char letter, std::string_view rest) {
    const std::optional<std::string> bytes = bytes_from_hex(rest);
    if (!bytes) { return std::nullopt; }
    if (letter == 't') { return Value{Cell::text(*bytes)}; }
    if (letter == 'x') { return Value{Cell::blob(as_bytes(*bytes))}; }
    const std::size_t expected = letter == 'u' ? 16 : 8;
    if (bytes->size() != expected) { return std::nullopt; }
    if (letter == 'u') { return Value{Cell::uuid(as_bytes(*bytes).first<16>())}; }
    std::uint64_t bits = 0;
    for (const char byte : *bytes) { bits = bits << 8U | static_cast<unsigned char>(byte); }
    return Value{Cell::real(std::bit_cast<double>(bits))};
}

} // namespace detail

/// The value that to_text() wrote, nothing for any text it can't have written.
[[nodiscard]] inline std::optional<Value> value_from(std::string_view text) {
    if (text.empty()) { return std::nullopt; }
    const char letter = text.front();
    const std::string_view rest = text.substr(1);
    switch (letter) {
        case 'n': return rest.empty() ? std::optional{Value{}} : std::nullopt;
        case 'b':
        case 'i':
        case 'm':
        case 'd': return detail::number_from_text(letter, rest);
        case 'r':
        case 't':
        case 'x':
        case 'u': return detail::bytes_from_text(letter, rest);
        default: return std::nullopt;
    }
}

} // namespace aftertouch
