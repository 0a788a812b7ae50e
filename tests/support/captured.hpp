// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/sqlite/requirements.hpp>
#include <aftertouch/sqlite/schema.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Tables that tests make by SQL and capture without a struct, and what their triggers logged.

namespace test {

namespace at = aftertouch;

using Row = std::vector<at::Value>;

/// The declaration of a capture over columns that may hold anything.
inline at::Capture capture_of(const std::string& table, const std::vector<std::string>& columns,
    const std::vector<std::string>& key, bool images = false) {
    at::Capture capture;
    capture.name = images ? table + "_images" : table;
    capture.table.name.name = table;
    capture.images = images;
    for (const std::string& column : columns) {
        if (images) { capture.imaged.push_back(capture.table.columns.size()); }
        capture.table.columns.push_back({column, at::ColumnType::any, true, 0});
    }
    for (const std::string& part : key) {
        const auto found = std::find(columns.begin(), columns.end(), part);
        capture.table.key.push_back(static_cast<std::size_t>(found - columns.begin()));
        capture.table.columns[capture.table.key.back()].key_part = capture.table.key.size();
    }
    return capture;
}

/// A value as SQL would write it, one form for each value.
inline std::string literal(at::Cell cell) {
    switch (cell.kind()) {
        case at::Kind::null: return "NULL";
        case at::Kind::integer: return std::to_string(cell.as_integer());
        case at::Kind::text: return "'" + std::string{cell.bytes()} + "'";
        default: return at::to_text(at::Value{cell});
    }
}

inline std::string literals(const Row& row) {
    std::string text;
    for (const at::Value& value : row) { text += (text.empty() ? "" : ",") + literal(value); }
    return text;
}

/// What a program sees of a statement that it runs.
struct Seen {
    int code = 0;
    std::string error;
    std::string rows; ///< of RETURNING
    int changes = 0;
    std::int64_t last_insert_rowid = 0;

    friend bool operator==(const Seen&, const Seen&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << seen.code << ' ' << seen.error << " rows " << seen.rows << " changes "
               << seen.changes << " rowid " << seen.last_insert_rowid;
}

inline Seen see(sqlite3* database, const std::string& sql) {
    Seen seen;
    const auto add = [](void* rows, int count, char** values, char**) {
        std::string& text = *static_cast<std::string*>(rows);
        for (int i = 0; i < count; ++i) {
            text += values[i] == nullptr ? "NULL," : std::string{values[i]} + ',';
        }
        return 0;
    };
    seen.code = sqlite3_exec(database, sql.c_str(), add, &seen.rows, nullptr);
    if (seen.code != SQLITE_OK) { seen.error = sqlite3_errmsg(database); }
    seen.changes = sqlite3_changes(database);
    seen.last_insert_rowid = sqlite3_last_insert_rowid(database);
    return seen;
}

/// A database with captures in it.
class Lab {
public:
    explicit Lab(const std::string& path = ":memory:", const at::sqlite::Options& options = {})
        : connection_{path, options} {}

    [[nodiscard]] at::sqlite::Connection& connection() { return connection_; }
    [[nodiscard]] sqlite3* native() { return connection_.handle().get(); }

    void run(std::string_view sql) { connection_.run_all(sql); }

    /// Runs SQL as any program would, and answers SQLite's code.
    int attempt(const std::string& sql) {
        return sqlite3_exec(native(), sql.c_str(), nullptr, nullptr, nullptr) & 0xff;
    }

    [[nodiscard]] std::vector<Row> rows(std::string_view sql) {
        std::vector<Row> all;
        connection_.each(sql, std::span<const at::Value>{}, [&](const at::sqlite::Statement& row) {
            Row& one = all.emplace_back();
            for (std::size_t i = 0; i < row.size(); ++i) { one.emplace_back(row[i]); }
            return true;
        });
        return all;
    }

    /// All rows as text: `1,'a' 2,'b'`.
    [[nodiscard]] std::string text(std::string_view sql) {
        std::string all;
        for (const Row& row : rows(sql)) { all += (all.empty() ? "" : " ") + literals(row); }
        return all;
    }
    [[nodiscard]] std::int64_t number(std::string_view sql) {
        return rows(sql).at(0).at(0).cell().as_integer();
    }

    bool install(const at::Capture& capture, at::Schema mode = at::Schema::automatic) {
        return at::sqlite::SchemaManager{connection_, capture}.bring_up(mode);
    }
    void remove(const at::Capture& capture) {
        at::sqlite::SchemaManager{connection_, capture}.remove();
    }
    /// What verify says; empty where nothing differs.
    [[nodiscard]] std::string differences(const at::Capture& capture) {
        return at::to_text(at::sqlite::SchemaManager{connection_, capture}.plan().differences);
    }
    /// Whether a pipeline would have to rebuild for what verify finds.
    [[nodiscard]] bool lost(const at::Capture& capture) {
        const auto found = at::sqlite::SchemaManager{connection_, capture}.plan().differences;
        return std::any_of(found.begin(), found.end(), [](const auto& one) { return one.lost; });
    }
    [[nodiscard]] at::sqlite::InstalledCapture installed(const at::Capture& capture) {
        return at::sqlite::SchemaManager{connection_, capture}.find().value();
    }

    /// What is in the log behind `from`: `I(1) T(2,'x')`.
    [[nodiscard]] std::string log(const at::Capture& capture, std::int64_t from = 0) {
        std::string text;
        for (const Row& row : log_rows(capture, from)) {
            text += (text.empty() ? "" : " ") + std::string{row[0].cell().bytes()} + '(' +
                    literals({row.begin() + 1, row.end()}) + ')';
        }
        return text;
    }

    /// Operation and key of each change behind `from`.
    [[nodiscard]] std::vector<Row> log_rows(const at::Capture& capture, std::int64_t from = 0) {
        return rows("SELECT operation, " +
                    at::sqlite::dialect::key_columns(capture.table.key.size()) + " FROM " +
                    own(capture, "log") + " WHERE seq > " + std::to_string(from) +
                    " AND capture = " + std::to_string(installed(capture).id) + " ORDER BY seq");
    }
    [[nodiscard]] std::int64_t log_end(const at::Capture& capture) {
        return number("SELECT coalesce(max(seq), 0) FROM " + own(capture, "log"));
    }

    /// The rows of the captured table, by the form of their key.
    [[nodiscard]] std::map<std::string, Row> table(const at::Capture& capture) {
        std::string columns;
        for (const at::Column& column : capture.table.columns) {
            columns += (columns.empty() ? "" : ", ") + at::quoted(column.name);
        }
        const std::vector<at::KeyFold> folds = key_folds(capture);
        std::map<std::string, Row> found;
        for (Row& row : rows("SELECT " + columns + " FROM " + capture.table.name.quoted())) {
            Row key;
            for (const std::size_t part : capture.table.key) { key.push_back(row[part]); }
            found.emplace(form_of(key, folds), std::move(row));
        }
        return found;
    }

    /// Runs SQL, and names the keys of rows that it changed and that the log doesn't name; empty is
    /// what it must be.
    [[nodiscard]] std::string escaped(const at::Capture& capture, const std::string& sql) {
        const auto before = table(capture);
        const std::int64_t from = log_end(capture);
        last_code_ = attempt(sql);
        return unlogged(capture, before, from);
    }
    [[nodiscard]] int last_code() const noexcept { return last_code_; }

    [[nodiscard]] std::string unlogged(
        const at::Capture& capture, const std::map<std::string, Row>& before, std::int64_t from) {
        std::set<std::string> logged;
        const std::vector<at::KeyFold> folds = key_folds(capture);
        for (const Row& row : log_rows(capture, from)) {
            logged.insert(form_of({row.begin() + 1, row.end()}, folds));
        }
        const auto after = table(capture);
        std::string text;
        const auto look = [&](const auto& one, const auto& other) {
            for (const auto& [key, row] : one) {
                const auto found = other.find(key);
                const bool same = found != other.end() && found->second == row;
                if (!same && !logged.contains(key)) { text += literals(row) + ';'; }
            }
        };
        look(before, after);
        look(after, before);
        return text;
    }

    [[nodiscard]] std::vector<at::KeyFold> key_folds(const at::Capture& capture) {
        at::sqlite::Catalog catalog{connection_, at::sqlite::dialect::schema_of(capture)};
        return at::sqlite::key_folds(capture, catalog.table(capture.table.name));
    }

private:
    [[nodiscard]] static std::string own(const at::Capture& capture, std::string_view table) {
        return at::sqlite::dialect::own(at::sqlite::dialect::schema_of(capture), table);
    }

    [[nodiscard]] static std::string form_of(
        const Row& key, const std::vector<at::KeyFold>& folds) {
        std::string form;
        for (std::size_t i = 0; i < key.size(); ++i) {
            at::append_key_form(form, key[i], folds[i]);
        }
        return form;
    }

    at::sqlite::Connection connection_;
    int last_code_ = 0;
};

} // namespace test
