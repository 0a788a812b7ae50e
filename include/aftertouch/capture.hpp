// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <aftertouch/identifier.hpp>
#include <aftertouch/operation.hpp>
#include <aftertouch/table.hpp>

/// \file
/// What the triggers of a table record: the definition that a program declares and a database
/// keeps.

namespace aftertouch {

/// A capture as a program declares it.
struct Capture {
    std::string name; ///< unique in the database; pipelines that name the same one share its
                      ///< triggers and log rows
    Table table;
    Operations operations = Operations::all();
    bool images = false;
    std::vector<std::size_t>
        imaged{};         ///< which columns of `table` an image has, in order; with `images` only
    bool always = false;  ///< also what logical replication and other replicas write
    bool per_row = false; ///< one trigger call a row, on engines that have a choice
    bool low_priority = false; ///< transactions may mark what they change; touches only

    /// The declaration as one line, kept in the database, so that two programs that differ are told
    /// (C7).
    [[nodiscard]] std::string definition() const {
        std::string text = "table " + table.name.quoted() + " key";
        for (const std::size_t part : table.key) { text += ' ' + quoted(table.columns[part].name); }
        text += " operations " + operations.text();
        if (always) { text += " always"; }
        if (per_row) { text += " per row"; }
        if (low_priority) { text += " low priority"; }
        if (!images) { return text; }
        text += " images";
        for (const std::size_t column : imaged) {
            text += ' ' + quoted(table.columns[column].name);
        }
        return text;
    }
};

/// What a log has in place of a capture's number, for changes that were marked as of low priority.
[[nodiscard]] constexpr std::int64_t low_capture(std::int64_t capture) noexcept { return -capture; }

/// What a pipeline does with the triggers and tables that it needs, when it starts (C7).
enum class Schema {
    automatic, ///< creates what is missing and replaces what isn't as it should be
    verify,    ///< changes nothing; refuses to start with a list of what differs
    none       ///< changes nothing and compares nothing: the printed script was run by hand
};

/// One thing that isn't as a capture needs it.
struct Difference {
    std::string what; ///< a sentence without its end, which names the object
    std::string remedy;
    bool lost = false; ///< whether changes may have gone unseen, so that pipelines rebuild
};

[[nodiscard]] inline std::string to_text(const std::vector<Difference>& differences) {
    std::string text;
    for (const Difference& difference : differences) {
        text += (text.empty() ? "" : "; ") + difference.what + ": " + difference.remedy;
    }
    return text;
}

} // namespace aftertouch
