// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <aftertouch/checkpoint.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/lease.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/value.hpp>

/// \file
/// The lease of a pipeline, on a connection of its own; and what frees the rows that a holder has
/// locked whose process is frozen or cut off.

namespace aftertouch::postgres {

namespace dialect {

/// $1 pipeline, $2 holder, $3 milliseconds: takes the lease if nobody else holds it, and fences
/// whoever has read the checkpoint; where there is none yet, text $4 becomes it. The lease's row
/// comes first: a batch in its last statement holds the checkpoint's. Answers 1 or 0.
inline constexpr std::string_view take_lease =
    "WITH l AS (INSERT INTO aftertouch.lease AS l (pipeline, holder, until) VALUES ($1, $2, "
    "clock_timestamp() + $3::bigint * interval '1 millisecond') ON CONFLICT (pipeline) DO UPDATE "
    "SET holder = excluded.holder, until = excluded.until WHERE l.until < clock_timestamp() OR "
    "l.holder = excluded.holder RETURNING pipeline), c AS (INSERT INTO aftertouch.checkpoint AS c "
    "(pipeline, checkpoint, version, attempts, at, marks) SELECT pipeline, $4, 1, 0, "
    "clock_timestamp(), '' FROM l ON CONFLICT (pipeline) DO UPDATE SET version = c.version + 1 "
    "RETURNING 1) SELECT count(*) FROM c";

/// $1 pipeline: who holds the lease, and until when.
inline constexpr std::string_view lease_holder =
    "SELECT holder, to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') FROM "
    "aftertouch.lease WHERE pipeline = $1";

/// $1 pipeline, $2 holder, $3 milliseconds: writes no row where another one holds it.
inline constexpr std::string_view renew_lease =
    "UPDATE aftertouch.lease SET until = clock_timestamp() + $3::bigint * interval '1 "
    "millisecond' WHERE pipeline = $1 AND holder = $2";

inline constexpr std::string_view give_lease_back =
    "DELETE FROM aftertouch.lease WHERE pipeline = $1 AND holder = $2";

/// $1 pipeline, $2 instance, $3 milliseconds: it takes parts of what the holder's lanes are dealt.
/// Lanes that have handled nothing yet get their rows, which are what is locked to claim a part: as
/// many as `Options::lanes` may be.
inline constexpr std::string_view stand_by =
    "WITH lanes AS (INSERT INTO aftertouch.lane (pipeline, lane, deal) SELECT $1, i, 0 FROM "
    "generate_series(0, 63) AS i WHERE 64 > (SELECT count(*) FROM aftertouch.lane WHERE pipeline = "
    "$1) ON CONFLICT DO NOTHING) INSERT INTO aftertouch.standby (pipeline, instance, until) VALUES "
    "($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond') ON CONFLICT (pipeline, "
    "instance) DO UPDATE SET until = excluded.until";

inline constexpr std::string_view step_back =
    "DELETE FROM aftertouch.standby WHERE pipeline = $1 AND instance = $2";

/// $1 pipeline: how many do; those that were killed go.
inline constexpr std::string_view standbys =
    "WITH gone AS (DELETE FROM aftertouch.standby WHERE pipeline = $1 AND until < "
    "clock_timestamp() - interval '1 minute') SELECT count(*) FROM aftertouch.standby WHERE "
    "pipeline = $1 AND until >= clock_timestamp()";

} // namespace dialect

/// How long the server leaves a batch alone whose process says nothing: less than the lease, so
/// that its locks are gone when another one takes over. A process at work says something every
/// quarter of the lease.
[[nodiscard]] inline std::chrono::milliseconds longest_silence(const LeaseRequest& request) {
    return request.duration * 3 / 4;
}

/// Statements that are each a transaction of their own; the server's clock.
class Lease {
public:
    Lease(std::unique_ptr<Connection> connection, LeaseRequest request)
        : connection_{std::move(connection)}, request_{std::move(request)} {
        connection_->limit_silence(longest_silence(request_)); // it may be frozen here, too
    }

    LeaseAnswer take() {
        connection_->revive();
        const auto [pipeline, holder, duration] = values();
        const std::array all{pipeline, holder, duration, Value{Cell::text(unbegun_checkpoint)}};
        if (connection_->ask_alone(dialect::take_lease, all).number(0, 0) != 0) {
            return {.held = true};
        }
        const Answer other = connection_->ask_alone(dialect::lease_holder, std::array{pipeline});
        if (other.rows() == 0) { return {false, "another instance", "any moment"}; }
        return {false, std::string{other.text(0, 0)}, std::string{other.text(0, 1)}};
    }

    bool renew() { return write(dialect::renew_lease, values()) == 1; }

    void give_back() {
        const auto [pipeline, holder, duration] = values();
        write(dialect::give_lease_back, std::array{pipeline, holder});
    }

    void stand_by() { write(dialect::stand_by, values()); }
    void step_back() {
        const auto [pipeline, holder, duration] = values();
        write(dialect::step_back, std::array{pipeline, holder});
    }
    [[nodiscard]] std::int64_t standbys() {
        connection_->revive();
        return connection_->ask_alone(dialect::standbys, std::array{values()[0]}).number(0, 0);
    }

private:
    // Once more where the connection has died since it was used last. Answers how many rows.
    template <class Values>
    std::int64_t write(std::string_view sql, const Values& values) {
        connection_->revive();
        try {
            return connection_->ask_alone(sql, values).affected();
        } catch (const Error& error) {
            if (error.code() != Errc::connection_lost) { throw; }
        }
        connection_->revive();
        return connection_->ask_alone(sql, values).affected();
    }

    [[nodiscard]] std::array<Value, 3> values() const {
        return {Value{Cell::text(request_.pipeline)}, Value{Cell::text(request_.holder)},
            Value{Cell::integer(request_.duration.count())}};
    }

    std::unique_ptr<Connection> connection_;
    LeaseRequest request_;
};

} // namespace aftertouch::postgres
