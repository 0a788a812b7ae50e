// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <soak/shapes.hpp>
#include <soak/statements.hpp>
#include <support/captured.hpp>

#include <aftertouch/dml.hpp>
#include <aftertouch/sqlite/change_log.hpp>

/// \file
/// Looks at a captured table before and after each statement: whatever changed must be in the log,
/// images must add up to the table, and a twin without capture must have seen the same.

namespace test {

/// One table under test.
class Oracle {
public:
    using Table = std::map<std::string, Row>;

    Oracle(const Shape& shape, bool images)
        : shape_{shape}, capture_{capture_of("t", shape.columns, shape.key, images)} {
        for (Lab* lab : {&captured_, &plain_}) {
            lab->run("PRAGMA foreign_keys = on");
            // Triggers without an end cost the square of SQLite's own limit, 1,000.
            sqlite3_limit(lab->native(), SQLITE_LIMIT_TRIGGER_DEPTH, 100);
            lab->run(shape.schema);
        }
        captured_.install(capture_);
        plain_.run(idle_triggers());
        folds_ = captured_.key_folds(capture_);
        at::sqlite::LogFilter filter{1, shape.key.size(), capture_.imaged.size(), {}, {}, {}};
        at::sqlite::Catalog catalog{captured_.connection(), "main"};
        const at::sqlite::TableFacts facts = catalog.table(capture_.table.name);
        for (const std::string& part : shape.key) {
            filter.collations.push_back(facts.column(part)->collation);
        }
        filter.look_up = at::dml::select_by_key(capture_.table);
        log_.emplace(captured_.connection(), "main", filter);
        equal_start();
        now_ = base_ = table();
    }

    [[nodiscard]] Lab& captured() { return captured_; }
    [[nodiscard]] const at::Capture& capture() const { return capture_; }
    /// For a run that must notice: prunes the newest row too.
    void empty_when_pruning() { empties_ = true; }

    /// Whether the twins went apart: one of them minded a type where the other ignored the row.
    [[nodiscard]] bool over() const { return over_; }

    [[nodiscard]] std::size_t changed() const { return changed_; } ///< rows that changed so far

    /// Runs one statement on both twins. Answers what is wrong, or nothing.
    [[nodiscard]] std::string step(const std::string& sql) {
        const std::int64_t from = end();
        const bool inside = in_transaction();
        const Seen seen = see(captured_.native(), sql);
        const Seen expected = see(plain_.native(), sql);
        // Where a value has the wrong type, or triggers go too deep, SQLite itself may keep a part
        // of a statement that failed inside a transaction: with triggers or without.
        if (is_half_done(seen) || is_half_done(expected)) {
            over_ = seen.code != expected.code;
            for (Lab* lab : {&captured_, &plain_}) { lab->attempt("ROLLBACK"); }
            now_ = table();
            return escaped(base_, now_, base_end_);
        }
        std::string wrong = compare(seen, expected);
        Table after = table();
        // What was rolled back is compared with what there was before the transaction.
        const bool back =
            sql.starts_with("ROLLBACK") || (inside && !in_transaction() && seen.code != SQLITE_OK);
        wrong += back ? escaped(base_, after, base_end_) : escaped(now_, after, from);
        wrong += escaped(base_, after, base_end_);
        now_ = std::move(after);
        if (!in_transaction()) {
            wrong += fold();
            base_ = now_;
            base_end_ = end();
        }
        return wrong;
    }

    /// Removes what is in the log, as pruning does: but for the newest row, from which SQLite
    /// counts on where a statement failed under OR FAIL.
    void prune() {
        if (in_transaction()) { return; }
        const std::string older =
            empties_ ? "" : " WHERE seq < (SELECT max(seq) FROM aftertouch_log)";
        if (capture_.images) { captured_.run("DELETE FROM aftertouch_image_1" + older); }
        captured_.run("DELETE FROM aftertouch_log" + older);
        equal_start();
    }

private:
    [[nodiscard]] bool in_transaction() { return captured_.connection().handle().in_transaction(); }
    [[nodiscard]] std::int64_t end() { return captured_.log_end(capture_); }

    // Any trigger changes the order in which SQLite visits rows, and checks types before it ignores
    // a row: so the twin has some too, which do nothing.
    [[nodiscard]] std::string idle_triggers() const {
        std::string sql;
        for (const std::string event : {"INSERT", "UPDATE", "DELETE"}) {
            for (const std::string moment : {"BEFORE", "AFTER"}) {
                if (event == "DELETE" && moment == "BEFORE") { continue; }
                std::string values;
                for (const std::string row : {"OLD", "NEW"}) {
                    if ((event == "INSERT" && row == "OLD") ||
                        (event == "DELETE" && row == "NEW")) {
                        continue;
                    }
                    for (const std::string& column : shape_.columns) {
                        values += (values.empty() ? "" : ", ") + row + '.' + column;
                    }
                }
                sql += "CREATE TRIGGER idle_" + moment + event + ' ' + moment + ' ' + event +
                       " ON t BEGIN SELECT " + values + "; END;\n";
            }
        }
        return sql;
    }

    // What this test itself wrote must not show in changes() and last_insert_rowid().
    void equal_start() {
        for (Lab* lab : {&captured_, &plain_}) {
            lab->run("CREATE TEMP TABLE IF NOT EXISTS reset (x); DELETE FROM reset");
            sqlite3_set_last_insert_rowid(lab->native(), 0);
        }
    }

    [[nodiscard]] static bool is_half_done(const Seen& seen) {
        return seen.code == SQLITE_ERROR || seen.code == SQLITE_MISMATCH ||
               seen.code == SQLITE_CONSTRAINT_DATATYPE;
    }

    [[nodiscard]] std::string compare(const Seen& seen, const Seen& expected) {
        std::string wrong;
        Seen one = seen;
        if (seen.code != SQLITE_OK && expected.code != SQLITE_OK) {
            // The published exception: a row number after a foreign key that failed.
            one.last_insert_rowid = expected.last_insert_rowid;
            for (Lab* lab : {&captured_, &plain_}) {
                sqlite3_set_last_insert_rowid(lab->native(), 0);
            }
        }
        if (!(one == expected)) {
            std::ostringstream text;
            text << "the writer saw [" << seen << "] for [" << expected << "]; ";
            wrong += text.str();
        }
        const std::string all = "SELECT * FROM t ORDER BY 1, 2";
        if (captured_.rows(all) != plain_.rows(all)) {
            wrong +=
                "the tables differ: " + captured_.text(all) + " for " + plain_.text(all) + "; ";
        }
        return wrong;
    }

    [[nodiscard]] std::string form_of(const Row& row, bool whole_row) const {
        std::string form;
        for (std::size_t i = 0; i < folds_.size(); ++i) {
            at::append_key_form(
                form, whole_row ? row[capture_.table.key[i]] : row[i + 1], folds_[i]);
        }
        return form;
    }

    // SQLite itself doesn't always tell whether a generated column holds 1 or 1.0.
    void fold_generated(Row& row) const {
        for (std::size_t i = shape_.written.size(); i < row.size(); ++i) {
            const double real = row[i].cell().as_real();
            if (row[i].kind() == at::Kind::real && std::abs(real) < 1e15 &&
                std::trunc(real) == real) {
                row[i] = at::Cell::integer(static_cast<std::int64_t>(real));
            }
        }
    }

    [[nodiscard]] Table table() {
        Table found;
        for (Row& row : captured_.rows("SELECT * FROM t")) {
            fold_generated(row);
            std::string form = form_of(row, true);
            found.emplace(std::move(form), std::move(row));
        }
        return found;
    }

    [[nodiscard]] std::string escaped(const Table& before, const Table& after, std::int64_t from) {
        std::vector<const Table::value_type*> differing;
        for (const auto* pair : {&before, &after}) {
            const Table& other = pair == &before ? after : before;
            for (const auto& entry : *pair) {
                const auto found = other.find(entry.first);
                if (found == other.end() || found->second != entry.second) {
                    differing.push_back(&entry);
                }
            }
        }
        if (differing.empty()) { return {}; }
        changed_ += differing.size();
        std::set<std::string> logged;
        for (const Row& row : captured_.log_rows(capture_, from)) {
            logged.insert(form_of(row, false));
        }
        std::string wrong;
        for (const auto* entry : differing) {
            if (!logged.contains(entry->first)) {
                wrong += "escaped: " + literals(entry->second) + "; ";
            }
        }
        return wrong;
    }

    // Applies the images behind the last ones; with the table's own triggers an image says what the
    // trigger saw, which need not be what the statement before left.
    [[nodiscard]] std::string fold() {
        if (!capture_.images) { return {}; }
        std::string wrong;
        Table folded = base_;
        std::set<std::string> read;
        const auto rest =
            log_->read({base_end_}, 1'000'000, nullptr, [&](const at::LogRow& change) {
                std::string form;
                for (std::size_t i = 0; i < folds_.size(); ++i) {
                    at::append_key_form(form, change.key[i], folds_[i]);
                }
                const auto row_of = [&](std::span<const at::Cell> image) {
                    Row row;
                    for (const at::Cell cell : image) { row.emplace_back(cell); }
                    fold_generated(row);
                    return row;
                };
                // A touch without an image: who follows the images reads the row.
                if (change.operation == at::Operation::touched) {
                    read.insert(form);
                    return true;
                }
                const bool known = !shape_.has_triggers && !read.contains(form);
                if (known && !change.before.empty() &&
                    (!folded.contains(form) || folded.at(form) != row_of(change.before))) {
                    wrong += std::string{at::name(change.operation)} +
                             " with a wrong before: " + literals(row_of(change.before)) + " for " +
                             (folded.contains(form) ? literals(folded.at(form)) : "no row") + "; ";
                }
                if (change.operation == at::Operation::deleted) { folded.erase(form); }
                if (!change.after.empty()) { folded.insert_or_assign(form, row_of(change.after)); }
                return true;
            });
        for (const std::string& form : read) {
            folded.erase(form);
            if (const auto row = now_.find(form); row != now_.end()) { folded.insert(*row); }
        }
        if (!shape_.has_triggers && folded != now_) {
            wrong += "the images don't add up to the table: " + text_of(folded) + " for " +
                     text_of(now_) + "; ";
        }
        return rest.second ? wrong + "more than was read; " : wrong;
    }

    [[nodiscard]] static std::string text_of(const Table& table) {
        std::string text;
        for (const auto& entry : table) { text += literals(entry.second) + ' '; }
        return text;
    }

    Shape shape_;
    at::Capture capture_;
    Lab captured_;
    Lab plain_;
    std::vector<at::KeyFold> folds_;
    std::optional<at::sqlite::ChangeLog> log_;
    Table now_;
    Table base_; // when no transaction was open
    std::int64_t base_end_ = 0;
    std::size_t changed_ = 0;
    bool empties_ = false;
    bool over_ = false;
};

} // namespace test
