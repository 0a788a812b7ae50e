// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <soak/shop.hpp>

/// \file
/// A program that follows the shop's tables until it is killed, or with `drain` until everything
/// is handled: `soak_follower FILE LEDGER WORD...`, where LEDGER is another file for `beside`.
///
/// `beside` writes its effects outside of the batch's transaction, and `early` one batch after the
/// checkpoint: doubles that must be found out. `unchecked` doesn't look at the schema, `deaf` hears
/// of no file's change, `slow_poll` looks once an hour, `hasty` tells nothing and doesn't wait long
/// for the end.

namespace {

bool deaf = false;

} // namespace

// A system that tells nothing of files.
extern "C" int inotify_init1(int flags) noexcept;
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
extern "C" int inotify_init1(int flags) noexcept {
    return deaf ? -1 : static_cast<int>(syscall(SYS_inotify_init1, flags));
}
#endif

namespace {

namespace at = aftertouch;

struct Entry {
    std::string change;
    std::string operation;
    std::string key;
    std::optional<std::int64_t> version;
};

// Writes into the ledger what it is given; in image mode each change, else the rows as they are.
template <class T>
class Keeper {
public:
    Keeper(std::string pipeline, at::sqlite::Database* beside, bool early)
        : pipeline_{std::move(pipeline)}, beside_{beside}, early_{early} {}

    template <class Tx>
    void operator()(const at::Batch<T>& batch, Tx& tx) {
        std::vector<Entry> entries;
        for (const at::Change<T>& change : batch.changes()) {
            entries.push_back({change.idempotency_key(), std::string{name(change.operation())},
                soak::key_text(change.key()),
                change.after() == nullptr ? std::nullopt : std::optional{change.after()->version}});
        }
        if (early_) { std::swap(entries, late_); }
        if (beside_ != nullptr) {
            beside_->transaction([&](auto& other) { write(other, entries); });
            std::this_thread::sleep_for(std::chrono::milliseconds{5}); // before the checkpoint
        } else {
            write(tx, entries);
        }
    }

private:
    template <class Tx>
    void write(Tx& tx, const std::vector<Entry>& entries) {
        for (const Entry& entry : entries) {
            tx.execute("INSERT INTO ledger (pipeline, change, operation, key, version) VALUES ($1, "
                       "$2, $3, $4, $5)",
                pipeline_, entry.change, entry.operation, entry.key, entry.version);
        }
    }

    std::string pipeline_;
    at::sqlite::Database* beside_;
    bool early_;
    std::vector<Entry> late_;
};

// Touches say which rows to read; what it read is what it keeps.
struct Reader {
    template <class Tx>
    void operator()(const at::Batch<soak::Item>& batch, Tx& tx) {
        for (const soak::Item& item : batch.records()) { write(tx, item.id, item.version); }
        for (const std::int64_t gone : batch.missing()) { write(tx, gone, std::nullopt); }
        for (const auto& change : batch.changes()) {
            tx.execute("INSERT INTO ledger (pipeline, change, operation) VALUES ('touched item', "
                       "$1, 'handled')",
                change.idempotency_key());
        }
    }

    template <class Tx>
    static void write(Tx& tx, std::int64_t id, std::optional<std::int64_t> version) {
        tx.execute("INSERT INTO ledger (pipeline, operation, key, version) VALUES ('touched item', "
                   "'read', $1, $2)",
            soak::key_text(id), version);
    }
};

int follow(const std::string& path, const std::string& ledger, const auto& has) {
    const at::sqlite::Options files{
        .busy_timeout = std::chrono::minutes{2}, .on_open = [](sqlite3* handle) {
            sqlite3_exec(handle, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
        }};
    at::sqlite::Database shop{path, files};
    std::unique_ptr<at::sqlite::Database> beside;
    if (has("beside")) { beside = std::make_unique<at::sqlite::Database>(ledger, files); }
    const auto options = [&](const char* name) {
        at::Options all{.name = name};
        if (has("hasty")) { all.observer = {}; }
        all.schema = has("unchecked") ? at::Schema::none : at::Schema::automatic;
        if (has("slow_poll")) { all.poll_interval = std::chrono::hours{1}; }
        return all;
    };
    at::Pipeline items{at::source<soak::Item>().images(),
        Keeper<soak::Item>{"item", beside.get(), has("early")}, shop, options("item")};
    at::Pipeline stock{at::source<soak::Stock>().images(),
        Keeper<soak::Stock>{"stock", beside.get(), has("early")}, shop, options("stock")};
    at::Pipeline touched{
        at::source<soak::Item>().named("touched_item"), Reader{}, shop, options("touched item")};
    const auto each = [&](const auto& work) {
        work(items);
        work(stock);
        work(touched);
    };
    each([](auto& pipeline) { pipeline.start(); });
    std::cout << "following" << std::endl;

    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds{has("hasty") ? 10 : 240};
    bool drained = true;
    int failures = 0;
    const auto look = [&](auto& pipeline) {
        for (const at::Failure& failure : pipeline.errors()) {
            std::cerr << "follower: " << failure.message << std::endl;
            ++failures;
        }
    };
    if (has("drain")) {
        each([&](auto& pipeline) {
            const auto left = deadline - std::chrono::steady_clock::now();
            drained = pipeline.await_idle(std::chrono::duration_cast<std::chrono::milliseconds>(
                          left)) == at::Awaited::idle &&
                      drained;
        });
        if (!drained) { std::cerr << "follower: it isn't idle" << std::endl; }
        each(look);
    }
    while (!has("drain") && failures == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        each(look);
    }
    return drained && failures == 0 ? 0 : 3;
}

} // namespace

int main(int count, char** words) {
    if (count < 3) {
        std::cerr << "usage: soak_follower FILE LEDGER WORD..." << std::endl;
        return 2;
    }
    const auto has = [&](const char* word) {
        for (int i = 3; i < count; ++i) {
            if (std::strcmp(words[i], word) == 0) { return true; }
        }
        return false;
    };
    deaf = has("deaf");
    try {
        return follow(words[1], words[2], has);
    } catch (const std::exception& error) {
        std::cerr << "follower: " << error.what() << std::endl;
        return 3;
    }
}
