// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <boost/uuid/uuid.hpp>

#include <aftertouch/codec.hpp>
#include <aftertouch/uuid_text.hpp>
#include <aftertouch/value.hpp>

/// \file
/// boost::uuids::uuid as a column and as a key; include it where you use one.

namespace aftertouch::detail {

template <>
struct Builtin<boost::uuids::uuid> {
    static constexpr ColumnType column = ColumnType::uuid;
    static constexpr bool key = true;

    static Cell cell(const boost::uuids::uuid& value) noexcept {
        return Cell::uuid(std::as_bytes(std::span<const unsigned char, 16>{value.begin(), 16}));
    }

    /// A uuid, a blob of sixteen bytes, or text as uuid_text() writes it.
    static void decode(Cell cell, boost::uuids::uuid& out) {
        std::string_view bytes = cell.bytes();
        std::optional<std::array<char, 16>> parsed;
        if (cell.kind() == Kind::text) {
            parsed = uuid_from(bytes);
            bytes = parsed ? std::string_view{parsed->data(), parsed->size()} : std::string_view{};
        } else if (cell.kind() != Kind::uuid && cell.kind() != Kind::blob) {
            refuse_kind(cell, "a uuid");
        }
        if (bytes.size() != 16) {
            refuse_range(cell, "a uuid (16 bytes, or 36 characters in lower case)");
        }
        std::transform(bytes.begin(), bytes.end(), out.begin(),
            [](char byte) { return static_cast<unsigned char>(byte); });
    }
};

} // namespace aftertouch::detail
