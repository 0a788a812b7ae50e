// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/identifier.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/expressions.hpp>
#include <aftertouch/sqlite/own_tables.hpp>

/// \file
/// The row that an insertion or update is about to store, as SQL inside a BEFORE trigger: NEW isn't
/// it yet, since numbers, defaults and generated columns are still to be put in.

namespace aftertouch::sqlite {

/// A unique index, and all columns that its terms and its condition are computed from.
struct GuardedIndex {
    UniqueIndex index;
    std::vector<std::string> columns;
};

/// Writes the row to come of one table.
class RowToCome {
public:
    RowToCome(std::int64_t id, const TableFacts& facts) : id_{id}, facts_{facts} {}

    /// The value that a stored column will have.
    [[nodiscard]] std::string value_of(const ColumnFacts& column) const {
        const std::string value = "NEW." + quoted(column.name);
        const std::string otherwise =
            column.not_null ? default_in_trigger(column.fallback) : std::string{};
        return otherwise.empty() ? value : "coalesce(" + value + ", " + otherwise + ')';
    }

    /// What to select from for the values of the index's terms: one row, or two where SQLite is
    /// going to number the row and `may_be_two` says so.
    [[nodiscard]] std::string rows(const GuardedIndex& guarded, bool update) const {
        if (needs_table(guarded)) { return quoted(dialect::row_table(id_)); }
        return '(' + select(guarded.columns, true, update) + ')';
    }

    [[nodiscard]] bool may_be_two(const GuardedIndex& guarded, bool update) const {
        return !update && detail::has_name(guarded.columns, facts_.rowid_alias);
    }

    /// Whether the row must lie in a table, since the index's expressions need its columns' types.
    [[nodiscard]] bool needs_table(const GuardedIndex& guarded) const {
        const UniqueIndex& index = guarded.index;
        const bool differs =
            std::any_of(index.terms.begin(), index.terms.end(), [&](const UniqueIndex::Term& term) {
                return term.column.empty() && !same_over_new(term.expression, facts_);
            });
        if (differs || !same_over_new(index.predicate, facts_)) { return true; }
        // In NEW a generated column is computed from what is given, not from what will be stored.
        bool generated = false;
        bool replaced = false;
        for (const std::string& name : guarded.columns) {
            const ColumnFacts& column = *facts_.column(name);
            generated = generated || !column.generated.empty();
            replaced = replaced || detail::same_name(name, facts_.rowid_alias) ||
                       (column.not_null && !column.fallback.empty());
        }
        return generated && replaced;
    }

    /// \name The table, for `columns`: its DDL, and the statements that fill and empty it
    /// @{
    [[nodiscard]] std::string table(const std::vector<std::string>& columns) const {
        std::string list;
        for (const std::string& name : columns) {
            const ColumnFacts& column = *facts_.column(name);
            list += (list.empty() ? "" : ", ") + quoted(name) + ' ' + column.affinity +
                    " COLLATE " + quoted(column.collation);
            if (!column.generated.empty()) { list += " AS (" + column.generated + ')'; }
        }
        return "CREATE TABLE " + quoted(dialect::row_table(id_)) + " (" + list + ")";
    }
    [[nodiscard]] std::string fill(const std::vector<std::string>& columns, bool update) const {
        std::string names;
        std::vector<std::string> stored;
        for (const std::string& name : columns) {
            if (!facts_.column(name)->generated.empty()) { continue; }
            stored.push_back(name);
            names += (names.empty() ? "" : ", ") + quoted(name);
        }
        return "  INSERT INTO " + quoted(dialect::row_table(id_)) + " (" + names + ") " +
               select(stored, false, update) + ";\n";
    }
    [[nodiscard]] std::string empty() const {
        return "  DELETE FROM " + quoted(dialect::row_table(id_)) + ";\n";
    }
    /// @}

private:
    // NEW's values. Where SQLite is going to number the row, a second row has the number that it
    // will take.
    [[nodiscard]] std::string select(
        const std::vector<std::string>& columns, bool named, bool update) const {
        const auto one = [&](const std::string& number) {
            std::string text;
            for (const std::string& name : columns) {
                const bool alias = detail::same_name(name, facts_.rowid_alias);
                text += (text.empty() ? "SELECT " : ", ") +
                        (alias && !number.empty() ? number : value_of(*facts_.column(name)));
                if (named) { text += " AS " + quoted(name); }
            }
            return text;
        };
        std::string text = one({});
        if (!update && detail::has_name(columns, facts_.rowid_alias)) {
            text += " UNION ALL " + one(next_number()) + " WHERE NEW." +
                    quoted(facts_.rowid_alias) + " = -1";
        }
        return text;
    }

    [[nodiscard]] std::string next_number() const {
        std::string rows = "(SELECT coalesce(max(" + quoted(facts_.rowid_alias) +
                           "), 0) + 1 FROM " + quoted(facts_.name) + ')';
        if (!facts_.autoincrement) { return rows; }
        return "max(" + rows + ", coalesce((SELECT seq + 1 FROM sqlite_sequence WHERE name = " +
               quoted_text(facts_.name) + "), 0))";
    }

    std::int64_t id_;
    const TableFacts& facts_;
};

} // namespace aftertouch::sqlite
