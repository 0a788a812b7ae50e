// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/sqlite/catalog.hpp>

/// \file
/// Whether a table can be captured as an entity declares it: its columns are there, and its key
/// names one row.

namespace aftertouch::sqlite {

namespace detail {

[[nodiscard]] inline std::string key_text(const Capture& capture) {
    std::string text;
    for (const std::size_t part : capture.table.key) {
        text += (text.empty() ? "" : ", ") + capture.table.columns[part].name;
    }
    return text;
}

/// Whether `names`, in any order, are the columns of the key.
[[nodiscard]] inline bool names_key(
    const Capture& capture, const std::vector<std::string_view>& names) {
    const Table& table = capture.table;
    return names.size() == table.key.size() &&
           std::all_of(table.key.begin(), table.key.end(), [&](std::size_t part) {
               return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
                   return same_name(name, table.columns[part].name);
               });
           });
}

[[nodiscard]] inline bool is_unique_key(const Capture& capture, const TableFacts& facts) {
    if (!facts.rowid_alias.empty() && names_key(capture, {facts.rowid_alias})) { return true; }
    return std::any_of(facts.unique.begin(), facts.unique.end(), [&](const UniqueIndex& index) {
        std::vector<std::string_view> names;
        for (const UniqueIndex::Term& term : index.terms) {
            const ColumnFacts* column = facts.column(term.column);
            // Under BINARY an index over a NOCASE column lets rows in that the column calls equal.
            if (column != nullptr &&
                (term.collation == column->collation || column->collation == "BINARY")) {
                names.push_back(term.column);
            }
        }
        return index.predicate.empty() && names.size() == index.terms.size() &&
               names_key(capture, names);
    });
}

} // namespace detail

/// How the database compares each part of the key. *Throws* `Error` for a collation that isn't
/// SQLite's own.
[[nodiscard]] inline std::vector<KeyFold> key_folds(
    const Capture& capture, const TableFacts& facts) {
    std::vector<KeyFold> folds;
    for (const std::size_t part : capture.table.key) {
        const ColumnFacts* column = facts.column(capture.table.columns[part].name);
        const std::string collation = column == nullptr ? "BINARY" : column->collation;
        if (detail::same_name(collation, "NOCASE")) {
            folds.push_back(KeyFold::ascii_case);
        } else if (detail::same_name(collation, "RTRIM")) {
            folds.push_back(KeyFold::trailing_spaces);
        } else if (detail::same_name(collation, "BINARY")) {
            folds.push_back(KeyFold::exact);
        } else {
            throw Error{Errc::schema_mismatch, capture.table.name.text() + '.' + column->name +
                                                   " is a key column with the collation " +
                                                   collation +
                                                   ", and which keys that calls equal isn't known "
                                                   "here: use BINARY, NOCASE or RTRIM"};
        }
    }
    return folds;
}

/// *Throws* `Error` (`schema_mismatch`) with what is missing and what to do, in one sentence.
inline void require_capturable(const Capture& capture, const TableFacts& facts) {
    const std::string table = capture.table.name.text();
    for (const std::string_view prefix : {"aftertouch_", "sqlite_"}) {
        if (detail::same_name(std::string_view{facts.name}.substr(0, prefix.size()), prefix)) {
            throw Error{Errc::schema_mismatch,
                table + " can't be captured, since it is part of " +
                    (prefix == "sqlite_" ? "SQLite itself" : "the log of changes") +
                    ": capture a table of your own, or give yours another name"};
        }
    }
    for (const Column& wanted : capture.table.columns) {
        if (facts.column(wanted.name) == nullptr) {
            throw Error{Errc::schema_mismatch,
                table + " has no column \"" + wanted.name +
                    "\", which the struct has: add the column, name another in "
                    "EntityTraits, or take the member out"};
        }
    }
    if (!detail::is_unique_key(capture, facts)) {
        throw Error{Errc::schema_mismatch,
            table + " has neither a primary key nor a unique index on exactly (" +
                detail::key_text(capture) +
                "), so that a key may name several rows: create "
                "one, or name another key in EntityTraits"};
    }
    for (const std::size_t part : capture.table.key) {
        const ColumnFacts* column = facts.column(capture.table.columns[part].name);
        if (!column->not_null && !detail::same_name(column->name, facts.rowid_alias)) {
            throw Error{Errc::schema_mismatch,
                table + '.' + column->name +
                    " is part of the key and may be null, so that rows could be without a "
                    "key: declare it NOT NULL"};
        }
    }
    static_cast<void>(key_folds(capture, facts));
}

} // namespace aftertouch::sqlite
