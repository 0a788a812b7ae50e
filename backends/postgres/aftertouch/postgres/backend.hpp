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
#include <aftertouch/detail/waker.hpp>
#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/schema.hpp>
#include <aftertouch/postgres/session.hpp>
#include <aftertouch/postgres/types.hpp>

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
/// shop.execute("INSERT INTO \"order\" (id, customer, amount) VALUES ($1, $2, $3)", 1,
/// "ada", 12.5);
/// \endcode
///
/// *Threads*: any. *Lifetime*: must outlive its pipelines.
class Database : public DatabaseCalls<Database, Engine> {
public:
    using Session = postgres::Session;

    /// Connects. *Throws* `Error` (`connection_lost`, `database`), never with a secret in it.
    explicit Database(Parameters parameters, Options options = {})
        : parameters_{std::move(parameters)},
          options_{options},
          connection_{parameters_, options_} {}
    /// The same by a connection string ("host=... dbname=...") or a postgresql:// URI.
    explicit Database(const std::string& connection_string, Options options = {})
        : Database{parameters_from(connection_string), options} {}
    explicit Database(const char* connection_string, Options options = {})
        : Database{std::string{connection_string}, options} {}

    /// Database and host, as they appear in messages.
    [[nodiscard]] const std::string& name() const noexcept { return connection_.handle().name(); }

    /// \name For pipelines and for install.hpp
    /// @{
    [[nodiscard]] std::unique_ptr<Session> open_session(
        const SessionRequest& request, const std::atomic<bool>& stopping) {
        return std::make_unique<Session>(
            std::make_unique<Connection>(parameters_, options_), request, wakers_, stopping);
    }

    [[nodiscard]] Lag lag(const Capture& capture, std::string_view position) {
        return with_manager("status", capture, [&](SchemaManager& manager) {
            Lag lag;
            const auto installed = manager.find();
            const auto from = Position::from(position);
            if (!installed || !from) { return lag; }
            const auto [xids, numbers] = all_marks().arrays();
            std::vector<Value> values;
            for (const std::string& text : {from->seen.text(), xids, numbers}) {
                values.emplace_back(Cell::text(text));
            }
            const Position::Window window = from->window.value_or(Position::Window{});
            values.emplace_back(from->window ? Value{Cell::text(window.until.text())} : Value{});
            values.emplace_back(Cell::integer(window.seq));
            values.emplace_back(Cell::integer(window.item));
            const Answer answer = connection_.ask(dialect::lag(installed->id), values);
            lag.records = answer.number(0, 0);
            lag.age = std::chrono::microseconds{answer.number(0, 1)};
            return lag;
        });
    }
    [[nodiscard]] std::string position_before(const Capture& capture, Timestamp time) {
        return with_manager("rewind", capture, [&](SchemaManager& manager) {
            static_cast<void>(require(manager, capture));
            const std::vector<Value> values{
                Value{Cell::timestamp(time.time_since_epoch().count())}};
            const Answer answer = connection_.ask(dialect::snapshot_before, values);
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
                const Answer facts = connection_.ask(dialect::facts(installed.id));
                const auto through = Snapshot::from(facts.text(0, 1));
                if (facts.number(0, 2) >= position->last &&
                    (!through || position->seen.sees_all_of(*through))) {
                    return position->text();
                }
            }
            aftertouch::detail::refuse_pruned(name(), "place");
        });
    }
    [[nodiscard]] Script status_script() const {
        Script script;
        script.add("Each pipeline, how far it has come and what it is behind. Reads only.",
            std::string{dialect::status});
        return script;
    }
    /// @}

private:
    friend DatabaseCalls<Database, Engine>;

    // Wakes the pipelines if something was written.
    struct NotifyAfter {
        Database& database;
        ~NotifyAfter() {
            if (database.connection_.wrote()) { database.wakers_.notify_all(); }
        }
    };

    template <class Work>
    std::invoke_result_t<Work&, Connection&> with_connection(Work& work) {
        const std::lock_guard guard{mutex_};
        connection_.revive();
        const NotifyAfter notify{*this};
        return work(connection_);
    }

    // What every pipeline knows of the log's numbers is true for all.
    [[nodiscard]] Marks all_marks() {
        const Answer answer = connection_.ask(dialect::all_marks);
        Marks all;
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            const Marks some = Marks::from(answer.text(i, 0));
            for (const Mark& mark : some.all()) { all.add(mark); }
        }
        return all;
    }

    Parameters parameters_;
    Options options_;
    Connection connection_;
    std::mutex mutex_; // of the connection
    aftertouch::detail::WakeList<aftertouch::detail::Waker> wakers_;
};

static_assert(StorageBackend<Database>);

} // namespace aftertouch::postgres
