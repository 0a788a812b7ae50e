// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>

#include <aftertouch/detail/fair_mutex.hpp>
#include <aftertouch/sqlite/prepared.hpp>

/// \file
/// The connection that a session or a lease works on.

namespace aftertouch::sqlite {

/// Its own, or one that it shares.
struct SessionConnection {
    std::shared_ptr<Connection> connection;
    bool shared = false;
    /// Of the shared connection; of batches that wait for the file's one write lock otherwise, so
    /// that a Database's pipelines have it in turn.
    std::shared_ptr<aftertouch::detail::FairMutex> mutex;
    std::chrono::milliseconds busy_timeout{5000};
};

} // namespace aftertouch::sqlite
