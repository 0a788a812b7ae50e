// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <aftertouch/change.hpp>

/// \file
/// What a pipeline says of itself: its state, how far it is behind, and what went wrong.

namespace aftertouch {

enum class State {
    stopped,    ///< not started, or stopped in order
    starting,   ///< connecting, installing, looking for the checkpoint
    rebuilding, ///< handing over every row of the source
    replaying,  ///< handling what the log held when it started
    following,  ///< up to date, or on its way there
    waiting,    ///< the database is locked or gone for now, or the handler has failed: it tries
                ///< again by itself
    standby,    ///< another instance holds the lease
    paused,
    failed ///< stopped by an error; `errors()` has it
};

[[nodiscard]] constexpr std::string_view name(State state) noexcept {
    constexpr std::string_view names[] = {"stopped", "starting", "rebuilding", "replaying",
        "following", "waiting", "standby", "paused", "failed"};
    return names[static_cast<std::size_t>(state)];
}

/// A transaction that has written and isn't committed.
struct OpenTransaction {
    std::string who;
    Timestamp since; ///< by the database's clock
};

/// Distance to the end of the log.
struct Lag {
    std::int64_t records = 0; ///< changes of this capture that aren't handled yet
    std::chrono::microseconds age{
        0}; ///< since the oldest of them was made, of either priority, on the database's clock
    std::optional<OpenTransaction>
        oldest_open{};             ///< whose changes come later; on engines where writers overlap
    std::int64_t low_priority = 0; ///< how many of the records were marked so

    void add_low_priority(const Lag& marked) {
        records += marked.records;
        low_priority += marked.records;
        age = std::max(age, marked.age);
    }
};

/// How far a rebuild has come.
struct Progress {
    std::int64_t generation = 0;
    std::int64_t done = 0;
    std::int64_t total = 0; ///< an estimate, made when the rebuild began
    double per_second = 0;  ///< since this process took it up
    std::optional<std::chrono::seconds> time_left{};
};

/// An error that stopped a pipeline.
struct Failure {
    Timestamp at;         ///< this machine's clock
    std::string event_id; ///< of the batch that wasn't handled; empty when none was in hand
    std::string message;
    std::exception_ptr cause;
};

struct Status {
    std::string name;
    State state = State::stopped;
    std::string position;       ///< the checkpoint's; the backend's own text. As this instance has
                                ///< seen it last: while it stands by, the holder's
    std::string low_position{}; ///< the same for changes of low priority; empty where the source
                                ///< knows none
    std::optional<Lag> lag{};   ///< behind that; missing while the database can't be asked
    std::optional<Progress> rebuild{};
    std::int64_t attempts = 0; ///< how often the batch that comes next has failed, without what
                               ///< passes by itself (`Transient`)
    std::int64_t batches = 0;  ///< committed since this object was made; in lanes, what was dealt
                               ///< to all of them counts as one, when all have handled it
    std::int64_t changes = 0;
    std::int64_t rebuilt = 0;
    std::int64_t failures = 0;
    std::int64_t dead_letters = 0; ///< set aside; 0 where the lag is missing
    std::string lease_holder;      ///< who runs it: `Options::instance` and a random word, or empty
};

/// What waiting for a pipeline came to.
enum class Awaited {
    idle,    ///< everything committed before the call is handled
    stopped, ///< the pipeline isn't running, or stopped meanwhile: see `errors()`
    timed_out
};

[[nodiscard]] constexpr std::string_view name(Awaited awaited) noexcept {
    constexpr std::string_view names[] = {"idle", "stopped", "timed_out"};
    return names[static_cast<std::size_t>(awaited)];
}

} // namespace aftertouch
