// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

/// \file
/// Under which names a connection's statements are prepared on the server.

namespace aftertouch::postgres {

/// The texts of one connection that are prepared, and their names; the newest 64 are kept. A name
/// is never used again.
class StatementNames {
public:
    static constexpr std::size_t kept = 64;

    /// The name of a prepared text, nothing if it isn't prepared. *Lifetime*: until the next `add`
    /// or `remove`.
    [[nodiscard]] const std::string* find(std::string_view sql) {
        const auto found = by_text_.find(sql);
        if (found == by_text_.end()) { return nullptr; }
        entries_.splice(entries_.begin(), entries_, found->second);
        return &found->second->name;
    }

    /// A name that no statement of this connection has had.
    [[nodiscard]] std::string next() { return "aftertouch_" + std::to_string(++number_); }

    const std::string& add(std::string_view sql, std::string name) {
        entries_.push_front(Entry{std::string{sql}, std::move(name)});
        by_text_.emplace(std::string_view{entries_.front().sql}, entries_.begin());
        return entries_.front().name;
    }

    /// Forgets a text, or the one that wasn't used for longest where more than `kept` are there;
    /// answers the name of what was forgotten.
    std::optional<std::string> remove(std::string_view sql) {
        const auto found = by_text_.find(sql);
        if (found == by_text_.end()) { return std::nullopt; }
        return remove(found->second);
    }
    std::optional<std::string> remove_surplus() {
        if (entries_.size() <= kept) { return std::nullopt; }
        return remove(std::prev(entries_.end()));
    }

    void clear() noexcept {
        by_text_.clear();
        entries_.clear();
    }

private:
    struct Entry {
        std::string sql;
        std::string name;
    };
    using Entries = std::list<Entry>;

    std::string remove(Entries::iterator entry) {
        by_text_.erase(std::string_view{entry->sql});
        std::string name = std::move(entry->name);
        entries_.erase(entry);
        return name;
    }

    Entries entries_; // the newest first
    std::unordered_map<std::string_view, Entries::iterator> by_text_;
    std::int64_t number_ = 0;
};

} // namespace aftertouch::postgres
