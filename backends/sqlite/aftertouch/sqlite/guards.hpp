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
#include <aftertouch/sqlite/row_to_come.hpp>

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
        : id_{id}, capture_{capture}, facts_{facts}, row_{id, facts} {
        for (const UniqueIndex& index : facts.unique) {
            // A row with the key of NEW is touched by the change itself; only an image needs it.
            if (capture.images || !is_key(index)) {
                guarded_.push_back({index, columns_of(index)});
            }
        }
    }

    /// Before an insertion; empty where nothing but the key is unique.
    [[nodiscard]] std::string insert() const {
        return body(false, [](const GuardedIndex&) { return true; }) + rowid(false);
    }
    /// When that has anything to touch; empty where it must run to know.
    [[nodiscard]] std::string insert_when() const {
        std::string text;
        if (!row_table_columns().empty()) { return text; }
        std::vector<Touch> all;
        for (const GuardedIndex& guarded : guarded_) { add_touches(all, guarded, false); }
        if (needs_rowid()) { all.push_back(touch_of_rowid()); }
        for (const Touch& touch : all) {
            text += (text.empty() ? "" : "\n  OR ") +
                    ("EXISTS (SELECT 1" + found_by(touch, false)) + ')';
        }
        return text;
    }

    /// Before an update of one of `update_columns()`.
    [[nodiscard]] std::string update() const {
        return body(true, [](const GuardedIndex&) { return true; });
    }
    [[nodiscard]] std::vector<std::string> update_columns() const {
        std::vector<std::string> columns;
        for (const GuardedIndex& guarded : guarded_) {
            detail::add_names(columns, guarded.columns);
        }
        return columns;
    }

    /// Before an update that gives a row another number, by whichever of its names.
    [[nodiscard]] std::string renumber() const {
        const std::string found = rowid(true);
        const std::string text = body(true, [&](const GuardedIndex& guarded) {
            return detail::has_name(guarded.columns, facts_.rowid_alias) ||
                   names_rowid(guarded.index.predicate, facts_);
        });
        return text.empty() && !found.empty() ? whole_row() + found : text + found;
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
        return SchemaObject{"table", dialect::row_table(id_), row_.table(columns),
            "Empty but while a guard of " + capture_.name +
                " runs: the row to come, with the types of its columns."};
    }

private:
    // Rows of the table that are touched where `condition` is true.
    struct Touch {
        std::string condition;
        bool one_row = true; // at most
    };

    template <class Which>
    [[nodiscard]] std::string body(bool update, Which which) const {
        std::string text;
        bool laid_out = false;
        for (const GuardedIndex& guarded : guarded_) {
            if (!which(guarded)) { continue; }
            if (row_.needs_table(guarded) && !laid_out) {
                laid_out = true;
                text += row_.fill(row_table_columns(), update);
            }
            std::vector<Touch> all;
            add_touches(all, guarded, update);
            for (const Touch& one : all) { text += touch(one, update); }
        }
        if (laid_out) { text += row_.empty(); }
        return update && !text.empty() ? whole_row() + text : text;
    }

    // Before an update SQLite computes generated columns from those of NEW that its triggers name,
    // and from NULL for the others: a STRICT table may then refuse the value.
    [[nodiscard]] std::string whole_row() const {
        std::string text;
        bool generated = false;
        for (const ColumnFacts& column : facts_.columns) {
            text += (text.empty() ? "  SELECT NEW." : ", NEW.") + quoted(column.name);
            generated = generated || !column.generated.empty();
        }
        return generated ? text + " WHERE 0;\n" : std::string{};
    }

    // ------------------------------------------------------------------------------ one index

    void add_touches(std::vector<Touch>& all, const GuardedIndex& guarded, bool update) const {
        std::string found;
        const std::string row = row_.rows(guarded, update);
        const bool one_row = !row_.may_be_two(guarded, update);
        // SQLite looks up `=` in the index; behind IN it may rather scan another one.
        const std::string is = one_row ? " = (SELECT " : " IN (SELECT ";
        const std::string& predicate = guarded.index.predicate;
        const bool known = !predicate.empty() && !names_rowid(predicate, facts_);
        // SQLite computes a term for rows of the index alone: for another one it may fail.
        const std::string where = known ? " WHERE " + predicate : std::string{};
        for (const UniqueIndex::Term& term : guarded.index.terms) {
            found += (found.empty() ? "(" : " AND (") + term.expression + ") COLLATE " +
                     quoted(term.collation);
            const ColumnFacts* column = facts_.column(term.column);
            const bool plain = !term.column.empty() && column->generated.empty();
            found += plain ? " = " + row_.value_of(*column)
                           : is + term.expression + " FROM " + row + where + ')';
        }
        if (!predicate.empty()) { found += " AND (" + predicate + ')'; }
        if (known) { found += "\n      AND EXISTS (SELECT 1 FROM " + row + where + ')'; }
        all.push_back({found, one_row});
        add_touches_by_default(all, guarded);
    }

    // REPLACE puts the default where NULL isn't allowed. One that can't be computed here could be
    // anything.
    void add_touches_by_default(std::vector<Touch>& all, const GuardedIndex& guarded) const {
        for (const std::string& name : guarded.columns) {
            const ColumnFacts& column = *facts_.column(name);
            if (column.not_null && !column.fallback.empty() &&
                default_in_trigger(column.fallback).empty()) {
                all.push_back({"NEW." + quoted(name) + " IS NULL", false});
            }
        }
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
                text += ", " + as_read(capture_.table.columns[imaged[i]].name);
            }
            text += found;
        }
        return text;
    }

    // INSERT ... SELECT stores the whole numbers of a virtual REAL column as integers.
    [[nodiscard]] std::string as_read(const std::string& name) const {
        const ColumnFacts& column = *facts_.column(name);
        const std::string value = quoted(name);
        return column.generated.empty() || column.affinity != "REAL"
                   ? value
                   : "CASE typeof(" + value + ") WHEN 'real' THEN CAST(" + value +
                         " AS REAL) ELSE " + value + " END";
    }

    [[nodiscard]] bool needs_rowid() const {
        return !facts_.rowid.empty() && (!is_key_alone(facts_.rowid) || capture_.images);
    }
    [[nodiscard]] Touch touch_of_rowid() const {
        return {quoted(facts_.rowid) + " = NEW." + quoted(facts_.rowid)};
    }
    [[nodiscard]] std::string rowid(bool update) const {
        return needs_rowid() ? touch(touch_of_rowid(), update) : std::string{};
    }

    // The alias: a table that is called NEW or OLD would hide the row to come.
    [[nodiscard]] std::string found_by(const Touch& touch, bool update) const {
        std::string found =
            " FROM " + quoted(facts_.name) + " AS aftertouch_row\n    WHERE " + touch.condition;
        if (update || !capture_.images) { found += "\n      AND (" + another_row(update) + ')'; }
        return found;
    }

    [[nodiscard]] std::string touch(const Touch& touch, bool update) const {
        std::string key;
        for (const std::size_t part : capture_.table.key) {
            key += (key.empty() ? "" : ", ") + quoted(capture_.table.columns[part].name);
        }
        const std::string found = found_by(touch, update) + ";\n";
        return "  INSERT INTO \"aftertouch_log\" (capture, operation, at, " +
               dialect::key_columns(capture_.table.key.size()) + ")\n    SELECT " +
               std::to_string(id_) + ", 'T', " + std::string{dialect::now} + ", " + key + found +
               (touch.one_row ? keep_image(found) : std::string{});
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

    [[nodiscard]] std::vector<std::string> row_table_columns() const {
        std::vector<std::string> columns;
        for (const GuardedIndex& guarded : guarded_) {
            if (row_.needs_table(guarded)) { detail::add_names(columns, guarded.columns); }
        }
        // No table consists of generated columns alone; one that is stored stands beside them.
        const auto is_stored = [&](const ColumnFacts& column) { return column.generated.empty(); };
        if (!columns.empty() && std::none_of(columns.begin(), columns.end(), [&](const auto& name) {
                return is_stored(*facts_.column(name));
            })) {
            columns.push_back(std::ranges::find_if(facts_.columns, is_stored)->name);
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
    RowToCome row_;
    std::vector<GuardedIndex> guarded_;
};

} // namespace aftertouch::sqlite
