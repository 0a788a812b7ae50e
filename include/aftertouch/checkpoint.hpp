// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/detail/digits.hpp>
#include <aftertouch/value.hpp>

/// \file
/// The durable progress of one pipeline, and its one text form (P4).

namespace aftertouch {

/// How far a rebuild has come.
struct RebuildCursor {
    /// Rises with each rebuild: the microsecond since 1970 when it began, or one more than the
    /// last. So a target is swept right also where the checkpoint before was lost.
    std::int64_t generation = 0;
    bool first = false; ///< the pipeline had no checkpoint before it, so its target is new
    bool running = false;
    std::int64_t done = 0;  ///< rows handed over by the running rebuild
    std::int64_t total = 0; ///< rows of the source when it began, an estimate
    std::vector<Value>
        last; ///< order and key of the last row handed over; empty before the first page
    friend bool operator==(const RebuildCursor&, const RebuildCursor&) = default;
};

/// How many lanes a pipeline may have.
inline constexpr std::int64_t most_lanes = 64;

/// Changes behind a position that were dealt to lanes, and aren't all handled yet: which lanes have
/// theirs is kept beside.
struct Deal {
    std::int64_t id = 0;        ///< no other deal's: the microsecond since 1970 when it was made
    std::int64_t lanes = 0;     ///< how many they were dealt to
    std::int64_t changes = 0;   ///< of the log, from the position on
    std::string to;             ///< the position behind them
    bool leaves_own = false;    ///< changes of the pipeline's own handler aren't among them
    std::int64_t instances = 1; ///< how many share the lanes: more than one claim each first
    std::string by{};           ///< what decides a key's lane (`LaneRule::text`)
    friend bool operator==(const Deal&, const Deal&) = default;
};

/// What a pipeline needs to go on: the log it reads, how far it has read it, its rebuild, and what
/// its lanes have in hand.
///
/// Its size is bounded by the size of one key.
struct Checkpoint {
    std::string log;      ///< identity of the log and of the capture in it; no spaces
    std::string position; ///< the backend's own text; no spaces
    RebuildCursor rebuild;
    std::optional<Deal> deal{}; ///< never while a rebuild runs
    std::string low{}; ///< how far the log was read for changes of low priority, as `position`;
                       ///< empty where the source knows none
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// The text of a checkpoint that isn't begun: a lease was taken, and there is nothing to go on
/// from.
inline constexpr std::string_view unbegun_checkpoint = "at1";

/// A checkpoint as a database keeps it.
struct StoredCheckpoint {
    std::string text;
    std::int64_t version = 0;  ///< rises by one with each batch; what the next one is compared with
    std::int64_t attempts = 0; ///< how often the batch behind it has failed; below zero where that
                               ///< is of low priority
};

/// The form that is stored: `at1 LOG POSITION gGENERATION` (`G` if it is the first; `/LOW` behind
/// it where the source knows changes of low priority), and
/// ` rDONE/TOTAL` with the cursor's values while a rebuild runs, or ` dID/LANES/CHANGES/TO`
/// (`D` without changes of its own; `LANESxINSTANCES` where several share them, and behind
/// that `kBY` where not all of a key decides).
[[nodiscard]] inline std::string to_text(const Checkpoint& checkpoint) {
    const RebuildCursor& rebuild = checkpoint.rebuild;
    std::string text = "at1 ";
    text.reserve(checkpoint.log.size() + 128); // most often that is room enough
    text.append(checkpoint.log).append(1, ' ').append(checkpoint.position);
    text.append(rebuild.first ? " G" : " g").append(std::to_string(rebuild.generation));
    if (!checkpoint.low.empty()) { text.append(1, '/').append(checkpoint.low); }
    if (const auto& deal = checkpoint.deal) {
        text += (deal->leaves_own ? " D" : " d") + std::to_string(deal->id) + '/' +
                std::to_string(deal->lanes);
        if (deal->instances != 1) { text += 'x' + std::to_string(deal->instances); }
        if (!deal->by.empty()) { text.append(1, 'k').append(deal->by); }
        text += '/' + std::to_string(deal->changes) + '/' + deal->to;
    }
    if (!rebuild.running) { return text; }
    text += " r" + std::to_string(rebuild.done) + '/' + std::to_string(rebuild.total);
    for (const Value& value : rebuild.last) { text += ' ' + to_text(value); }
    return text;
}

namespace detail {

[[nodiscard]] inline std::optional<std::int64_t> whole_number(std::string_view digits) {
    const std::optional<std::int64_t> number = integer_from(digits);
    return number && *number >= 0 ? number : std::nullopt;
}

// Takes the next word off `text`; nothing at the end or for two spaces in a row.
[[nodiscard]] inline std::optional<std::string_view> next_word(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (word.empty()) { return std::nullopt; }
    text.remove_prefix(word.size());
    if (!text.empty()) { text.remove_prefix(1); }
    return word;
}

[[nodiscard]] inline bool read_cursor(
    std::string_view counts, std::string_view rest, RebuildCursor& cursor) {
    const std::size_t slash = counts.find('/');
    if (!counts.starts_with('r') || slash == std::string_view::npos) { return false; }
    const auto done = whole_number(counts.substr(1, slash - 1));
    const auto total = whole_number(counts.substr(slash + 1));
    if (!done || !total) { return false; }
    cursor.running = true;
    cursor.done = *done;
    cursor.total = *total;
    while (!rest.empty()) {
        const auto word = next_word(rest);
        auto value = word ? value_from(*word) : std::nullopt;
        if (!value) { return false; }
        cursor.last.push_back(std::move(*value));
    }
    return true;
}

// Takes what stands in front of the next slash off `text`; nothing where there is none.
[[nodiscard]] inline std::optional<std::string_view> next_part(std::string_view& text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) { return std::nullopt; }
    const std::string_view part = text.substr(0, slash);
    text.remove_prefix(slash + 1);
    return part;
}

[[nodiscard]] inline std::optional<Deal> deal_from(std::string_view text) {
    Deal deal;
    deal.leaves_own = text.front() == 'D';
    text.remove_prefix(1);
    const auto id = next_part(text);
    auto lanes = next_part(text);
    const auto changes = next_part(text);
    if (!id || !lanes || !changes || text.empty()) { return std::nullopt; }
    if (const std::size_t by = lanes->find('k'); by != std::string_view::npos) {
        deal.by = lanes->substr(by + 1);
        lanes = lanes->substr(0, by);
    }
    const std::size_t shared = lanes->find('x');
    const bool is_shared = shared != std::string_view::npos;
    const std::array numbers{whole_number(*id), whole_number(lanes->substr(0, shared)),
        whole_number(*changes), whole_number(is_shared ? lanes->substr(shared + 1) : "1")};
    for (const auto& number : numbers) {
        if (!number || *number == 0) { return std::nullopt; }
    }
    deal.id = *numbers[0];
    deal.lanes = *numbers[1];
    deal.changes = *numbers[2];
    deal.instances = *numbers[3];
    deal.to = text;
    return deal.lanes <= most_lanes ? std::optional{std::move(deal)} : std::nullopt;
}

} // namespace detail

/// Reads the stored form; nothing for any other text.
[[nodiscard]] inline std::optional<Checkpoint> checkpoint_from(std::string_view text) {
    if (text.ends_with(' ')) { return std::nullopt; }
    const auto form = detail::next_word(text);
    const auto log = detail::next_word(text);
    const auto position = detail::next_word(text);
    const auto generation = detail::next_word(text);
    if (form != "at1" || !log || !position || !generation) { return std::nullopt; }
    if (generation->front() != 'g' && generation->front() != 'G') { return std::nullopt; }
    const std::string_view low =
        generation->substr(std::min(generation->find('/'), generation->size()));
    const auto number =
        detail::whole_number(generation->substr(1, generation->size() - low.size() - 1));
    if (!number || low.size() == 1) { return std::nullopt; }
    Checkpoint checkpoint{std::string{*log}, std::string{*position}, {}};
    if (!low.empty()) { checkpoint.low = low.substr(1); }
    checkpoint.rebuild.generation = *number;
    checkpoint.rebuild.first = generation->front() == 'G';
    if (text.empty()) { return checkpoint; }
    const auto counts = detail::next_word(text);
    if (counts && (counts->front() == 'd' || counts->front() == 'D') && text.empty()) {
        checkpoint.deal = detail::deal_from(*counts);
        return checkpoint.deal ? std::optional{std::move(checkpoint)} : std::nullopt;
    }
    if (!counts || !detail::read_cursor(*counts, text, checkpoint.rebuild)) { return std::nullopt; }
    return checkpoint;
}

} // namespace aftertouch
