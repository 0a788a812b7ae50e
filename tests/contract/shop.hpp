// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/aftertouch.hpp>

#include AFTERTOUCH_FIXTURE

/// \file
/// What the contract tests share: a source table, tables to derive into, and handlers that write
/// down what they get.

namespace contract {

namespace at = aftertouch;
using fixture::Database;
using fixture::Kind;
using fixture::Place;
using fixture::Tx;
using Operation = at::Operation;
using Ids = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

/// The source.
struct Order {
    std::int64_t id = 0;
    std::string customer;
    double amount = 0;
    friend bool operator==(const Order&, const Order&) = default;
};

/// What a handler derives: the same rows.
struct Copy {
    std::int64_t id = 0;
    std::string customer;
    double amount = 0;
    friend bool operator==(const Copy&, const Copy&) = default;
};

using Touches = at::Source<Order>;
using Images = at::Source<Order, at::CaptureMode::images>;
using OnBatch = std::function<void(const at::Batch<Order>&, Tx&)>;
/// Nearly every test runs one of these two, so that they are compiled once.
using Pipeline = at::Pipeline<Touches, OnBatch, Database>;
using ImagePipeline = at::Pipeline<Images, OnBatch, Database>;

/// Makes the tables.
inline void create_tables(Database& database) {
    database.create_table<Order>();
    database.create_table<Copy>();
}

inline void add_orders(Database& database, std::int64_t from, std::int64_t to) {
    database.transaction([&](Tx& tx) {
        for (std::int64_t id = from; id <= to; ++id) {
            tx.insert(Order{id, "ada", static_cast<double>(id)});
        }
    });
}
inline void add_order(Database& database, std::int64_t id) { add_orders(database, id, id); }
inline void change_order(Database& database, std::int64_t id, double amount) {
    database.execute("UPDATE \"order\" SET amount = $1 WHERE id = $2", amount, id);
}
inline void remove_order(Database& database, std::int64_t id) {
    database.execute("DELETE FROM \"order\" WHERE id = $1", id);
}

[[nodiscard]] inline std::vector<Copy> orders(Database& database) {
    return database.query(at::type<Copy>, "SELECT id, customer, amount FROM \"order\" ORDER BY id");
}
[[nodiscard]] inline std::vector<Copy> copies(Database& database) {
    return database.query(at::type<Copy>, "SELECT id, customer, amount FROM copy ORDER BY id");
}
[[nodiscard]] inline std::int64_t count(Database& database, std::string_view table) {
    return database.query(at::type<std::int64_t>, "SELECT count(*) FROM " + at::quoted(table))
        .front();
}

/// A handler: keeps "copy" as the source is.
inline void copy_rows(const at::Batch<Order>& batch, Tx& tx) {
    for (const Order& order : batch.records()) {
        tx.upsert(Copy{order.id, order.customer, order.amount});
    }
    for (const std::int64_t id : batch.missing()) { tx.erase(at::type<Copy>, id); }
}

/// `I5`, `U5`, `D5`, `T5`, `P5`: operation and key of a change.
template <class T>
[[nodiscard]] std::string text_of(const at::Change<T>& change) {
    return static_cast<char>(change.operation()) + std::to_string(change.key());
}

/// One call of a handler.
struct Call {
    Ids ids;
    Texts changes;
    bool replay = false;
    bool rebuilt = false;
    std::int64_t attempts = 0;
    std::string event_id;
};

/// Writes down every call. *Threads*: any.
class Diary {
public:
    /// A handler that writes the call down, and then does `more`.
    [[nodiscard]] OnBatch handler(OnBatch more = {}) {
        return [this, more = std::move(more)](const at::Batch<Order>& batch, Tx& tx) {
            note(batch);
            if (more) { more(batch, tx); }
        };
    }

    void note(const at::Batch<Order>& batch) {
        Call call{{batch.ids().begin(), batch.ids().end()}, {}, batch.replay(), batch.rebuilt(),
            batch.attempts(), batch.event_id()};
        for (const at::Change<Order>& change : batch.changes()) {
            call.changes.push_back(text_of(change));
        }
        const std::lock_guard guard{mutex_};
        calls_.push_back(std::move(call));
    }

    [[nodiscard]] std::vector<Call> calls() const {
        const std::lock_guard guard{mutex_};
        return calls_;
    }
    /// The changes of all calls, one behind the other.
    [[nodiscard]] Texts changes() const {
        Texts all;
        for (const Call& call : calls()) {
            all.insert(all.end(), call.changes.begin(), call.changes.end());
        }
        return all;
    }
    void clear() {
        const std::lock_guard guard{mutex_};
        calls_.clear();
    }

private:
    mutable std::mutex mutex_;
    std::vector<Call> calls_;
};

/// Writes down what a pipeline tells. *Threads*: any.
class Told {
public:
    [[nodiscard]] at::Observer observer() {
        return [this](const at::Report& report) {
            const std::lock_guard guard{mutex_};
            moments_.push_back(report.moment);
            lines_.push_back(log_line(report));
        };
    }
    [[nodiscard]] std::int64_t times(at::Moment moment) const {
        const std::lock_guard guard{mutex_};
        return std::count(moments_.begin(), moments_.end(), moment);
    }
    [[nodiscard]] bool says(std::string_view words) const {
        const Texts all = lines();
        return std::ranges::any_of(
            all, [&](const std::string& line) { return line.find(words) != std::string::npos; });
    }
    [[nodiscard]] Texts lines() const {
        const std::lock_guard guard{mutex_};
        return lines_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<at::Moment> moments_;
    Texts lines_;
};

/// Options that keep the log lines of failures that a test wants out of its output.
[[nodiscard]] inline at::Options quiet(std::string name) {
    at::Options options;
    options.name = std::move(name);
    options.observer = {};
    return options;
}

/// What went wrong, or nothing.
template <class Work>
[[nodiscard]] std::string error_of(Work work) {
    try {
        work();
    } catch (const std::exception& error) { return error.what(); }
    return {};
}

} // namespace contract

extern template class aftertouch::Pipeline<contract::Touches, contract::OnBatch,
    contract::Database>;
extern template class aftertouch::Pipeline<contract::Images, contract::OnBatch, contract::Database>;
