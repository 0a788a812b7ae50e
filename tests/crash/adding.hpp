// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <aftertouch/aftertouch.hpp>
#include <support/adding.hpp>

/// \file
/// What a process does that is stopped in the middle of it, on any engine, and what must hold
/// behind it.

namespace crash {

namespace at = aftertouch;
using test::add_orders;
using test::number;
using test::Order;
using test::Total;

/// Whether the handler wants changes of every fifth order set aside.
inline bool is_picky = false;

/// How many lanes its changes are dealt to, where the engine knows lanes.
inline std::size_t in_lanes = 1;

/// A pipeline with small batches, passed to `work`.
template <class Database, class Work>
void with_pipeline(Database& database, Database* beside, Work work) {
    at::Pipeline pipeline{test::orders,
        test::Adding<Database>{{.beside = beside, .picky = &is_picky}}, database,
        {.name = "totals", .batch_size = 5, .lanes = in_lanes, .observer = {}}};
    work(pipeline);
}

template <class Database>
void change_orders(Database& database) {
    test::change_rows(database);
    database.execute("INSERT INTO \"order\" VALUES (7, 'c7', 70), (50, 'c5', 50)");
}

/// Some changes are set aside, then released; `armed` says from when on it is stopped.
template <class Database, class RunOnce, class Armed, class Release>
void set_aside_and_release(
    Database& database, const RunOnce& run_once, const Armed& armed, const Release& release) {
    const auto run_all = [&] {
        for (bool more = true; more;) {
            try {
                more = run_once();
            } catch (const at::Error& error) {
                if (error.code() != at::Errc::handler_failed) { throw; } // its answer
            }
        }
    };
    is_picky = true;
    change_orders(database);
    armed();
    run_all();
    is_picky = false;
    for (bool released = false; !released;) {
        try {
            release();
            released = true;
        } catch (const at::Error& error) {
            if (!error.retryable()) { throw; } // it was stopped in the middle of that
        }
    }
    run_all();
}

/// What is wrong already: nothing was handled twice.
template <class Database>
[[nodiscard]] std::string fault_left(Database& ledger) {
    return test::fault_in_ledger(ledger);
}

/// What is wrong when everything is handled. `logged` counts the changes in the log.
template <class Database>
[[nodiscard]] std::string fault_at_end(
    Database& database, Database& ledger, const std::string& logged) {
    if (std::string fault = fault_left(ledger); !fault.empty()) { return fault; }
    if (std::string fault = test::fault_in_totals(database); !fault.empty()) { return fault; }
    const bool rebuilt =
        number(ledger, "SELECT count(*) FROM ledger WHERE change LIKE '%:r2:%'") != 0;
    const std::string handled = "SELECT count(*) FROM ledger WHERE change NOT LIKE '%:r%'";
    if (!rebuilt && number(ledger, handled) > number(database, logged)) {
        return "more changes were handled than there are";
    }
    return {};
}

} // namespace crash
