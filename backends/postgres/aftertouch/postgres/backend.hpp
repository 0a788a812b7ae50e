// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
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
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/dml.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/lag.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/schema.hpp>
#include <aftertouch/postgres/session.hpp>
#include <aftertouch/postgres/upkeep.hpp>
#include <aftertouch/postgres/wake.hpp>
#include <aftertouch/transaction.hpp>

/// \file
/// The PostgreSQL database that an application opens, writes through, and runs pipelines on.

namespace aftertouch::postgres {

/// A PostgreSQL database, the primary.
///
/// The application's calls share one connection, one after the other; each pipeline opens a
/// connection of its own.
///
/// \code
/// aftertouch::postgres::Database shop{"host=/run/postgresql dbname=shop"};
/// shop.execute("INSERT INTO \"order\" (id, customer, amount) VALUES ($1, $2, $3)", 1,
/// "ada", 12.5);
/// \endcode
///
/// *Threads*: any. From inside a handler every call throws `Error` (`wrong_thread`): a handler has
/// its own transaction. *Lifetime*: must outlive its pipelines.
class Database {
public:
    using Session = postgres::Session;
    using Transaction = aftertouch::Transaction<Connection>;

private:
    template <class Work>
    auto with_connection(std::string_view call, bool borrowed_too, Work work) {
        aftertouch::detail::HandlerScope::refuse(this, call);
        const std::lock_guard guard{mutex_};
        Connection& connection = borrowed_too ? connection_ : own_connection();
        connection.revive();
        const NotifyAfter notify{*this, connection};
        return work(connection);
    }

    template <class Work>
    auto with_transaction(std::string_view call, Work work) {
        return with_connection(call, true, [&](Connection& connection) {
            static constexpr std::atomic<bool> never{false};
            Transaction tx{connection, never};
            return work(tx);
        });
    }

    // What is asked on behalf of pipelines, on any thread, leaves a borrowed connection alone.
    template <class Work>
    auto with_manager(std::string_view call, const Capture& capture, Work work) {
        return with_connection(call, false, [&](Connection& connection) {
            SchemaManager manager{connection, capture};
            return work(manager);
        });
    }
    [[nodiscard]] Connection& own_connection() {
        if (!connection_.handle().is_borrowed()) { return connection_; }
        if (!own_) { own_.emplace(parameters_, options_); }
        return *own_;
    }

    [[nodiscard]] static Script whole(const Script& script) {
        return script.in_transaction("Run with: psql -v ON_ERROR_STOP=1 -f this; then it runs "
                                     "whole or not at all.",
            "BEGIN");
    }

    [[nodiscard]] InstalledCapture require(SchemaManager& manager, const Capture& capture) const {
        if (auto installed = manager.find()) { return *std::move(installed); }
        throw Error{Errc::schema_mismatch,
            name() + " has no capture " + capture.name + " yet: start the pipeline first"};
    }

    [[noreturn]] void refuse_pruned(std::string_view what) const {
        throw Error{Errc::invalid_argument,
            name() + ": its log doesn't reach back to this " + std::string{what} +
                " any more, or never did: rewind to a time or an event id of this database that "
                "isn't pruned, or rebuild()"};
    }

    // Wakes the pipelines if something was written.
    struct NotifyAfter {
        Database& database;
        Connection& connection;
        ~NotifyAfter() {
            if (connection.wrote()) { database.wakers_.notify_all(); }
        }
    };

public:
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

    /// Runs a statement with $1, $2, ..., or without arguments several; says how many rows the last
    /// one wrote.
    template <Mapped... Arguments>
    std::int64_t execute(std::string_view sql, const Arguments&... arguments) {
        return with_transaction(
            "Database::execute", [&](Transaction& tx) { return tx.execute(sql, arguments...); });
    }

    /// All rows of a query; columns go to the fields of `R` by their order.
    template <Row R, Mapped... Arguments>
    [[nodiscard]] std::vector<R> query(
        type_t<R> row, std::string_view sql, const Arguments&... arguments) {
        return with_transaction(
            "Database::query", [&](Transaction& tx) { return tx.query(row, sql, arguments...); });
    }

    /// Runs `work(transaction)` in one transaction, committed when it returns and rolled back when
    /// it throws. Answers what `work` answers.
    template <class Work>
    std::invoke_result_t<Work&, Transaction&> transaction(Work&& work) {
        return with_transaction("Database::transaction", [&](Transaction& tx) {
            begin();
            const aftertouch::detail::HandlerScope scope{this};
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<Work&, Transaction&>>) {
                    work(tx);
                    commit();
                } else {
                    auto answer = work(tx);
                    commit();
                    return answer;
                }
            } catch (...) {
                connection_.require_transaction(false);
                connection_.roll_back();
                throw;
            }
        });
    }

    /// Creates the table of an entity where it is missing: for derived tables and examples. An
    /// existing table stays as it is.
    template <Entity T>
    void create_table(type_t<T> = {}) {
        execute(dml::create_table(table_of<T>(), declared_type));
    }

    /// \name For pipelines and for install.hpp
    /// @{
    [[nodiscard]] std::unique_ptr<Session> open_session(
        const SessionRequest& request, const std::atomic<bool>& stopping) {
        return std::make_unique<Session>(
            std::make_unique<Connection>(parameters_, options_), request, wakers_, stopping);
    }

    [[nodiscard]] Lag lag(const Capture& capture, std::string_view position) {
        return with_manager("status", capture, [&](SchemaManager& manager) {
            const auto installed = manager.find();
            const auto from = Position::from(position);
            return installed && from ? read_lag(own_connection(), installed->id, *from) : Lag{};
        });
    }
    [[nodiscard]] std::string position_before(const Capture& capture, Timestamp time) {
        return with_manager("rewind", capture, [&](SchemaManager& manager) {
            static_cast<void>(require(manager, capture));
            const std::vector<Value> values{
                Value{Cell::timestamp(time.time_since_epoch().count())}};
            const Answer answer = own_connection().ask(dialect::snapshot_before, values);
            if (!answer.flag(0, 3)) { refuse_pruned("time"); }
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
                const std::vector<Value> values{Value{Cell::text(position->seen.text())}};
                const Answer answer =
                    own_connection().ask(dialect::check_position(installed.id), values);
                if (answer.rows() != 0 && answer.flag(0, 1) &&
                    answer.number(0, 2) >= position->last) {
                    return position->text();
                }
            }
            refuse_pruned("place");
        });
    }
    [[nodiscard]] Script install_script(const Capture& capture) {
        return with_manager("install_script", capture,
            [](SchemaManager& manager) { return whole(manager.plan().script); });
    }
    [[nodiscard]] Script remove_script(const Capture& capture) {
        return with_manager("remove_script", capture,
            [](SchemaManager& manager) { return whole(manager.removal()); });
    }
    [[nodiscard]] Script status_script() const { return postgres::status_script(); }
    [[nodiscard]] std::vector<Difference> differences(const Capture& capture) {
        return with_manager(
            "verify", capture, [](SchemaManager& manager) { return manager.plan().differences; });
    }
    /// Removes from the log what every pipeline has handled; answers how many rows. Holds up
    /// neither writers nor pipelines.
    std::int64_t prune() { return query(type_t<std::int64_t>{}, dialect::prune).front(); }
    bool install(const Capture& capture, Schema mode) {
        return with_manager(
            "install", capture, [&](SchemaManager& manager) { return manager.bring_up(mode); });
    }
    void remove(const Capture& capture) {
        with_manager(
            "remove", capture, [](SchemaManager& manager) { return manager.remove(), true; });
    }
    /// @}

private:
    Database(PGconn* borrowed, Options options)
        : options_{options},
          connection_{borrowed, options_},
          parameters_{connection_.handle().parameters()} {}

    void begin() {
        if (!connection_.handle().idle()) {
            throw Error{Errc::invalid_argument,
                name() + ": a transaction was begun by execute(\"BEGIN\"), or on the borrowed "
                         "connection, and is open still: end it before transaction()"};
        }
        connection_.begin("");
        connection_.require_transaction(true);
    }
    void commit() {
        connection_.run("COMMIT");
        connection_.require_transaction(false);
    }

    Options options_;
    Connection connection_;
    Parameters parameters_;         // of the pipelines' connections
    std::optional<Connection> own_; // where connection_ is borrowed
    std::mutex mutex_;              // of the connection
    WakeList wakers_;
};

static_assert(StorageBackend<Database>);

} // namespace aftertouch::postgres
