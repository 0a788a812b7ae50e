// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/postgres/batch_transaction.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/lease.hpp>
#include <aftertouch/postgres/log_requirements.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/schema.hpp>
#include <aftertouch/postgres/snapshot.hpp>
#include <aftertouch/postgres/store.hpp>
#include <aftertouch/postgres/wake.hpp>
#include <aftertouch/value.hpp>

/// \file
/// A lane's connection, and the transaction of its part of a deal (L2).

namespace aftertouch::postgres {

/// *Threads*: one at a time, but for `interrupt` and `keep_alive`.
class LaneSession {
public:
    using Transaction = BatchTransaction::Transaction;

    LaneSession(std::unique_ptr<Connection> connection, SessionRequest request, WakeList& wakers,
        const std::atomic<bool>& stopping)
        : connection_{std::move(connection)},
          request_{std::move(request)},
          wakers_{wakers},
          transaction_{*connection_, stopping},
          store_{*connection_, request_.pipeline},
          folds_(request_.capture.table.key.size(), KeyFold::exact) {
        connection_->limit_silence(longest_silence(request_.lease));
    }

    void forget_source() noexcept { rows_.reset(); }
    [[nodiscard]] const std::vector<KeyFold>& key_folds() const noexcept { return folds_; }

    void begin() {
        connection_->revive();
        if (!rows_) { look_at_source(); }
        transaction_.begin();
    }
    [[nodiscard]] bool claim(const LaneShare& share) { return store_.claim_lane(share); }

    [[nodiscard]] Transaction& transaction() { return transaction_.for_handler(); }
    [[nodiscard]] bool intact() { return transaction_.intact(); }
    [[nodiscard]] Excuse excuse(const Error* thrown) const noexcept {
        return connection_->excuse(thrown);
    }
    template <class Work>
    void run_own(Work work) {
        work(transaction_.own());
    }
    template <class Sink>
    void fetch(std::span<const Value> keys, Sink&& sink) {
        rows_->fetch(keys, std::forward<Sink>(sink));
        transaction_.passes_own_statement();
    }
    void mark_own_changes(const Position& since) { store_.mark_own_changes(since.last); }

    void commit(const LaneShare& share) {
        store_.finish_lane_and_commit(share);
        transaction_.ended();
        wakers_.notify_all(); // what the handler wrote may be another pipeline's source
    }
    void roll_back() noexcept { transaction_.roll_back(); }

    void keep_alive() noexcept { connection_->ping(); }
    void interrupt() noexcept { connection_->handle().cancel(); }

private:
    void look_at_source() {
        require_primary(*connection_); // of several hosts it may be another one
        SchemaManager manager{*connection_, request_.capture};
        Planner planner = manager.planner();
        const TableFacts facts = planner.catalog().table(request_.capture.table.name);
        require_readable(request_.capture, facts);
        rows_.emplace(*connection_, request_.capture.table, request_.order, facts);
    }

    std::unique_ptr<Connection> connection_;
    SessionRequest request_;
    WakeList& wakers_;
    BatchTransaction transaction_;
    CheckpointStore store_;
    std::vector<KeyFold> folds_;
    std::optional<SourceRows> rows_; // as the source was when it was looked at last
};

} // namespace aftertouch::postgres
