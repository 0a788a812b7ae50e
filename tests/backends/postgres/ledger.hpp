// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sessions.hpp"

/// \file
/// Compares what was committed with what was handled. Every write of the tests gives its item the
/// next version, under the row's lock: so an item's changes must fit together one behind the other,
/// and the last must leave what the table holds. One that is lost, comes twice or too early
/// doesn't.

namespace ledger {

struct Item {
    std::int64_t id = 0;
    std::int64_t version = 0;
};

} // namespace ledger

namespace test {

/// One change of one item: its version before and after, nothing where it wasn't there.
struct Handled {
    std::int64_t id = 0;
    std::optional<std::int64_t> before;
    std::optional<std::int64_t> after;
};

class Ledger {
public:
    void take(const Handled& change) {
        auto& version = versions_[change.id];
        if (version != change.before) {
            faults_ += "item " + std::to_string(change.id) + " stands at " + text(version) +
                       ", and a change goes from " + text(change.before) + " to " +
                       text(change.after) + "; ";
        }
        version = change.after;
        ids_.push_back(change.id);
    }

    /// Empty if all that `session` sees in the table `item` was handled, in order, once.
    [[nodiscard]] std::string verdict(Session& session) const {
        std::string found = faults_;
        std::map<std::int64_t, std::optional<std::int64_t>> there;
        for (const auto& row : session.run("SELECT id, version FROM item").rows) {
            there[std::atoll(row[0].c_str())] = std::atoll(row[1].c_str());
        }
        for (const auto& [id, version] : versions_) { there.try_emplace(id, std::nullopt); }
        for (const auto& [id, version] : there) {
            const auto handled = versions_.find(id);
            const auto seen = handled == versions_.end() ? std::nullopt : handled->second;
            if (seen == version) { continue; }
            found += "item " + std::to_string(id) + " is at " + text(version) +
                     ", and was followed to " + text(seen) + "; ";
        }
        return found;
    }
    /// Whether no change went from where its item wasn't.
    [[nodiscard]] bool in_order() const noexcept { return faults_.empty(); }
    /// The items of the changes, as they came.
    [[nodiscard]] const std::vector<std::int64_t>& ids() const noexcept { return ids_; }

private:
    [[nodiscard]] static std::string text(std::optional<std::int64_t> version) {
        return version ? std::to_string(*version) : "nothing";
    }

    std::map<std::int64_t, std::optional<std::int64_t>> versions_;
    std::vector<std::int64_t> ids_;
    std::string faults_;
};

/// The library's reader: a pipeline over images of the table `item`.
class Reader {
public:
    explicit Reader(Shop& shop, std::string name = "reader", std::size_t batch_size = 500)
        : pipeline_{at::source<ledger::Item>().images(),
              [this](const at::Batch<ledger::Item>& batch, Tx& tx) { handle(batch, tx); },
              shop.database, options(std::move(name), batch_size)} {
        pipeline_.drain();
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void poll() { pipeline_.drain(); }
    [[nodiscard]] auto& pipeline() noexcept { return pipeline_; }
    [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }
    /// Runs in the transaction of each batch.
    void also(std::function<void(const at::Batch<ledger::Item>&, Tx&)> work) {
        also_ = std::move(work);
    }

private:
    void handle(const at::Batch<ledger::Item>& batch, Tx& tx) {
        if (also_) { also_(batch, tx); }
        for (const at::Change<ledger::Item>& change : batch.changes()) {
            Handled handled{change.key(), {}, {}};
            if (change.before() != nullptr) { handled.before = change.before()->version; }
            if (change.after() != nullptr) { handled.after = change.after()->version; }
            ledger_.take(handled);
        }
    }
    [[nodiscard]] static at::Options options(std::string name, std::size_t batch_size) {
        at::Options options;
        options.name = std::move(name);
        options.begin = at::Begin::now;
        options.batch_size = batch_size;
        options.observer = {};
        return options;
    }

    Ledger ledger_;
    std::function<void(const at::Batch<ledger::Item>&, Tx&)> also_;
    at::Pipeline<at::Source<ledger::Item, at::CaptureMode::images>,
        std::function<void(const at::Batch<ledger::Item>&, Tx&)>, Database>
        pipeline_;
};

/// A database with the table `item`, its captured changes, and whoever looks at it.
struct Stage {
    Shop shop;
    Session table{shop, "table"};
    Observer observer{shop};
    Reader ours;

    explicit Stage(const std::string& sql =
                       "CREATE TABLE item (id bigint PRIMARY KEY, version bigint NOT NULL)",
        std::size_t batch_size = 500)
        : ours{prepared(sql), "reader", batch_size} {}

    /// What the library's reader handled, compared with the table.
    [[nodiscard]] std::string verdict() {
        ours.poll();
        return ours.ledger().verdict(table);
    }

private:
    [[nodiscard]] Shop& prepared(const std::string& sql) {
        table.run(sql);
        return shop;
    }
};

} // namespace test
