// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include <aftertouch/error.hpp>

/// \file
/// What PostgreSQL's SQLSTATEs mean to a caller. No client library.

namespace aftertouch::postgres::detail {

/// An SQLSTATE as one number: what `Error::native_code` answers.
[[nodiscard]] constexpr int packed(std::string_view state) noexcept {
    int number = 0;
    for (const char c : state) { number = number * 36 + (c >= 'A' ? c - 'A' + 10 : c - '0'); }
    return number;
}

/// What an SQLSTATE means to a caller.
[[nodiscard]] constexpr Errc errc_of(std::string_view state) noexcept {
    for (const std::string_view busy : {"55P03", "55006", "40P01", "40001", "53300", "57P03"}) {
        if (state == busy) { return Errc::busy; }
    }
    for (const std::string_view lost : {"57P01", "57P02", "57P05", "25P03", "25P04"}) {
        if (state == lost) { return Errc::connection_lost; }
    }
    if (state == "08P01") { return Errc::database; } // a protocol violation doesn't pass by itself
    if (state == "57014") { return Errc::interrupted; }
    if (state == "25006") { return Errc::read_only; }
    if (state == "25P02" || state == "25P01") { return Errc::transaction_lost; }
    if (state == "53200") { return Errc::out_of_memory; }
    if (state == "53100") { return Errc::disk_full; }
    if (state.starts_with("23")) { return Errc::constraint; }
    if (state.starts_with("08")) { return Errc::connection_lost; }
    return Errc::database;
}

/// Whether the server ends a transaction with it for another one's sake: a deadlock, or a conflict
/// of what both have read and written.
[[nodiscard]] constexpr bool is_sacrifice(int native_code) noexcept {
    return native_code == packed("40P01") || native_code == packed("40001");
}

/// What a caller can do about it; empty where the server's own words say it all.
[[nodiscard]] constexpr std::string_view advice(Errc code, std::string_view state) noexcept {
    if (state == "42501") {
        return "this role lacks a right: sql/postgres/README.md has the grants of each role";
    }
    if (state == "42P01") {
        return "create the table (Database::create_table<T>() makes an entity's), or name its "
               "schema";
    }
    if (state == "40P01") {
        return "two transactions wait for each other's rows: write rows that they share in the "
               "same order in both, or try again";
    }
    switch (code) {
        case Errc::busy:
            return "somebody else holds a lock: keep transactions short, or raise "
                   "Options::lock_timeout";
        case Errc::disk_full: return "free space on the server's disk: nothing was lost";
        case Errc::transaction_lost:
            return "an error before has ended the transaction: pass errors on, or guard a "
                   "statement that may fail with a savepoint";
        default: return {};
    }
}

/// Whether the server's sentence for this SQLSTATE can't quote a row's value.
[[nodiscard]] constexpr bool says_no_value(std::string_view state) noexcept {
    for (const std::string_view kind : {"0A", "08", "25", "26", "28", "34", "3D", "3F", "40", "42",
             "53", "54", "55", "57", "58"}) {
        if (state.starts_with(kind)) { return true; }
    }
    return false;
}

} // namespace aftertouch::postgres::detail
