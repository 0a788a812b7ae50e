// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/detail/require_entity.hpp>
#include <aftertouch/dml.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/row.hpp>
#include <aftertouch/script.hpp>
#include <aftertouch/status.hpp>
#include <aftertouch/table.hpp>
#include <aftertouch/transaction.hpp>

/// \file
/// What an application calls a database for, the same on every engine.

namespace aftertouch {

/// The calls of an engine's `Database`.
///
/// `Self` is that class and tells this one how: `with_connection(work)` runs `work(connection)`
/// while nobody else uses the connection; `with_own_connection(work)` does so for what isn't the
/// application's own statement. `Engine` has the types `Connection` and `SchemaManager`,
/// the statement `begin` of a transaction that will write, `how_to_run` for a printed script, and
/// `declared_type(column)` for `create_table`.
///
/// *Threads*: any. From inside a handler every call throws `Error` (`wrong_thread`): a handler has
/// its own transaction.
template <class Self, class Engine>
class DatabaseCalls {
protected:
    using Connection = typename Engine::Connection;
    using SchemaManager = typename Engine::SchemaManager;

public:
    using Transaction = aftertouch::Transaction<Connection>;

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
        return with_connection("Database::transaction", [&](Connection& connection) {
            Transaction tx{connection, never};
            connection.begin(Engine::begin);
            connection.require_transaction(true);
            const detail::HandlerScope scope{self()};
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<Work&, Transaction&>>) {
                    work(tx);
                    connection.commit();
                } else {
                    auto answer = work(tx);
                    connection.commit();
                    return answer;
                }
            } catch (...) {
                connection.require_transaction(false);
                connection.roll_back();
                throw;
            }
        });
    }

    /// Creates the table of an entity where it is missing: for derived tables and examples. An
    /// existing table stays as it is.
    template <class T>
    void create_table(type_t<T> = {}) {
        if constexpr (detail::require_entity<T>()) {
            execute(dml::create_table(table_of<T>(), Engine::declared_type));
        }
    }

    /// \name For pipelines and for install.hpp
    /// @{

    /// What of a capture's changes lies behind a pipeline's places; `low` may be empty.
    [[nodiscard]] Lag lag(const Capture& capture, std::string_view position, std::string_view low) {
        return with_manager("status", capture, [&](SchemaManager& manager) {
            const auto installed = manager.find();
            if (!installed) { return Lag{}; }
            Lag lag = self()->lag_behind(capture, installed->id, position);
            lag.oldest_open = self()->oldest_open();
            lag.add_low_priority(self()->lag_behind(capture, low_capture(installed->id), low));
            return lag;
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

protected:
    ~DatabaseCalls() = default;

    /// Runs `work(manager)` for a capture.
    template <class Work>
    auto with_manager(std::string_view call, const Capture& capture, Work work) {
        detail::HandlerScope::refuse(self(), call);
        const auto managed = [&](Connection& connection) {
            SchemaManager manager{connection, capture};
            return work(manager);
        };
        return self()->with_own_connection(managed);
    }

    /// The capture as it is installed. *Throws* `Error` (`schema_mismatch`) if it isn't.
    [[nodiscard]] auto require(SchemaManager& manager, const Capture& capture) {
        auto installed = manager.find();
        if (!installed) {
            detail::refuse_missing_capture(
                self()->name(), capture, " yet: start the pipeline first");
        }
        return *std::move(installed);
    }

private:
    friend Self;
    DatabaseCalls() = default;

    static constexpr std::atomic<bool> never{false};

    [[nodiscard]] Self* self() noexcept { return static_cast<Self*>(this); }

    template <class Work>
    auto with_connection(std::string_view call, Work work) {
        detail::HandlerScope::refuse(self(), call);
        return self()->with_connection(work);
    }
    template <class Work>
    auto with_transaction(std::string_view call, Work work) {
        return with_connection(call, [&](Connection& connection) {
            Transaction tx{connection, never};
            return work(tx);
        });
    }

    [[nodiscard]] static Script whole(const Script& script) {
        return script.in_transaction(
            "Run with: " + std::string{Engine::how_to_run} + "; then it runs whole or not at all.",
            std::string{Engine::begin});
    }
};

} // namespace aftertouch
