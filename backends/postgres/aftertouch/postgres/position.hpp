// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/detail/digits.hpp>

/// \file
/// Places in a PostgreSQL log: windows between two snapshots, and the marks that bound a search in
/// it (design: positions). No client library.

namespace aftertouch::postgres {

/// The transactions that had ended at a moment, as pg_snapshot tells them.
struct Snapshot {
    std::uint64_t xmin = 0;               ///< every one below had ended
    std::uint64_t xmax = 0;               ///< none from here on had
    std::vector<std::uint64_t> running{}; ///< those between that hadn't, ascending
    friend bool operator==(const Snapshot&, const Snapshot&) = default;

    /// Whether transaction `xid` had ended.
    [[nodiscard]] bool sees(std::uint64_t xid) const noexcept {
        return xid < xmin ||
               (xid < xmax && !std::binary_search(running.begin(), running.end(), xid));
    }

    /// Whether a transaction that ran here has ended in the other one.
    [[nodiscard]] bool has_ended_in(const Snapshot& other) const noexcept {
        return std::any_of(
            running.begin(), running.end(), [&](std::uint64_t xid) { return other.sees(xid); });
    }

    /// Whether it sees all that the other one does.
    [[nodiscard]] bool sees_all_of(const Snapshot& other) const noexcept {
        return other.xmax <= xmax && !has_ended_in(other);
    }

    /// A snapshot that sees what both see.
    [[nodiscard]] Snapshot in_common(const Snapshot& other) const {
        Snapshot both{0, std::min(xmax, other.xmax), {}};
        std::set_union(running.begin(), running.end(), other.running.begin(), other.running.end(),
            std::back_inserter(both.running));
        std::erase_if(both.running, [&](std::uint64_t xid) { return xid >= both.xmax; });
        both.xmin = both.running.empty() ? both.xmax : both.running.front();
        return both;
    }

    /// `10:20:10,14`, with another character for the colon where a position holds it.
    [[nodiscard]] std::string text(char colon = ':') const {
        std::string out = std::to_string(xmin) + colon + std::to_string(xmax) + colon;
        for (const std::uint64_t xid : running) {
            if (out.back() != colon) { out += ','; }
            out += std::to_string(xid);
        }
        return out;
    }

    /// What `text` wrote; nothing for any other text.
    [[nodiscard]] static std::optional<Snapshot> from(std::string_view text, char colon = ':');
};

namespace detail {

// A number of 63 bits as std::to_string writes it.
[[nodiscard]] inline std::optional<std::int64_t> number_from(std::string_view digits) {
    const std::optional<std::int64_t> number = aftertouch::detail::integer_from(digits);
    return number && *number >= 0 ? number : std::nullopt;
}

// Takes what stands before the next `separator`, or all of it.
[[nodiscard]] inline std::string_view take_until(std::string_view& text, char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return part;
}

} // namespace detail

inline std::optional<Snapshot> Snapshot::from(std::string_view text, char colon) {
    if (std::count(text.begin(), text.end(), colon) != 2) { return std::nullopt; }
    const auto xmin = detail::number_from(detail::take_until(text, colon));
    const auto xmax = detail::number_from(detail::take_until(text, colon));
    if (!xmin || !xmax || *xmin < 1 || *xmin > *xmax) { return std::nullopt; }
    Snapshot snapshot{static_cast<std::uint64_t>(*xmin), static_cast<std::uint64_t>(*xmax), {}};
    if (text.ends_with(',')) { return std::nullopt; }
    while (!text.empty()) {
        const auto xid = detail::number_from(detail::take_until(text, ','));
        const std::uint64_t least =
            snapshot.running.empty() ? snapshot.xmin : snapshot.running.back() + 1;
        if (!xid || static_cast<std::uint64_t>(*xid) < least || *xid >= *xmax) {
            return std::nullopt;
        }
        snapshot.running.push_back(static_cast<std::uint64_t>(*xid));
    }
    return snapshot;
}

/// A place in the log: everything that `seen` sees is handled, and of what `window->until` sees
/// beyond that, the part up to (`seq`, `item`).
struct Position {
    struct Window {
        Snapshot until;
        std::int64_t last = 0; ///< no change that `until` sees has a higher number
        std::int64_t seq = 0;  ///< handled up to this number
        std::int32_t item = 0; ///< how many keys of the row with that number are; 0: all of them

        /// Whether less of the same window is handled.
        [[nodiscard]] bool is_before(const Window& other) const noexcept {
            if (seq != other.seq || item == other.item) { return seq < other.seq; }
            return item != 0 && (other.item == 0 || item < other.item);
        }
    };

    Snapshot seen;
    std::int64_t last = 0;          ///< the log's highest number when `seen` was taken
    std::optional<Window> window{}; ///< while it isn't used up
    bool late = false; ///< came here past changes of transactions that ended late; isn't stored

    /// Goes to the end of the window. *Requires* that there is one.
    void pass_window() {
        late = false;
        seen = std::move(window->until);
        last = window->last;
        window.reset();
    }

    /// The same place, from which a read meets again what a read met that went on to `to`, in the
    /// order in which it did: in the window that it opened.
    [[nodiscard]] Position reopened(const Position& to) const {
        Position from = *this;
        if (!from.window) {
            from.window = to.window ? Window{to.window->until, to.window->last, 0, 0}
                                    : Window{to.seen, to.last, 0, 0};
        }
        return from;
    }

    /// The last place that has nothing in front of it but what both have, or one before it: this
    /// one where the other is behind it.
    [[nodiscard]] Position in_common(const Position& other) const {
        Position both = *this;
        if (window && !other.seen.sees_all_of(window->until)) {
            const bool same = other.window && window->until == other.window->until;
            if (!same || other.window->is_before(*window)) {
                both.window = same ? other.window : std::nullopt;
            }
        }
        if (other.seen.sees_all_of(seen)) { return both; }
        return {seen.in_common(other.seen), std::min(last, other.last), {}};
    }

    /// Whether the same changes are in front of both, as far as the numbers given out tell: what a
    /// pipeline that reads nothing but changes of others has passed (K2).
    friend bool operator==(const Position& a, const Position& b) noexcept {
        if (a.last != b.last || a.late != b.late || a.window.has_value() != b.window.has_value()) {
            return false;
        }
        return !a.window || (a.window->last == b.window->last && a.window->seq == b.window->seq &&
                                a.window->item == b.window->item);
    }
    /// Whether there may be a change that `a` hasn't and `b` has behind it. Transactions that wrote
    /// no change leave both where they are.
    friend bool operator<(const Position& a, const Position& b) noexcept {
        return a.last < b.last || a.seen.has_ended_in(b.seen);
    }

    /// `10-20-10,14_7`, and inside a window `_12-25-_9_8.0` behind it.
    [[nodiscard]] std::string text() const {
        std::string out = seen.text('-') + '_' + std::to_string(last);
        if (!window) { return out; }
        return out + '_' + window->until.text('-') + '_' + std::to_string(window->last) + '_' +
               std::to_string(window->seq) + '.' + std::to_string(window->item);
    }
    /// What `text` wrote; nothing for any other text.
    [[nodiscard]] static std::optional<Position> from(std::string_view text) {
        const std::string_view whole = text;
        Position position;
        auto seen = Snapshot::from(detail::take_until(text, '_'), '-');
        const auto last = detail::number_from(detail::take_until(text, '_'));
        if (!seen || !last) { return std::nullopt; }
        position.seen = *std::move(seen);
        position.last = *last;
        if (!text.empty()) { position.window = window_from(text); }
        return position.text() == whole ? std::optional{std::move(position)} : std::nullopt;
    }

private:
    [[nodiscard]] static std::optional<Window> window_from(std::string_view text) {
        auto until = Snapshot::from(detail::take_until(text, '_'), '-');
        const auto last = detail::number_from(detail::take_until(text, '_'));
        const auto seq = detail::number_from(detail::take_until(text, '.'));
        const auto item = detail::number_from(text);
        if (!until || !last || !seq || !item || *item > std::numeric_limits<std::int32_t>::max()) {
            return std::nullopt;
        }
        return Window{*std::move(until), *last, *seq, static_cast<std::int32_t>(*item)};
    }
};

/// A fact about a log: its highest number was `seq` before transaction `xid` was given out. So what
/// that one or a later one wrote has a higher number.
struct Mark {
    std::uint64_t xid = 0;
    std::int64_t seq = 0;
    friend auto operator<=>(const Mark&, const Mark&) = default;
};

/// The marks that a pipeline keeps: at most sixteen. Where it may begin to search is told by the
/// greatest that is old enough; without one it searches the whole log.
class Marks {
public:
    static constexpr std::size_t most = 16;

    [[nodiscard]] bool empty() const noexcept { return marks_.empty(); }
    [[nodiscard]] const std::vector<Mark>& all() const noexcept { return marks_; }
    void clear() noexcept { marks_.clear(); }

    void add(Mark mark) {
        marks_.insert(std::upper_bound(marks_.begin(), marks_.end(), mark), mark);
    }

    /// Behind which number everything lies that `until` sees and `seen` doesn't.
    [[nodiscard]] std::int64_t search_begin(
        const Snapshot& seen, const Snapshot& until) const noexcept {
        const auto ended = std::find_if(seen.running.begin(), seen.running.end(),
            [&](std::uint64_t xid) { return until.sees(xid); });
        const std::uint64_t oldest = ended == seen.running.end() ? seen.xmax : *ended;
        std::int64_t begin = 0;
        for (const Mark& mark : marks_) {
            if (mark.xid <= oldest) { begin = std::max(begin, mark.seq); }
        }
        return begin;
    }

    /// Drops what no reader behind `seen` needs, and what is too many. The lowest that is needed
    /// stays: any other only makes a search longer when it is missing.
    void trim(const Snapshot& seen) {
        const std::uint64_t oldest = seen.running.empty() ? seen.xmax : seen.running.front();
        const auto above = std::upper_bound(marks_.begin(), marks_.end(), oldest,
            [](std::uint64_t xid, const Mark& mark) { return xid < mark.xid; });
        if (above - marks_.begin() > 1) { marks_.erase(marks_.begin(), above - 1); }
        while (marks_.size() > most) {
            // The newest serves the next read, the lowest the oldest transaction: thin between.
            std::vector<Mark> thinned{marks_.front()};
            for (std::size_t i = 2; i + 1 < marks_.size(); i += 2) { thinned.push_back(marks_[i]); }
            thinned.push_back(marks_.back());
            marks_ = std::move(thinned);
        }
    }

    /// `{12,20}` and `{7,9}`: transactions and numbers, for the server.
    [[nodiscard]] std::pair<std::string, std::string> arrays() const {
        std::pair<std::string, std::string> out{"{", "{"};
        for (const Mark& mark : marks_) {
            const char* comma = out.first.size() == 1 ? "" : ",";
            out.first.append(comma).append(std::to_string(mark.xid));
            out.second.append(comma).append(std::to_string(mark.seq));
        }
        out.first += '}';
        out.second += '}';
        return out;
    }

    /// `12.7,20.9,`: what is stored; the transaction that stores it appends its own mark.
    [[nodiscard]] std::string text() const {
        std::string out;
        for (const Mark& mark : marks_) {
            out += std::to_string(mark.xid) + '.' + std::to_string(mark.seq) + ',';
        }
        return out;
    }
    /// What was stored; none where the text isn't that: none is always right.
    [[nodiscard]] static Marks from(std::string_view text) {
        Marks marks;
        while (!text.empty()) {
            std::string_view one = detail::take_until(text, ',');
            const auto xid = detail::number_from(detail::take_until(one, '.'));
            const auto seq = detail::number_from(one);
            if (!xid || !seq) { return {}; }
            marks.add({static_cast<std::uint64_t>(*xid), *seq});
        }
        return marks;
    }

private:
    std::vector<Mark> marks_; // ascending
};

} // namespace aftertouch::postgres
