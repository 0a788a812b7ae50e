// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

/// \file
/// Which statements are prepared on a connection. No client library.

namespace aftertouch::postgres {

/// Names of prepared statements by their texts, newest first. A name is never used again.
class StatementNames {
public:
    static constexpr std::size_t most = 64;

    /// The name of a text, which is the newest from here on; null if it has none.
    [[nodiscard]] const std::string* find(std::string_view sql) {
        const auto found = by_text_.find(std::string{sql});
        if (found == by_text_.end()) { return nullptr; }
        entries_.splice(entries_.begin(), entries_, found->second);
        return &found->second->name;
    }
    [[nodiscard]] std::string unused() { return "aftertouch_" + std::to_string(++number_); }
    const std::string& add(std::string_view sql, std::string name) {
        entries_.push_front({std::string{sql}, std::move(name)});
        by_text_.emplace(entries_.front().sql, entries_.begin());
        return entries_.front().name;
    }
    /// Removes a text; answers its name.
    std::optional<std::string> remove(std::string_view sql) {
        const auto found = by_text_.find(std::string{sql});
        if (found == by_text_.end()) { return std::nullopt; }
        std::string name = std::move(found->second->name);
        entries_.erase(found->second);
        by_text_.erase(found);
        return name;
    }
    /// Removes the oldest if there are too many; answers its name.
    std::optional<std::string> remove_surplus() {
        if (entries_.size() <= most) { return std::nullopt; }
        return remove(std::string{entries_.back().sql});
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

    Entries entries_; // the newest first
    std::unordered_map<std::string, Entries::iterator> by_text_;
    std::int64_t number_ = 0;
};

} // namespace aftertouch::postgres
