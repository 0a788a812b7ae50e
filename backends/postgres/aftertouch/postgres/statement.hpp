// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/error.hpp>
#include <aftertouch/postgres/binary.hpp>
#include <aftertouch/postgres/connection.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Statements: parameters written $1, $2 as text, and the rows of an answer as cells.

namespace aftertouch::postgres {

/// How the server writes an answer's values. Binary is cheaper for both sides, where all of its
/// types are read so.
enum class Format : std::uint8_t { text, binary };

/// The answer to a statement, whole in memory.
class Answer {
public:
    explicit Answer(detail::ResultPointer result)
        : result_{std::move(result)}, binary_{PQbinaryTuples(result_.get()) != 0} {
        types_.reserve(columns());
        for (std::size_t i = 0; i < columns(); ++i) {
            const std::uint32_t type = PQftype(result_.get(), static_cast<int>(i));
            types_.push_back({form_of(type), !binary_ || has_binary_form(type)});
        }
    }

    [[nodiscard]] std::size_t rows() const noexcept {
        return static_cast<std::size_t>(PQntuples(result_.get()));
    }
    [[nodiscard]] std::size_t columns() const noexcept {
        return static_cast<std::size_t>(PQnfields(result_.get()));
    }
    [[nodiscard]] bool null(std::size_t row, std::size_t column) const noexcept {
        return PQgetisnull(result_.get(), static_cast<int>(row), static_cast<int>(column)) != 0;
    }
    /// How many bytes the server wrote; 0 for null.
    [[nodiscard]] std::int64_t size(std::size_t row, std::size_t column) const noexcept {
        return PQgetlength(result_.get(), static_cast<int>(row), static_cast<int>(column));
    }
    /// As the server wrote it; empty for null.
    [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const noexcept {
        const int r = static_cast<int>(row);
        const int c = static_cast<int>(column);
        return {PQgetvalue(result_.get(), r, c),
            static_cast<std::size_t>(PQgetlength(result_.get(), r, c))};
    }
    /// An integer; 0 for null.
    [[nodiscard]] std::int64_t number(std::size_t row, std::size_t column) const noexcept {
        const std::string_view written = text(row, column);
        if (written.empty()) { return 0; }
        if (!binary_) { return std::strtoll(written.data(), nullptr, 10); }
        return binary_integer(written);
    }
    [[nodiscard]] bool flag(std::size_t row, std::size_t column) const noexcept {
        const std::string_view written = text(row, column);
        return !written.empty() && (binary_ ? written.front() != 0 : written.front() == 't');
    }
    /// A `timestamp with time zone` of a binary answer. *Requires* that it is finite.
    [[nodiscard]] std::chrono::sys_time<std::chrono::microseconds> time(
        std::size_t row, std::size_t column) const noexcept {
        return std::chrono::sys_time{
            std::chrono::microseconds{number(row, column) + detail::first_microsecond}};
    }
    /// *Throws* `Error` (`interrupted`) for a binary value of a type that isn't read so.
    [[nodiscard]] Cell cell(std::size_t row, std::size_t column, Room& room) const {
        if (null(row, column)) { return Cell::null(); }
        const auto [form, readable] = types_[column];
        if (!binary_) { return cell_from(text(row, column), form, room); }
        if (!readable) { refuse_type(column); }
        return cell_from_binary(text(row, column), form);
    }
    /// How many rows the statement wrote (or read, for a query).
    [[nodiscard]] std::int64_t affected() const noexcept {
        return std::strtoll(PQcmdTuples(result_.get()), nullptr, 10);
    }
    /// The word that the server answers a statement with: `UPDATE 3`, `COMMIT`.
    [[nodiscard]] std::string_view tag() const noexcept { return PQcmdStatus(result_.get()); }

private:
    struct Type {
        Form form;
        bool readable;
    };

    // Whoever asks for binary has looked at the types before.
    [[noreturn]] void refuse_type(std::size_t column) const {
        throw Error{Errc::interrupted,
            "the type of column " + std::string{PQfname(result_.get(), static_cast<int>(column))} +
                " was changed: once more"};
    }

    detail::ResultPointer result_;
    bool binary_;
    std::vector<Type> types_;
};

/// One row of an answer.
class AnswerRow {
public:
    AnswerRow(const Answer& answer, std::size_t row, Room& room)
        : answer_{answer}, row_{row}, room_{room} {}
    [[nodiscard]] std::size_t size() const noexcept { return answer_.columns(); }
    /// Valid as long as the answer, and until the next row is begun.
    [[nodiscard]] Cell operator[](std::size_t column) const {
        return answer_.cell(row_, column, room_);
    }

private:
    const Answer& answer_;
    std::size_t row_;
    Room& room_;
};

/// The parameters of a statement, as libpq wants them; the storage is reused.
class Arguments {
public:
    template <class Values>
    void assign(const Values& values) {
        count_ = 0;
        for (const auto& value : values) {
            if (count_ == texts_.size()) { texts_.emplace_back(); }
            texts_[count_].clear();
            const Cell cell{value};
            append_text(texts_[count_], cell);
            nulls_.resize(texts_.size());
            nulls_[count_++] = cell.is_null();
        }
        pointers_.resize(count_);
        for (std::size_t i = 0; i < count_; ++i) {
            pointers_[i] = nulls_[i] ? nullptr : texts_[i].c_str();
        }
    }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(count_); }
    [[nodiscard]] const char* const* data() const noexcept { return pointers_.data(); }

private:
    std::vector<std::string> texts_;
    std::vector<bool> nulls_;
    std::vector<const char*> pointers_;
    std::size_t count_ = 0;
};

} // namespace aftertouch::postgres
