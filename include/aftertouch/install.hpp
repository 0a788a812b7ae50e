// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/script.hpp>
#include <aftertouch/source.hpp>

/// \file
/// Installing, verifying and removing captures by hand, and printing what would run.
/// `Pipeline::start` installs by itself.

namespace aftertouch {

/// Brings the database to what the sources need; answers whether anything was changed. One
/// transaction a source.
///
/// *Throws* `Error`: `capture_conflict` where another program declares the capture otherwise,
/// `schema_mismatch` for a table that can't be captured, and with `Schema::verify` for every
/// difference, in words.
template <StorageBackend B, ChangeSource... S>
bool install(B& database, Schema mode, const S&... sources) {
    return (static_cast<int>(database.install(sources.capture(), mode)) + ... + 0) != 0;
}
template <StorageBackend B, ChangeSource... S>
bool install(B& database, const S&... sources) {
    return install(database, Schema::automatic, sources...);
}

/// What isn't as the sources need it; empty where all is. Changes nothing.
template <StorageBackend B, ChangeSource... S>
[[nodiscard]] std::vector<Difference> verify(B& database, const S&... sources) {
    std::vector<Difference> all;
    const auto add = [&](const std::vector<Difference>& found) {
        all.insert(all.end(), found.begin(), found.end());
    };
    (add(database.differences(sources.capture())), ...);
    return all;
}

/// Takes off what was installed for the sources, with their changes in the log and their pipelines'
/// checkpoints, and nothing else. One transaction a source. Stop the pipelines first: one that runs
/// puts it back.
template <StorageBackend B, ChangeSource... S>
void remove(B& database, const S&... sources) {
    (database.remove(sources.capture()), ...);
}

/// What `install` would run in this database as it is, for a person to read and run; empty where
/// nothing is to be done. For several sources: print and run one after the other.
template <StorageBackend B, ChangeSource S>
[[nodiscard]] Script install_script(B& database, const S& source) {
    return database.install_script(source.capture());
}

/// A query that tells a person how far each pipeline of this database has come. Reads only.
template <StorageBackend B>
[[nodiscard]] Script status_script(B& database) {
    return database.status_script();
}

/// What a person may run in the place of `Database::prune()`, for the captures as they are.
template <StorageBackend B>
[[nodiscard]] Script prune_script(B& database) {
    return database.prune_script();
}

/// What `remove` would run in this database as it is. For several sources: print and run one after
/// the other.
template <StorageBackend B, ChangeSource S>
[[nodiscard]] Script remove_script(B& database, const S& source) {
    return database.remove_script(source.capture());
}

} // namespace aftertouch
