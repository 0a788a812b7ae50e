// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/database.hpp>
#include <aftertouch/detail/fair_mutex.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/sqlite/lease.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/schema.hpp>
#include <aftertouch/sqlite/session.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/sqlite/types.hpp>
#include <aftertouch/sqlite/upkeep.hpp>
#include <aftertouch/sqlite/wake.hpp>

/// \file
/// The SQLite database that an application opens, writes through, and runs pipelines on.

namespace aftertouch::sqlite {

/// What `DatabaseCalls` needs to know.
struct Engine {
    using Connection = sqlite::Connection;
    using SchemaManager = sqlite::SchemaManager;
    static constexpr std::string_view begin = "BEGIN IMMEDIATE";
    static constexpr std::string_view how_to_run = "sqlite3 -bail FILE < this";
    static constexpr auto declared_type = &sqlite::declared_type;
};

/// An SQLite database: a file, or one in memory.
///
/// A file's pipelines open connections of their own, so that the application's reads go on while a
/// batch runs. A database in memory, and a borrowed connection, are one connection behind a mutex:
/// a call waits for a running batch, so that the application's writes never join a handler's
/// transaction. Its calls are those of `DatabaseCalls`.
///
/// \code
/// aftertouch::sqlite::Database shop{"shop.db", {.wal = true}};
/// shop.execute("INSERT INTO \"order\" (customer, amount) VALUES ($1, $2)", "ada", 12.5);
/// const std::string sql = "SELECT id, customer, amount FROM \"order\"";
/// for (const Order& order : shop.query(aftertouch::type<Order>, sql)) { show(order); }
/// \endcode
///
/// *Threads*: any. *Lifetime*: must outlive its pipelines.
class Database : public DatabaseCalls<Database, Engine> {
    using FairMutex = aftertouch::detail::FairMutex;

public:
    using Session = sqlite::Session;
    using Lease = sqlite::Lease;

    /// Opens `path`, creating the file if there is none. ":memory:" is a database of this object
    /// alone.
    ///
    /// *Throws* `Error`: `not_a_database`, `read_only`, `busy` or `database`, with the path in it.
    explicit Database(std::string path, Options options = {})
        : path_{std::move(path)},
          options_{std::move(options)},
          connection_{std::make_shared<Connection>(path_, options_)},
          shared_{connection_->handle().is_private()} {}

    /// Uses a connection that the application has opened, for everything: the application must not
    /// use it on another thread at the same time, but through this object. A handler's own COMMIT
    /// can't be prevented there.
    [[nodiscard]] static Database borrow(sqlite3* handle) { return Database{handle}; }

    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// The path, as it appears in messages.
    [[nodiscard]] const std::string& name() const noexcept { return connection_->handle().name(); }

    /// Removes from the log of `schema` what every pipeline has handled; answers how many rows.
    /// Writers and pipelines are held up for no longer than 10,000 rows take, and then have as long
    /// a time for themselves. *Throws* `Error` as `transaction`: what is gone by then stays so.
    std::int64_t prune(const std::string& schema = "main") {
        const Pruning pruning{schema};
        for (std::int64_t removed = 0;;) {
            std::chrono::steady_clock::time_point begin;
            const std::int64_t some = this->transaction([&](auto& tx) {
                begin = std::chrono::steady_clock::now(); // it has the lock
                return pruning.remove_some(tx);
            });
            removed += some;
            if (some < Pruning::rows_at_once) { return removed; }
            std::this_thread::sleep_for(std::chrono::steady_clock::now() - begin);
        }
    }

    /// \name For pipelines and for install.hpp
    /// @{
    [[nodiscard]] std::unique_ptr<Session> open_session(
        const SessionRequest& request, const std::atomic<bool>& stopping) {
        return std::make_unique<Session>(connect(), request, wakers_, stopping);
    }
    [[nodiscard]] std::unique_ptr<Lease> open_lease(
        const LeaseRequest& request, const std::atomic<bool>& stopping) {
        return std::make_unique<Lease>(connect(), request, stopping);
    }

    /// Where dead letters of a pipeline over a capture lie, for SQL text.
    [[nodiscard]] static std::string dead_letter_table(const Capture& capture) {
        return dialect::own(dialect::schema_of(capture), "dead_letter");
    }
    [[nodiscard]] std::string position_before(const Capture& capture, Timestamp time) {
        return with_manager("rewind", capture, [&](SchemaManager& manager) {
            const std::int64_t pruned_through = require(manager, capture).pruned_through;
            Position found;
            bool reached = false;
            const std::vector<Value> values{Value{Cell::real(julian_day(time))}};
            connection_->each(dialect::position_before(dialect::schema_of(capture)), values,
                [&](const Statement& row) {
                    found.seq = row[0].as_integer();
                    reached = row[1].as_integer() != 0;
                    return false;
                });
            if (pruned_through != 0 && !reached) {
                aftertouch::detail::refuse_pruned(name(), "time");
            }
            return found.text();
        });
    }
    [[nodiscard]] std::string position_of(const Capture& capture, std::string_view event_id) {
        return with_manager("rewind", capture, [&](SchemaManager& manager) {
            const InstalledCapture installed = require(manager, capture);
            const std::string prefix = installed.log_id + ':';
            const auto position = Position::from(
                event_id.starts_with(prefix) ? event_id.substr(prefix.size()) : event_id);
            std::int64_t high_water = 0;
            connection_->each(dialect::high_water(dialect::schema_of(capture)),
                std::span<const Value>{}, [&](const Statement& row) {
                    high_water = row[0].as_integer();
                    return false;
                });
            if (!position || position->seq < installed.pruned_through ||
                position->seq > high_water) {
                aftertouch::detail::refuse_pruned(name(), "place");
            }
            return position->text();
        });
    }
    [[nodiscard]] Script prune_script(const std::string& schema = "main") {
        return Pruning{schema}.script(*this);
    }
    [[nodiscard]] Script status_script(const std::string& schema = "main") const {
        Script script;
        script.add("Each pipeline, how far it has come and what it is behind. Reads only.",
            dialect::status(schema));
        return script;
    }
    /// @}

private:
    friend DatabaseCalls<Database, Engine>;

    explicit Database(sqlite3* borrowed)
        : connection_{std::make_shared<Connection>(borrowed)}, shared_{true} {}

    [[nodiscard]] Lag lag_behind(
        const Capture& capture, std::int64_t number, std::string_view position) {
        Lag lag;
        const auto from = Position::from(position);
        if (!from) { return lag; }
        const std::string sql = dialect::lag(dialect::schema_of(capture), number);
        connection_->each(sql, std::array{Cell::integer(from->seq)}, [&](const Statement& row) {
            lag.records = row[0].as_integer();
            lag.age =
                std::chrono::microseconds{static_cast<std::int64_t>(row[1].as_real() * 86'400e6)};
            return false;
        });
        return lag;
    }
    [[nodiscard]] std::optional<OpenTransaction> oldest_open() const { return {}; } // one writes

    // A connection of its own where the database is a file.
    [[nodiscard]] SessionConnection connect() {
        SessionConnection connection{
            connection_, shared_, shared_ ? mutex_ : batches_, options_.busy_timeout};
        if (!shared_) { connection.connection = std::make_shared<Connection>(path_, options_); }
        return connection;
    }

    // Wakes the pipelines if something was written.
    struct NotifyAfter {
        Database& database;
        int before;
        ~NotifyAfter() {
            if (sqlite3_total_changes(database.connection_->handle().get()) != before) {
                database.wakers_.notify_all();
            }
        }
    };

    template <class Work>
    std::invoke_result_t<Work&, Connection&> with_connection(Work& work) {
        const std::lock_guard guard{*mutex_};
        const NotifyAfter notify{*this, sqlite3_total_changes(connection_->handle().get())};
        return work(*connection_);
    }
    template <class Work>
    std::invoke_result_t<Work&, Connection&> with_own_connection(Work& work) {
        return with_connection(work);
    }

    std::string path_;
    Options options_;
    std::shared_ptr<Connection> connection_;
    std::shared_ptr<FairMutex> mutex_ = std::make_shared<FairMutex>(); // of the connection
    std::shared_ptr<FairMutex> batches_ =
        std::make_shared<FairMutex>(); // of pipelines on their own
    WakeList wakers_;
    bool shared_;
};

static_assert(StorageBackend<Database>);

} // namespace aftertouch::sqlite
