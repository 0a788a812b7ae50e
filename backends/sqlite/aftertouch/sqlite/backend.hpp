// SPDX-License-Identifier: MIT
#pragma once

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
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/fair_mutex.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/schema.hpp>
#include <aftertouch/sqlite/session.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/sqlite/wake.hpp>
#include <aftertouch/transaction.hpp>

/// \file
/// The SQLite database that an application opens, writes through, and runs pipelines on.

namespace aftertouch::sqlite {

/// An SQLite database: a file, or one in memory.
///
/// A file's pipelines open connections of their own, so that the application's reads go on while a
/// batch runs. A database in memory, and a borrowed connection, are one connection behind a mutex:
/// a call waits for a running batch, so that the application's writes never join a handler's
/// transaction.
///
/// \code
/// aftertouch::sqlite::Database shop{"shop.db", {.wal = true}};
/// shop.execute("INSERT INTO \"order\" (customer, amount) VALUES ($1, $2)", "ada", 12.5);
/// for (const Order& order : shop.query(aftertouch::type<Order>, "SELECT id, customer, amount FROM
/// \"order\"")) { } \endcode
///
/// *Threads*: any. From inside a handler every call throws `Error` (`wrong_thread`): a handler has
/// its own transaction. *Lifetime*: must outlive its pipelines.
class Database {
public:
    using Session = sqlite::Session;
    using Transaction = aftertouch::Transaction<Connection>;

private:
    using FairMutex = aftertouch::detail::FairMutex;

    template <class Work>
    auto with_transaction(std::string_view call, Work work) {
        aftertouch::detail::HandlerScope::refuse(this, call);
        const std::lock_guard guard{*mutex_};
        const NotifyAfter notify{*this, sqlite3_total_changes(connection_->handle().get())};
        static constexpr std::atomic<bool> never{false};
        Transaction tx{*connection_, never};
        return work(tx);
    }

    template <class Work>
    auto with_manager(std::string_view call, const Capture& capture, Work work) {
        aftertouch::detail::HandlerScope::refuse(this, call);
        const std::lock_guard guard{*mutex_};
        SchemaManager manager{*connection_, capture};
        return work(manager);
    }

    [[nodiscard]] static Script whole(const Script& script) {
        return script.in_transaction(
            "Run with: sqlite3 -bail FILE < this; then it runs whole or not at all.",
            "BEGIN IMMEDIATE");
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
        int before;
        ~NotifyAfter() {
            if (sqlite3_total_changes(database.connection_->handle().get()) != before) {
                database.wakers_.notify_all();
            }
        }
    };

public:
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
            connection_->begin("BEGIN IMMEDIATE");
            connection_->require_transaction(true);
            const aftertouch::detail::HandlerScope scope{this};
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<Work&, Transaction&>>) {
                    work(tx);
                    connection_->commit();
                } else {
                    auto answer = work(tx);
                    connection_->commit();
                    return answer;
                }
            } catch (...) {
                connection_->require_transaction(false);
                connection_->roll_back();
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
        SessionConnection connection{
            connection_, shared_, shared_ ? mutex_ : batches_, options_.busy_timeout};
        if (!shared_) { connection.connection = std::make_shared<Connection>(path_, options_); }
        return std::make_unique<Session>(std::move(connection), request, wakers_, stopping);
    }

    [[nodiscard]] Lag lag(const Capture& capture, std::string_view position) {
        return with_manager("status", capture, [&](SchemaManager& manager) {
            Lag lag;
            const auto installed = manager.find();
            const auto from = Position::from(position);
            if (!installed || !from) { return lag; }
            const std::vector<Value> values{Value{Cell::integer(from->seq)}};
            connection_->each(dialect::lag(dialect::schema_of(capture), installed->id), values,
                [&](const Statement& row) {
                    lag.records = row[0].as_integer();
                    lag.age = std::chrono::microseconds{
                        static_cast<std::int64_t>(row[1].as_real() * 86'400e6)};
                    return false;
                });
            return lag;
        });
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
            if (pruned_through != 0 && !reached) { refuse_pruned("time"); }
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
                refuse_pruned("place");
            }
            return position->text();
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
    [[nodiscard]] Script status_script(const std::string& schema = "main") const {
        Script script;
        script.add("Each pipeline, how far it has come and what it is behind. Reads only.",
            dialect::status(schema));
        return script;
    }
    [[nodiscard]] std::vector<Difference> differences(const Capture& capture) {
        return with_manager(
            "verify", capture, [](SchemaManager& manager) { return manager.plan().differences; });
    }
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
    explicit Database(sqlite3* borrowed)
        : connection_{std::make_shared<Connection>(borrowed)}, shared_{true} {}

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
