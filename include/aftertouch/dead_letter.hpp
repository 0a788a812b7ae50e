// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/change.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Changes that are set aside since their handler failed (F3), and the text form that keeps one.

namespace aftertouch {

/// One change that is set aside; those of the same record behind it wait for it. Without images,
/// changes of one kind that follow each other are one, and the record's next touch tries again.
struct DeadLetter {
    std::int64_t id = 0;   ///< rises in the order in which they were set aside
    std::string record;    ///< the record's key, to be read by people
    std::string key;       ///< the same, as the library writes it
    std::string operation; ///< its name
    std::string error;     ///< of its last attempt; empty for one that waits behind another
    std::int64_t attempts = 0;
    Timestamp parked_at;   ///< this machine's clock
    bool released = false; ///< it is handed over next
};

namespace detail {

/// A change with all that a handler is told of it.
struct KeptChange {
    ChangeId id;
    Operation operation = Operation::touched;
    Timestamp at;
    std::vector<Value> key;
    std::vector<Value> before; ///< empty without an image
    std::vector<Value> after;
};

[[nodiscard]] inline std::string words(const std::vector<Value>& values) {
    std::string text;
    for (const Value& value : values) {
        text.append(text.empty() ? "" : " ").append(to_text(value));
    }
    return text;
}

/// The words that `words` wrote; nothing for any other text.
[[nodiscard]] inline std::optional<std::vector<Value>> values_from(std::string_view text) {
    std::vector<Value> values;
    while (!text.empty()) {
        const auto word = next_word(text);
        auto value = word ? value_from(*word) : std::nullopt;
        if (!value) { return std::nullopt; }
        values.push_back(*std::move(value));
    }
    return values;
}

/// The form that is stored: the operation's letter, the change's number and item, microseconds
/// since 1970, how many values its row had before, and these and those after. The key stands
/// beside it.
[[nodiscard]] inline std::string to_text(const KeptChange& change) {
    std::string text(1, static_cast<char>(change.operation));
    for (const std::int64_t number : {change.id.seq, std::int64_t{change.id.item},
             std::int64_t{change.at.time_since_epoch().count()},
             static_cast<std::int64_t>(change.before.size())}) {
        text.append(1, ' ').append(std::to_string(number));
    }
    for (const std::vector<Value>* image : {&change.before, &change.after}) {
        if (!image->empty()) { text.append(1, ' ').append(words(*image)); }
    }
    return text;
}

/// Reads it, with the words of its key; nothing for any other text.
[[nodiscard]] inline std::optional<KeptChange> kept_change_from(
    std::string_view key, std::string_view text) {
    const auto letter = next_word(text);
    const auto operation =
        letter && letter->size() == 1 ? operation_from(letter->front()) : std::nullopt;
    std::int64_t numbers[4] = {};
    for (std::int64_t& number : numbers) {
        const auto word = next_word(text);
        const auto read = word ? integer_from(*word) : std::nullopt;
        if (!read) { return std::nullopt; }
        number = *read;
    }
    auto keys = values_from(key);
    auto images = values_from(text);
    if (!operation || !keys || !images || numbers[3] < 0 ||
        numbers[3] > static_cast<std::int64_t>(images->size())) {
        return std::nullopt;
    }
    KeptChange change;
    change.operation = *operation;
    change.id = {numbers[0], static_cast<std::int32_t>(numbers[1])};
    change.at = Timestamp{std::chrono::microseconds{numbers[2]}};
    change.key = *std::move(keys);
    const auto middle = images->begin() + static_cast<std::ptrdiff_t>(numbers[3]);
    change.before.assign(images->begin(), middle);
    change.after.assign(middle, images->end());
    return change;
}

} // namespace detail

} // namespace aftertouch
