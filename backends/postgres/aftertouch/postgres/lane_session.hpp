// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/postgres/batch_transaction.hpp>
#include <aftertouch/postgres/catalog.hpp>
#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/lease.hpp>
#include <aftertouch/postgres/log_requirements.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/schema.hpp>
#include <aftertouch/postgres/snapshot.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/postgres/wake.hpp>
#include <aftertouch/value.hpp>

/// \file
/// A lane's connection, and the transaction of its part of a deal (L2).

namespace aftertouch::postgres {

namespace dialect {

/// $1 pipeline, $2 version, $3 lane, $4 deal: notes that the lane has handled its part. It fails by
/// itself where the checkpoint was moved or taken over, or somebody else has noted the same, so
/// that a COMMIT behind it can't succeed. The lock lets other lanes in, and makes who takes the
/// checkpoint over wait for the COMMIT.
inline constexpr std::string_view finish_lane =
    "WITH f AS MATERIALIZED (SELECT pipeline FROM aftertouch.checkpoint WHERE pipeline = $1 AND "
    "version = $2::bigint FOR SHARE), d AS (INSERT INTO aftertouch.lane AS l (pipeline, lane, "
    "deal) SELECT pipeline, $3::integer, $4::bigint FROM f ON CONFLICT (pipeline, lane) DO UPDATE "
    "SET deal = excluded.deal WHERE l.deal <> excluded.deal RETURNING 1) SELECT 1 / count(*) FROM "
    "d";

/// $1 pipeline, $2 deal: the lanes that have handled their part.
inline constexpr std::string_view finished_lanes =
    "SELECT lane FROM aftertouch.lane WHERE pipeline = $1 AND deal = $2::bigint";

} // namespace dialect

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
    void mark_own_changes(const Position& since) {
        connection_->run(dialect::mark_own,
            std::array{Value{Cell::text(request_.pipeline)}, Value{Cell::integer(since.last)}});
    }

    void commit(const LaneShare& share) {
        const std::array values{Value{Cell::text(request_.pipeline)},
            Value{Cell::integer(share.version)},
            Value{Cell::integer(static_cast<std::int64_t>(share.lane))},
            Value{Cell::integer(share.deal)}};
        try {
            static_cast<void>(connection_->ask_and_commit(dialect::finish_lane, values));
        } catch (const Error& error) {
            // What the COMMIT itself says is another thing: a constraint that was deferred, say.
            const bool fenced =
                error.native_code() == detail::packed("22012") && error.statement() != "COMMIT";
            if (!fenced) { throw; }
            throw Error{
                Errc::fenced, "pipeline " + request_.pipeline + " was moved on by another process"};
        }
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
    std::vector<KeyFold> folds_;
    std::optional<SourceRows> rows_; // as the source was when it was looked at last
};

} // namespace aftertouch::postgres
