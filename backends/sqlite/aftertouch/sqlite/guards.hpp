// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/expressions.hpp>
#include <aftertouch/sqlite/own_tables.hpp>

/// \file
/// Guards against REPLACE: it removes rows that stand in a new row's way, and no trigger runs for
/// them. So BEFORE triggers touch every row that a unique index will find in the way.

namespace aftertouch::sqlite {

/// Writes the bodies of a capture's BEFORE triggers.
///
/// A guard looks a unique index up with the values of the row to come, each by the index's own
/// collation, expression and condition. What it touches need not be removed then: a touch says only
/// that something may have happened.
class GuardWriter {
public:
    GuardWriter(std::int64_t id, const Capture& capture, const TableFacts& facts)
        : id_{id}, capture_{capture}, facts_{facts} {
        for (const UniqueIndex& index : facts.unique) {
            // A row with the key of NEW is touched by the change itself; only an image needs it.
            if (capture.images || !is_key(index)) {
                guarded_.push_back({index, columns_of(index)});
            }
        }
    }

    /// Before an insertion; empty where nothing but the key is unique.
    [[nodiscard]] std::string insert() const {
        return body(false, [](const Guarded&) { return true; }) + rowid(false);
    }

    /// Before an update of one of `update_columns()`.
    [[nodiscard]] std::string update() const {
        return body(true, [](const Guarded&) { return true; });
    }
    [[nodiscard]] std::vector<std::string> update_columns() const {
        std::vector<std::string> columns;
        for (const Guarded& guarded : guarded_) { detail::add_names(columns, guarded.columns); }
        return columns;
    }

    /// Before an update that gives a row another number, by whichever of its names.
    [[nodiscard]] std::string renumber() const {
        return body(true, [&](const Guarded& guarded) {
            return detail::has_name(guarded.columns, facts_.rowid_alias);
        }) + rowid(true);
    }
    /// When that is.
    [[nodiscard]] std::string renumbered() const {
        return "OLD." + quoted(facts_.rowid) + " IS NOT NEW." + quoted(facts_.rowid);
    }

    /// A table that holds the row to come while a guard runs, for indexes whose expressions need
    /// its columns' types. Nothing for most.
    [[nodiscard]] std::optional<SchemaObject> row_table() const {
        const std::vector<std::string> columns = row_table_columns();
        if (columns.empty()) { return std::nullopt; }
        std::string list;
        for (const std::string& name : columns) {
            const ColumnFacts& column = *facts_.column(name);
            list += (list.empty() ? "" : ", ") + quoted(name) + ' ' + column.affinity +
                    " COLLATE " + quoted(column.collation);
            if (!column.generated.empty()) { list += " AS (" + column.generated + ')'; }
        }
        return SchemaObject{"table", dialect::row_table(id_),
            "CREATE TABLE " + quoted(dialect::row_table(id_)) + " (" + list + ")",
            "Empty but while a guard of " + capture_.name +
                " runs: the row to come, with the types of its columns."};
    }

private:
    struct Guarded {
        UniqueIndex index;
        std::vector<std::string>
            columns; ///< all that its terms and its condition are computed from
    };

    template <class Which>
    [[nodiscard]] std::string body(bool update, Which which) const {
        std::string text;
        bool laid_out = false;
        for (const Guarded& guarded : guarded_) {
            if (!which(guarded)) { continue; }
            if (needs_row_table(guarded) && !laid_out) {
                laid_out = true;
                text += lay_out(update);
            }
            text += guard(guarded, update);
        }
        return laid_out ? text + "  DELETE FROM " + quoted(dialect::row_table(id_)) + ";\n" : text;
    }

    // ------------------------------------------------------------------------------ one index

    [[nodiscard]] std::string guard(const Guarded& guarded, bool update) const {
        std::string found;
        const std::string row = row_of(guarded, update);
        for (const UniqueIndex::Term& term : guarded.index.terms) {
            found += (found.empty() ? "(" : " AND (") + term.expression + ") COLLATE " +
                     quoted(term.collation);
            const ColumnFacts* column = facts_.column(term.column);
            const bool plain = !term.column.empty() && column->generated.empty();
            found += plain ? " = " + value_of(*column)
                           : " IN (SELECT " + term.expression + " FROM " + row + ')';
        }
        if (const std::string& predicate = guarded.index.predicate; !predicate.empty()) {
            found += " AND (" + predicate + ')';
            if (!names_rowid(predicate, facts_)) {
                found += "\n      AND 1 IN (SELECT CASE WHEN " + predicate + " THEN 1 END FROM " +
                         row + ')';
            }
        }
        return touch(found, update) + touch_by_default(guarded, update);
    }

    // REPLACE puts the default where NULL isn't allowed. One that can't be computed here could be
    // anything.
    [[nodiscard]] std::string touch_by_default(const Guarded& guarded, bool update) const {
        std::string text;
        for (const std::string& name : guarded.columns) {
            const ColumnFacts& column = *facts_.column(name);
            if (column.not_null && !column.fallback.empty() &&
                default_in_trigger(column.fallback).empty()) {
                text += touch("NEW." + quoted(name) + " IS NULL", update, false);
            }
        }
        return text;
    }

    // The row that was just touched, as it is before the statement: if REPLACE removes it, that is
    // all there is of it. An index finds one row at most.
    [[nodiscard]] std::string keep_image(const std::string& found) const {
        std::string text;
        const std::vector<std::size_t>& imaged = capture_.imaged;
        for (std::size_t part = 0; part * dialect::image_columns < imaged.size(); ++part) {
            const std::size_t begin = part * dialect::image_columns;
            const std::size_t width = std::min(imaged.size() - begin, dialect::image_columns);
            text += "  INSERT OR REPLACE INTO " + quoted(dialect::image_table(id_, part)) +
                    " (seq, " + dialect::key_columns(width, "b") +
                    ")\n    SELECT last_insert_rowid()";
            for (std::size_t i = begin; i < begin + width; ++i) {
                text += ", " + quoted(capture_.table.columns[imaged[i]].name);
            }
            text += found;
        }
        return text;
    }

    [[nodiscard]] std::string rowid(bool update) const {
        if (facts_.rowid.empty() || (is_key_alone(facts_.rowid) && !capture_.images)) { return {}; }
        return touch(quoted(facts_.rowid) + " = NEW." + quoted(facts_.rowid), update);
    }

    // The alias: a table that is called NEW or OLD would hide the row to come.
    [[nodiscard]] std::string touch(
        const std::string& condition, bool update, bool one_row = true) const {
        std::string key;
        for (const std::size_t part : capture_.table.key) {
            key += (key.empty() ? "" : ", ") + quoted(capture_.table.columns[part].name);
        }
        std::string found =
            " FROM " + quoted(facts_.name) + " AS aftertouch_row\n    WHERE " + condition;
        if (update || !capture_.images) { found += "\n      AND (" + another_row(update) + ')'; }
        found += ";\n";
        return "  INSERT INTO \"aftertouch_log\" (capture, operation, at, " +
               dialect::key_columns(capture_.table.key.size()) + ")\n    SELECT " +
               std::to_string(id_) + ", 'T', " + std::string{dialect::now} + ", " + key + found +
               (one_row ? keep_image(found) : std::string{});
    }

    // The row itself isn't in its way, and its key is captured anyway. Before an insertion that
    // leaves the number of the row to SQLite, NEW's is -1.
    [[nodiscard]] std::string another_row(bool update) const {
        std::string text;
        bool numbered = false;
        for (const std::size_t part : capture_.table.key) {
            const std::string& name = capture_.table.columns[part].name;
            text += (text.empty() ? "" : " OR ") + quoted(name) + " IS NOT " +
                    (update ? "OLD." : "NEW.") + quoted(name);
            numbered = numbered ||
                       detail::has_name(columns_behind(quoted(name), facts_), facts_.rowid_alias);
        }
        return update || !numbered ? text
                                   : text + " OR NEW." + quoted(facts_.rowid_alias) + " = -1";
    }

    // ------------------------------------------------------------------------- the row to come

    [[nodiscard]] std::string value_of(const ColumnFacts& column) const {
        const std::string value = "NEW." + quoted(column.name);
        const std::string otherwise =
            column.not_null ? default_in_trigger(column.fallback) : std::string{};
        return otherwise.empty() ? value : "coalesce(" + value + ", " + otherwise + ')';
    }

    // Where the index's columns are laid out under their names.
    [[nodiscard]] std::string row_of(const Guarded& guarded, bool update) const {
        if (needs_row_table(guarded)) { return quoted(dialect::row_table(id_)); }
        return '(' + select_row(guarded.columns, true, update) + ')';
    }

    [[nodiscard]] std::string lay_out(bool update) const {
        std::string names;
        std::vector<std::string> stored;
        for (const std::string& name : row_table_columns()) {
            if (!facts_.column(name)->generated.empty()) { continue; }
            stored.push_back(name);
            names += (names.empty() ? "" : ", ") + quoted(name);
        }
        return "  INSERT INTO " + quoted(dialect::row_table(id_)) + " (" + names + ") " +
               select_row(stored, false, update) + ";\n";
    }

    // NEW's values. Where SQLite is going to number the row, a second row has the number that it
    // will take.
    [[nodiscard]] std::string select_row(
        const std::vector<std::string>& columns, bool named, bool update) const {
        const auto select = [&](const std::string& number) {
            std::string text;
            for (const std::string& name : columns) {
                const bool alias = detail::same_name(name, facts_.rowid_alias);
                text += (text.empty() ? "SELECT " : ", ") +
                        (alias && !number.empty() ? number : value_of(*facts_.column(name)));
                if (named) { text += " AS " + quoted(name); }
            }
            return text;
        };
        std::string text = select({});
        if (!update && detail::has_name(columns, facts_.rowid_alias)) {
            text += " UNION ALL " + select(next_number()) + " WHERE NEW." +
                    quoted(facts_.rowid_alias) + " = -1";
        }
        return text;
    }

    [[nodiscard]] std::string next_number() const {
        const std::string rows = "(SELECT coalesce(max(" + quoted(facts_.rowid_alias) +
                                 "), 0) + 1 FROM " + quoted(facts_.name) + ')';
        if (!facts_.autoincrement) { return rows; }
        return "max(" + rows + ", coalesce((SELECT seq + 1 FROM sqlite_sequence WHERE name = " +
               quoted_text(facts_.name) + "), 0))";
    }

    [[nodiscard]] bool needs_row_table(const Guarded& guarded) const {
        const UniqueIndex& index = guarded.index;
        const bool differs =
            std::any_of(index.terms.begin(), index.terms.end(), [&](const UniqueIndex::Term& term) {
                return term.column.empty() && !same_over_new(term.expression, facts_);
            });
        if (differs || !same_over_new(index.predicate, facts_)) { return true; }
        // A generated column in NEW is computed from what is given, not from what is going to be
        // stored.
        const bool generated = std::any_of(guarded.columns.begin(), guarded.columns.end(),
            [&](const std::string& name) { return !facts_.column(name)->generated.empty(); });
        return generated && std::any_of(guarded.columns.begin(), guarded.columns.end(),
                                [&](const std::string& name) {
                                    const ColumnFacts& column = *facts_.column(name);
                                    return detail::same_name(name, facts_.rowid_alias) ||
                                           (column.not_null && !column.fallback.empty());
                                });
    }

    [[nodiscard]] std::vector<std::string> row_table_columns() const {
        std::vector<std::string> columns;
        for (const Guarded& guarded : guarded_) {
            if (needs_row_table(guarded)) { detail::add_names(columns, guarded.columns); }
        }
        return columns;
    }

    // All that an index's terms and its condition are computed from.
    [[nodiscard]] std::vector<std::string> columns_of(const UniqueIndex& index) const {
        std::string text = index.predicate;
        for (const UniqueIndex::Term& term : index.terms) { text += ' ' + term.expression; }
        return columns_behind(text, facts_);
    }

    [[nodiscard]] bool is_key_column(std::string_view column) const {
        const std::vector<std::size_t>& key = capture_.table.key;
        return std::any_of(key.begin(), key.end(), [&](std::size_t part) {
            return detail::same_name(capture_.table.columns[part].name, column);
        });
    }
    [[nodiscard]] bool is_key_alone(std::string_view column) const {
        return capture_.table.key.size() == 1 && is_key_column(column);
    }

    // Rows that this index finds have the key of the row itself.
    [[nodiscard]] bool is_key(const UniqueIndex& index) const {
        if (!index.predicate.empty() || index.terms.size() != capture_.table.key.size()) {
            return false;
        }
        return std::all_of(
            index.terms.begin(), index.terms.end(), [&](const UniqueIndex::Term& term) {
                const ColumnFacts* column =
                    term.column.empty() ? nullptr : facts_.column(term.column);
                return column != nullptr && is_key_column(term.column) &&
                       column->collation == term.collation;
            });
    }

    std::int64_t id_;
    const Capture& capture_;
    const TableFacts& facts_;
    std::vector<Guarded> guarded_;
};

} // namespace aftertouch::sqlite
