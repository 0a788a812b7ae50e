// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/sqlite/catalog.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/own_tables.hpp>

/// \file
/// Whether the log is one that triggers can append to and pipelines can trust.

namespace aftertouch::sqlite {

/// Answers for how many parts of a key the log has room.
///
/// *Throws* `Error` (`schema_mismatch`) for a log that has been altered: a writer could fail on a
/// constraint, or lose its change to it under OR IGNORE.
[[nodiscard]] inline std::size_t require_sound_log(Catalog& catalog) {
    const auto refuse = [&](const std::string& sentence) {
        throw Error{Errc::schema_mismatch, catalog.database() + ": " + sentence,
            {.where = catalog.database()}};
    };
    const std::string again = ": remove() the captures of this database and install them again";
    const std::string log = catalog.object("table", "aftertouch_log").value_or("");
    if (!detail::mentions(log, "AUTOINCREMENT")) {
        refuse("aftertouch_log has no AUTOINCREMENT, so that numbers of changes could come twice" +
               again);
    }
    const std::int64_t columns =
        catalog
            .number("SELECT count(*) FROM pragma_table_info('aftertouch_log', " +
                    quoted_text(catalog.schema()) + ")")
            .value_or(0);
    const auto parts = static_cast<std::size_t>(std::max<std::int64_t>(columns - 5, 1));
    if (log != shared_tables(parts)[1].sql) {
        refuse("aftertouch_log isn't as it was made, so that writers could fail on it or changes "
               "be left out" +
               again);
    }
    for (const std::string& name : catalog.in_the_way("aftertouch_log")) {
        refuse(name + " on aftertouch_log could keep changes out of it, or make a writer fail: "
                      "drop it");
    }
    return parts;
}

/// Whether the log gives out numbers that were pruned, or will: somebody has set its sequence back.
[[nodiscard]] inline bool numbers_begun_again(Catalog& catalog) {
    return catalog
               .number("SELECT coalesce((SELECT min(seq) FROM " +
                       dialect::own(catalog.schema(), "log") +
                       ") < pruned_through, 0) OR coalesce((" +
                       dialect::high_water(catalog.schema()) + "), 0) < pruned_through FROM " +
                       dialect::own(catalog.schema(), "meta"))
               .value_or(0) != 0;
}

} // namespace aftertouch::sqlite
