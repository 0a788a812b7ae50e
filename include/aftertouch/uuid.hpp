// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include <boost/uuid/uuid.hpp>

#include <aftertouch/codec.hpp>

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

    static void decode(Cell cell, boost::uuids::uuid& out) {
        const bool bare = cell.kind() == Kind::blob && cell.bytes().size() == 16;
        const std::string_view bytes = read_bytes(cell, bare ? Kind::blob : Kind::uuid, "a uuid");
        std::transform(bytes.begin(), bytes.end(), out.begin(),
            [](char byte) { return static_cast<unsigned char>(byte); });
    }
};

} // namespace aftertouch::detail
