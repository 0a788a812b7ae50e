// SPDX-License-Identifier: MIT
// Texts that come from outside: checkpoints, positions, values, and SQL that a schema holds. Each
// is refused, or is the one text of what was read (P4).
#include <string>
#include <string_view>

#include <aftertouch/checkpoint.hpp>
#include <aftertouch/sqlite/change_log.hpp>
#include <aftertouch/sqlite/index_text.hpp>
#include <aftertouch/value.hpp>

#include "fuzz.hpp"

namespace at = aftertouch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{reinterpret_cast<const char*>(data), size};
    if (const auto checkpoint = at::checkpoint_from(text)) {
        fuzz::require(to_text(*checkpoint) == text, "a checkpoint has one text");
    }
    if (const auto position = at::sqlite::Position::from(text)) {
        fuzz::require(position->text() == text, "a position has one text");
    }
    if (const auto value = at::value_from(text)) {
        fuzz::require(to_text(*value) == text, "a value has one text");
    }
    // Ends, and reads nothing that isn't there.
    const at::sqlite::IndexText index = at::sqlite::read_index_text(text);
    static_cast<void>(index);
    static_cast<void>(at::sqlite::read_table_text(text));
    return 0;
}
