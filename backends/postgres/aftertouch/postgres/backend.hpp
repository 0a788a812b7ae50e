// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/database.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/lag.hpp>
#include <aftertouch/postgres/lane_session.hpp>
#include <aftertouch/postgres/lease.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/schema.hpp>
#include <aftertouch/postgres/session.hpp>
#include <aftertouch/postgres/types.hpp>
#include <aftertouch/postgres/upkeep.hpp>
#include <aftertouch/postgres/wake.hpp>

/// \file
/// The PostgreSQL database that an application opens, writes through, and runs pipelines on.

namespace aftertouch::postgres {

/// What `DatabaseCalls` needs to know.
struct Engine {
    using Connection = postgres::Connection;
    using SchemaManager = postgres::SchemaManager;
    static constexpr std::string_view begin = "BEGIN";
    static constexpr std::string_view how_to_run = "psql -v ON_ERROR_STOP=1 -f this";
    static constexpr auto declared_type = &postgres::declared_type;
};

/// A PostgreSQL database, the primary.
///
/// The application's calls, those of `DatabaseCalls`, share one connection, one after the other;
/// each pipeline opens a connection of its own.
///
/// \code
/// aftertouch::postgres::Database shop{"host=/run/postgresql dbname=shop"};
/// shop.execute("INSERT INTO \"order\" VALUES ($1, $2, $3)", 1, "ada", 12.5);
/// \endcode
///
/// *Threads*: any. *Lifetime*: must outlive its pipelines.
class Database : public DatabaseCalls<Database, Engine> {
public:
    using Session = postgres::Session;
    using Lease = postgres::Lease;

    /// Connects. *Throws* `Error` (`connection_lost`, `database`), never with a secret in it.
    explicit Database(Parameters parameters, Options options = {})
        : options_{options},
          connection_{parameters, options_},
          parameters_{std::move(parameters)} {}
    /// The same by a connection string ("host=... dbname=...") or a postgresql:// URI.
    explicit Database(const std::string& connection_string, Options options = {})
        : Database{parameters_from(connection_string), options} {}
    explicit Database(const char* connection_string, Options options = {})
        : Database{std::string{connection_string}, options} {}

    /// Uses a connection of the application's for execute, query and transaction, and changes
    /// nothing of its session; the rest connects by itself as it was connected. *Requires* that
    /// nobody uses it during these calls, and that it outlives this object. Inside a transaction
    /// that the application has begun on it, its settings say how values are written: what can't be
    /// read so is refused.
    [[nodiscard]] static Database borrow(PGconn* connection, Options options = {}) {
        return Database{connection, options};
    }

    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Database and host, as they appear in messages.
    [[nodiscard]] const std::string& name() const noexcept { return connection_.handle().name(); }

    /// Removes from the log what every pipeline has handled; answers how many rows. Holds up
    /// neither writers nor pipelines. Of a backlog nothing goes before a pipeline has come to the
    /// end of the window that it reads.
    std::int64_t prune() {
        const auto there = query(
            type_t<bool>{}, "SELECT pg_catalog.to_regclass('aftertouch.checkpoint') IS NOT NULL");
        return there.front() ? query(type_t<std::int64_t>{}, dialect::prune).front() : 0;
    }

    /// \name For pipelines and for install.hpp
    /// @{
    [[nodiscard]] std::unique_ptr<Session> open_session(
        const SessionRequest& request, const std::atomic<bool>& stopping) {
        return std::make_unique<Session>(
            std::make_unique<Connection>(parameters_, options_), request, wakers_, stopping);
    }

    [[nodiscard]] std::unique_ptr<LaneSession> open_lane(
        const SessionRequest& request, const std::atomic<bool>& stopping) {
        return std::make_unique<LaneSession>(
            std::make_unique<Connection>(parameters_, options_), request, wakers_, stopping);
    }

    [[nodiscard]] std::unique_ptr<Lease> open_lease(
        const LeaseRequest& request, const std::atomic<bool>&) {
        Options options = options_; // a stop waits for it
        constexpr std::chrono::seconds longest{1};
        if (options.lock_timeout.count() == 0 || options.lock_timeout > longest) {
            options.lock_timeout = longest;
        }
        return std::make_unique<Lease>(std::make_unique<Connection>(parameters_, options), request);
    }

    /// Where dead letters of a pipeline over a capture lie, for SQL text.
    [[nodiscard]] static std::string dead_letter_table(const Capture&) {
        return "aftertouch.dead_letter";
    }
    [[nodiscard]] std::string position_before(const Capture& capture, Timestamp time) {
        return with_manager("rewind", capture, [&](SchemaManager& manager) {
            static_cast<void>(require(manager, capture));
            const std::vector<Value> values{
                Value{Cell::timestamp(time.time_since_epoch().count())}};
            const Answer answer = own_connection().ask(dialect::snapshot_before, values);
            if (!answer.flag(0, 3)) { aftertouch::detail::refuse_pruned(name(), "time"); }
            const std::string running{answer.text(0, 1)};
            const std::string xmax{answer.text(0, 0)};
            const std::string xmin = running.substr(0, running.find(','));
            const auto seen =
                Snapshot::from((xmin.empty() ? xmax : xmin) + ':' + xmax + ':' + running);
            return Position{seen.value_or(Snapshot{1, 1, {}}), answer.number(0, 2), {}}.text();
        });
    }
    [[nodiscard]] std::string position_of(const Capture& capture, std::string_view event_id) {
        return with_manager("rewind", capture, [&](SchemaManager& manager) {
            const InstalledCapture installed = require(manager, capture);
            const std::string prefix = installed.log_id + ':';
            const auto position = Position::from(
                event_id.starts_with(prefix) ? event_id.substr(prefix.size()) : event_id);
            if (position) {
                const Answer facts = own_connection().ask(dialect::facts(installed.id));
                const auto through = Snapshot::from(facts.text(0, 1));
                const auto reached = static_cast<std::uint64_t>(facts.number(0, 4));
                if (facts.number(0, 2) >= position->last && position->seen.xmax <= reached &&
                    (!through || position->seen.sees_all_of(*through))) {
                    return position->text();
                }
            }
            aftertouch::detail::refuse_pruned(name(), "place");
        });
    }
    [[nodiscard]] Script prune_script() const { return postgres::prune_script(); }
    [[nodiscard]] Script status_script() const { return postgres::status_script(); }
    /// @}

private:
    friend DatabaseCalls<Database, Engine>;

    Database(PGconn* borrowed, Options options)
        : options_{options},
          connection_{borrowed, options_},
          parameters_{connection_.handle().parameters()} {}

    [[nodiscard]] Lag lag_behind(const Capture&, std::int64_t number, std::string_view position) {
        const auto from = Position::from(position);
        return from ? read_lag(own_connection(), number, *from) : Lag{};
    }
    [[nodiscard]] std::optional<OpenTransaction> oldest_open() {
        return read_oldest_open(own_connection());
    }

    // Wakes the pipelines if something was written.
    struct NotifyAfter {
        Database& database;
        Connection& connection;
        ~NotifyAfter() {
            if (connection.wrote()) { database.wakers_.notify_all(); }
        }
    };

    template <class Work>
    std::invoke_result_t<Work&, Connection&> with_connection(Work& work) {
        return use(connection_, work);
    }
    // What is asked on behalf of pipelines, on any thread, leaves a borrowed connection alone.
    template <class Work>
    std::invoke_result_t<Work&, Connection&> with_own_connection(Work& work) {
        return use(own_connection(), work);
    }
    template <class Work>
    std::invoke_result_t<Work&, Connection&> use(Connection& connection, Work& work) {
        const std::lock_guard guard{mutex_};
        connection.revive();
        const NotifyAfter notify{*this, connection};
        return work(connection);
    }
    [[nodiscard]] Connection& own_connection() {
        if (!connection_.handle().is_borrowed()) { return connection_; }
        const std::lock_guard guard{own_mutex_};
        if (!own_) { own_.emplace(parameters_, options_); }
        return *own_;
    }

    Options options_;
    Connection connection_;
    Parameters parameters_; // of the pipelines' connections
    std::mutex own_mutex_;
    std::optional<Connection> own_; // where connection_ is borrowed
    std::mutex mutex_;              // of the connections
    WakeList wakers_;
};

static_assert(StorageBackend<Database>);

} // namespace aftertouch::postgres
