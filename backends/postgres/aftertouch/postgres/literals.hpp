// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/error.hpp>
#include <aftertouch/postgres/types.hpp>

/// \file
/// Row and array literals, the text in which keys and images lie in the log: read natively, and
/// written for arrays of keys. No client library.

namespace aftertouch::postgres {

/// A part of a row or an element of an array: its text, or null.
struct LiteralPart {
    std::string_view text;
    bool null = false;
};

/// Reads literals from the front of a text.
///
/// The parts look at the text itself, or at `room` where something was quoted.
class LiteralReader {
public:
    LiteralReader(std::string_view text, Room& room) : rest_{text}, room_{room} {}

    [[nodiscard]] bool done() const noexcept { return rest_.empty(); }

    /// Appends the parts of the row that comes next: `(a,"b c",)`.
    void read_row(std::vector<LiteralPart>& parts) {
        expect('(');
        do { parts.push_back(read_part(')')); } while (take(','));
        expect(')');
    }
    /// Appends the elements of the array that comes next: `{a,"b c",NULL}`.
    void read_array(std::vector<LiteralPart>& parts) {
        expect('{');
        if (take('}')) { return; }
        do { parts.push_back(read_part('}')); } while (take(','));
        expect('}');
    }

private:
    [[nodiscard]] bool take(char c) noexcept {
        if (rest_.empty() || rest_.front() != c) { return false; }
        rest_.remove_prefix(1);
        return true;
    }
    void expect(char c) {
        if (!take(c)) { refuse(); }
    }
    [[noreturn]] static void refuse() {
        throw Error{Errc::database, "a key or an image in the log isn't in the form that the "
                                    "triggers write: was the log changed by hand?"};
    }

    [[nodiscard]] LiteralPart read_part(char end) {
        if (!rest_.empty() && rest_.front() == '"') { return {read_quoted(), false}; }
        std::size_t size = 0;
        while (size < rest_.size() && rest_[size] != ',' && rest_[size] != end) {
            if (rest_[size] == '"' || rest_[size] == '\\') { refuse(); }
            ++size;
        }
        const std::string_view text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        const bool null = end == ')' ? text.empty() : text == "NULL";
        return {text, null};
    }

    // A row doubles quotes and backslashes, an array puts a backslash before them.
    [[nodiscard]] std::string_view read_quoted() {
        rest_.remove_prefix(1);
        std::size_t size = 0;
        std::size_t dropped = 0;
        for (;; ++size) {
            if (size >= rest_.size()) { refuse(); }
            const bool escape = rest_[size] == '\\';
            const bool twice =
                rest_[size] == '"' && size + 1 < rest_.size() && rest_[size + 1] == '"';
            if (escape || twice) {
                ++size;
                ++dropped;
            } else if (rest_[size] == '"') {
                break;
            }
        }
        const std::string_view text = rest_.substr(0, size);
        rest_.remove_prefix(size + 1);
        return dropped == 0 ? text : unescaped(text, dropped);
    }

    [[nodiscard]] std::string_view unescaped(std::string_view text, std::size_t dropped) {
        const std::size_t size = text.size() - dropped;
        char* out = room_.take(size);
        std::size_t to = 0;
        for (std::size_t from = 0; from < text.size() && to < size; ++from) {
            if (text[from] == '\\' || text[from] == '"') { ++from; }
            out[to++] = text[from];
        }
        return {out, size};
    }

    std::string_view rest_;
    Room& room_;
};

/// Writes an array literal, element by element.
class ArrayWriter {
public:
    void add(Cell cell) {
        text_ += text_.size() == 1 ? "" : ",";
        if (cell.is_null()) {
            text_ += "NULL";
            return;
        }
        element_.clear();
        append_text(element_, cell);
        text_ += '"';
        for (const char c : element_) {
            if (c == '"' || c == '\\') { text_ += '\\'; }
            text_ += c;
        }
        text_ += '"';
    }
    [[nodiscard]] std::string take() {
        std::string whole = std::move(text_) + '}';
        text_ = "{";
        return whole;
    }

private:
    std::string text_ = "{";
    std::string element_;
};

} // namespace aftertouch::postgres
