// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <soak/postgres/doubles.hpp>
#include <soak/postgres/shop.hpp>
#include <support/libpq_hooks.hpp>

/// \file
/// A program that follows the shop's tables until it is killed, or with `drain` until everything
/// is handled: `soak_postgres_follower CONNECTION WORD...`.
///
/// `rebuild` lets the totals be made anew. `beside` writes the ledger outside of the batch's
/// transaction, `early` one batch after the checkpoint, and each name of doubles.hpp sends other
/// statements: doubles that must be found out. `unchecked` doesn't look at the schema, `hasty`
/// doesn't wait long for the end.

namespace {

namespace at = aftertouch;
using at::postgres::Database;
using Tx = Database::Transaction;

/// Columns of rows, as array literals: one statement writes a batch.
class Array {
public:
    void add(std::int64_t number) { next() += std::to_string(number); }
    void add(const std::optional<std::int64_t>& number) {
        next() += number ? std::to_string(*number) : "NULL";
    }
    /// Words without quotation marks and backslashes.
    void add(std::string_view word) { next().append("\"").append(word).append("\""); }
    [[nodiscard]] std::string text() const { return text_ + '}'; }

private:
    std::string& next() {
        if (text_.size() > 1) { text_ += ','; }
        return text_;
    }
    std::string text_ = "{";
};

struct Entries {
    Array changes, operations, keys, versions;

    template <class T>
    void add(const at::Change<T>& change) {
        changes.add(change.idempotency_key());
        operations.add(name(change.operation()));
        keys.add(soak::key_text(change.key()));
        const bool gone = change.operation() == at::Operation::deleted;
        versions.add(change.after() != nullptr ? std::optional{soak::state_of(*change.after())}
                     : gone                    ? std::nullopt
                                               : std::optional<std::int64_t>{0});
    }
    void read(std::int64_t key, std::optional<std::int64_t> version) {
        changes.add("");
        operations.add("read");
        keys.add(soak::key_text(key));
        versions.add(version);
    }

    template <class Writer>
    void write(Writer& writer, const std::string& pipeline) const {
        writer.execute("INSERT INTO ledger (pipeline, change, operation, key, version) SELECT $1, "
                       "nullif(c, ''), o, k, v FROM unnest($2::text[], $3::text[], $4::text[], "
                       "$5::bigint[]) AS e (c, o, k, v)",
            pipeline, changes.text(), operations.text(), keys.text(), versions.text());
    }
};

// Writes into the ledger each change that it is given.
template <class T>
class Keeper {
public:
    Keeper(std::string pipeline, Database* beside, bool early)
        : pipeline_{std::move(pipeline)}, beside_{beside}, early_{early} {}

    void operator()(const at::Batch<T>& batch, Tx& tx) {
        Entries entries;
        for (const at::Change<T>& change : batch.changes()) { entries.add(change); }
        if (early_) { std::swap(entries, late_); }
        if (beside_ != nullptr) {
            entries.write(*beside_, pipeline_);
            std::this_thread::sleep_for(std::chrono::milliseconds{5}); // before the checkpoint
        } else {
            entries.write(tx, pipeline_);
        }
    }

private:
    std::string pipeline_;
    Database* beside_;
    bool early_;
    Entries late_;
};

// Touches say which rows to read; what it read is what it keeps, and each touch.
void read_items(const at::Batch<soak::Item>& batch, Tx& tx) {
    Entries reads;
    for (const soak::Item& item : batch.records()) { reads.read(item.id, item.version); }
    for (const std::int64_t gone : batch.missing()) { reads.read(gone, std::nullopt); }
    reads.write(tx, "read item");
    Entries touches;
    for (const at::Change<soak::Item>& change : batch.changes()) { touches.add(change); }
    touches.write(tx, "touched item");
}

// Changes its own source, and tells the truth of it as any writer.
class Echoing {
public:
    explicit Echoing(Keeper<soak::Echo> keeper) : keeper_{std::move(keeper)} {}

    void operator()(const at::Batch<soak::Echo>& batch, Tx& tx) {
        keeper_(batch, tx);
        std::set<std::int64_t> called;
        for (const at::Change<soak::Echo>& change : batch.changes()) {
            if (change.after() != nullptr && change.after()->hops > 0) {
                called.insert(change.key());
            }
        }
        Array ids;
        for (const std::int64_t id : called) { ids.add(id); }
        tx.execute("WITH c AS (UPDATE echo SET hops = hops - 1 WHERE hops > 0 AND id = "
                   "ANY($1::bigint[]) RETURNING id, version, hops) INSERT INTO truth (source, key, "
                   "version) SELECT 'echo', id::text, version * 10 + hops FROM c",
            ids.text());
    }

private:
    Keeper<soak::Echo> keeper_;
};

// Adds differences: whatever is lost or comes twice stays in the sum.
struct Totals {
    void rebuild_started(std::int64_t, Tx& tx) { tx.execute("DELETE FROM total"); }

    void operator()(const at::Batch<soak::Item>& batch, Tx& tx) {
        std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> sums;
        const auto add = [&](const soak::Item* item, std::int64_t sign) {
            if (item == nullptr) { return; }
            auto& [amount, items] = sums[item->account];
            amount += sign * item->amount;
            items += sign;
        };
        for (const at::Change<soak::Item>& change : batch.changes()) {
            add(change.before(), -1);
            add(change.after(), 1);
        }
        Array accounts, amounts, items;
        for (const auto& [account, sum] : sums) {
            accounts.add(account);
            amounts.add(sum.first);
            items.add(sum.second);
        }
        // In the order of the accounts: two followers at once mustn't deadlock.
        tx.execute("INSERT INTO total (account, amount, items) SELECT * FROM unnest($1::bigint[], "
                   "$2::bigint[], $3::bigint[]) ON CONFLICT (account) DO UPDATE SET amount = "
                   "total.amount + excluded.amount, items = total.items + excluded.items",
            accounts.text(), amounts.text(), items.text());
    }
};

using Has = std::function<bool(std::string_view)>;

at::Options options_for(const char* name, const Has& has) {
    at::Options options{.name = name, .observer = {}};
    options.schema = has("unchecked") ? at::Schema::none : at::Schema::automatic;
    if (std::string_view{name} == "total") { options.batch_size = 100; } // more pages
    return options;
}

// Follows with all pipelines until everything is handled, or for ever; answers whether all went
// well.
template <class... Pipelines>
bool run(const Has& has, Pipelines&... pipelines) {
    (pipelines.start(), ...);
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds{has("hasty") ? 15 : 240};
    const auto idle = [&](auto& pipeline) {
        const auto left = deadline - std::chrono::steady_clock::now();
        const bool drained =
            pipeline.await_idle(std::chrono::duration_cast<std::chrono::milliseconds>(left)) ==
            at::Awaited::idle;
        if (!drained) { std::cerr << "follower: it isn't idle" << std::endl; }
        return drained;
    };
    const auto fine = [](auto& pipeline) {
        for (const at::Failure& failure : pipeline.errors()) {
            std::cerr << "follower: " << failure.message << std::endl;
        }
        return pipeline.errors().empty();
    };
    if (has("drain")) {
        // Twice: the first may have fed another one.
        const bool drained = (idle(pipelines) & ...) && (idle(pipelines) & ...);
        return (fine(pipelines) & ...) && drained;
    }
    while ((fine(pipelines) & ...)) { std::this_thread::sleep_for(std::chrono::milliseconds{5}); }
    return false;
}

bool follow(const std::string& connection, const Has& has) {
    const at::postgres::Options patient{.lock_timeout = std::chrono::minutes{1}};
    Database shop{connection, patient};
    std::unique_ptr<Database> beside;
    if (has("beside")) { beside = std::make_unique<Database>(connection, patient); }
    const bool early = has("early");
    at::Pipeline items{at::source<soak::Item>().images(),
        Keeper<soak::Item>{"item", beside.get(), early}, shop, options_for("item", has)};
    at::Pipeline stock{at::source<soak::Stock>().images(),
        Keeper<soak::Stock>{"stock", beside.get(), early}, shop, options_for("stock", has)};
    at::Pipeline echo{at::source<soak::Echo>().images(),
        Echoing{Keeper<soak::Echo>{"echo", beside.get(), early}}, shop, options_for("echo", has)};
    at::Pipeline touched{at::source<soak::Item>().named("touched_item"), read_items, shop,
        options_for("touched item", has)};
    at::Pipeline totals{
        at::source<soak::Item>().images(), Totals{}, shop, options_for("total", has)};
    if (has("rebuild")) { totals.rebuild(); }
    return run(has, items, stock, echo, touched, totals);
}

} // namespace

int main(int count, char** words) {
    if (count < 2) {
        std::cerr << "usage: soak_postgres_follower CONNECTION WORD..." << std::endl;
        return 2;
    }
    const Has has = [&](std::string_view word) {
        for (int i = 2; i < count; ++i) {
            if (word == words[i]) { return true; }
        }
        return false;
    };
    for (const soak::Double& one : soak::doubles()) {
        if (has(one.name)) {
            test::libpq::hooks().rewrite = [&one](std::string sql) {
                return rewritten(one, std::move(sql));
            };
            test::libpq::hooks().in_front = one.in_front;
        }
    }
    try {
        return follow(words[1], has) ? 0 : 3;
    } catch (const std::exception& error) {
        std::cerr << "follower: " << error.what() << std::endl;
        return 3;
    }
}
