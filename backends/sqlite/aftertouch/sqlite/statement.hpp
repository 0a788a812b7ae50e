// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/connection.hpp>
#include <aftertouch/sqlite/types.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Statements: parameters written $1, $2 bound, rows read as cells.

namespace aftertouch::sqlite {

/// A prepared statement. Rows are read as `statement[i]` after `step()` said true; a cell is valid
/// until the next step.
class Statement {
public:
    /// *Throws* `Error` with SQLite's words for text that doesn't parse, or whose parameters aren't
    /// $1, $2, ...
    Statement(const Handle& handle, std::string_view sql) : handle_{&handle}, sql_{sql} {
        if (sql.find('\0') != std::string_view::npos) {
            throw Error{Errc::invalid_argument,
                handle.name() + ": a statement's text ends at a NUL byte to SQLite, and this one "
                                "goes on behind it: pass the "
                                "value as a parameter"};
        }
        sqlite3_stmt* raw = nullptr;
        const char* tail = sql_.data() + sql_.size();
        const int code = sqlite3_prepare_v3(
            handle.get(), sql_.data(), static_cast<int>(sql_.size()), 0, &raw, &tail);
        statement_.reset(raw);
        tail_at_ = static_cast<std::size_t>(tail - sql_.data());
        detail::check(handle.get(), code, handle.name(), sql);
        number_parameters();
    }

    [[nodiscard]] const std::string& sql() const noexcept { return sql_; }
    /// What follows the first statement of the text; empty for most.
    [[nodiscard]] std::string_view tail() const noexcept {
        const std::string_view rest = std::string_view{sql_}.substr(tail_at_);
        const std::size_t begin = rest.find_first_not_of(" \t\r\n;");
        return begin == std::string_view::npos ? std::string_view{} : rest.substr(begin);
    }
    /// Whether the text held nothing but white space and comments.
    [[nodiscard]] bool empty() const noexcept { return statement_ == nullptr; }
    [[nodiscard]] std::size_t parameters() const noexcept { return arguments_; }

    /// Binds $1, $2, ... in order. The values must live until the statement is reset.
    template <class Values>
    void bind(const Values& values) {
        if (values.size() != arguments_) { refuse_arguments(values.size()); }
        for (std::size_t i = 0; i < ordinals_.size(); ++i) {
            bind_one(static_cast<int>(i) + 1, Cell{values[ordinals_[i]]});
        }
    }

    /// Runs to the next row. *Throws* `Error`; the statement is reset then.
    bool step() {
        if (empty()) { return false; }
        const int code = sqlite3_step(statement_.get());
        if (code == SQLITE_ROW) { return true; }
        if (code == SQLITE_DONE) { return false; }
        Error error = detail::error_of(handle_->get(), code, handle_->name(), sql_);
        reset();
        throw error;
    }

    void reset() noexcept {
        if (!empty()) { sqlite3_reset(statement_.get()); }
    }

    [[nodiscard]] std::size_t size() const noexcept {
        return empty() ? 0 : static_cast<std::size_t>(sqlite3_column_count(statement_.get()));
    }

    [[nodiscard]] Cell operator[](std::size_t column) const {
        // Unprotected, as SQLite calls it: good on one thread at a time, and found only once.
        sqlite3_value* value = sqlite3_column_value(statement_.get(), static_cast<int>(column));
        switch (sqlite3_value_type(value)) {
            case SQLITE_INTEGER: return Cell::integer(sqlite3_value_int64(value));
            case SQLITE_FLOAT: return Cell::real(sqlite3_value_double(value));
            case SQLITE_TEXT: {
                const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
                return Cell::text(
                    {checked(text), static_cast<std::size_t>(sqlite3_value_bytes(value))});
            }
            case SQLITE_BLOB: return blob(value);
            default: return Cell::null();
        }
    }

    /// \name Columns whose type is known, for rows by the thousand
    /// SQLite converts what is of another type.
    /// @{
    [[nodiscard]] std::int64_t integer(std::size_t column) const noexcept {
        return sqlite3_column_int64(statement_.get(), static_cast<int>(column));
    }
    [[nodiscard]] double real(std::size_t column) const noexcept {
        return sqlite3_column_double(statement_.get(), static_cast<int>(column));
    }
    /// The first byte of a text; NUL where there is none.
    [[nodiscard]] char letter(std::size_t column) const {
        sqlite3_stmt* row = statement_.get();
        const int i = static_cast<int>(column);
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, i));
        const bool null = text == nullptr && sqlite3_column_type(row, i) == SQLITE_NULL;
        return null ? '\0' : *checked(text);
    }
    /// @}

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
    };

    void number_parameters() {
        const int count = sqlite3_bind_parameter_count(statement_.get());
        for (int i = 1; i <= count; ++i) {
            const char* name = sqlite3_bind_parameter_name(statement_.get(), i);
            std::size_t number = 0;
            for (const char* digit = name == nullptr ? "" : name + 1; *digit != '\0'; ++digit) {
                number = *digit >= '0' && *digit <= '9' && number < 100'000
                             ? number * 10 + static_cast<std::size_t>(*digit - '0')
                             : 1'000'000;
            }
            if (name == nullptr || *name != '$' || number == 0 || number > 100'000) {
                throw Error{Errc::invalid_argument,
                    handle_->name() + ": a statement's parameters are written $1, $2 and so on, as "
                                      "on every engine",
                    {.statement = sql_}};
            }
            ordinals_.push_back(number - 1);
            arguments_ = number > arguments_ ? number : arguments_;
        }
    }

    [[noreturn]] void refuse_arguments(std::size_t given) const {
        throw Error{Errc::invalid_argument,
            handle_->name() + ": the statement has " + std::to_string(arguments_) +
                " parameters and got " + std::to_string(given) +
                " arguments: pass one for each of $1, $2 and so on",
            {.statement = sql_}};
    }

    void bind_one(int i, Cell cell) {
        std::string room;
        const Cell stored = stored_form(cell, room);
        sqlite3_destructor_type lifetime = room.empty() ? SQLITE_STATIC : SQLITE_TRANSIENT;
        sqlite3_stmt* statement = statement_.get();
        const std::string_view bytes = stored.bytes();
        int code = SQLITE_OK;
        switch (stored.kind()) {
            case Kind::null: code = sqlite3_bind_null(statement, i); break;
            case Kind::integer: code = sqlite3_bind_int64(statement, i, stored.as_integer()); break;
            case Kind::real: code = sqlite3_bind_double(statement, i, stored.as_real()); break;
            case Kind::text:
                code =
                    sqlite3_bind_text64(statement, i, bytes.data() == nullptr ? "" : bytes.data(),
                        bytes.size(), lifetime, SQLITE_UTF8);
                break;
            default:
                code = bytes.empty() ? sqlite3_bind_zeroblob(statement, i, 0)
                                     : sqlite3_bind_blob64(
                                           statement, i, bytes.data(), bytes.size(), lifetime);
        }
        detail::check(handle_->get(), code, handle_->name(), sql_);
    }

    // SQLite answers null where it ran out of memory, and for an empty blob.
    [[nodiscard]] const char* checked(const char* data) const {
        if (data == nullptr) {
            throw detail::error_of(nullptr, SQLITE_NOMEM, handle_->name(), sql_);
        }
        return data;
    }

    [[nodiscard]] Cell blob(sqlite3_value* value) const {
        const void* data = sqlite3_value_blob(value);
        const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
        if (size == 0) { return Cell::blob({}); }
        return Cell::blob(
            {reinterpret_cast<const std::byte*>(checked(static_cast<const char*>(data))), size});
    }

    const Handle* handle_;
    std::string sql_;
    std::size_t tail_at_ = 0;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::vector<std::size_t> ordinals_; // of each of SQLite's parameters, which argument
    std::size_t arguments_ = 0;
};

} // namespace aftertouch::sqlite
