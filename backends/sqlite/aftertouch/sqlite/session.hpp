// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/fair_mutex.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/change_log.hpp>
#include <aftertouch/sqlite/lease.hpp>
#include <aftertouch/sqlite/lock_wait.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/schema.hpp>
#include <aftertouch/sqlite/session_connection.hpp>
#include <aftertouch/sqlite/snapshot.hpp>
#include <aftertouch/sqlite/store.hpp>
#include <aftertouch/sqlite/wake.hpp>
#include <aftertouch/transaction.hpp>

/// \file
/// A pipeline's connection: its log, its source, its checkpoint, and the transaction of its batch.

namespace aftertouch::sqlite {

/// One pipeline on one SQLite database.
///
/// A batch is one BEGIN IMMEDIATE transaction. On a shared connection it holds the connection's
/// mutex from begin to end.
class Session {
    using FairMutex = aftertouch::detail::FairMutex;

public:
    using Position = sqlite::Position;
    using Transaction = aftertouch::Transaction<Connection>;

    Session(SessionConnection connection, SessionRequest request, WakeList& wakers,
        const std::atomic<bool>& stopping)
        : connection_{std::move(connection.connection)},
          shared_{connection.shared},
          mutex_{std::move(connection.mutex)},
          request_{std::move(request)},
          wakers_{wakers},
          stopping_{stopping},
          transaction_{*connection_, stopping},
          manager_{*connection_, request_.capture},
          schema_{dialect::schema_of(request_.capture)},
          store_{*connection_, schema_, request_.pipeline},
          waker_{shared_ ? std::string{} : connection_->handle().file(schema_)} {
        if (!shared_) { lock_wait_.emplace(handle(), connection.busy_timeout, stopping); }
        if (!request_.lease.holder.empty()) { lease_.emplace(*connection_, request_.lease); }
        wakers_.add(waker_);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
        wakers_.remove(waker_);
        roll_back();
        const auto guard = lock(); // what it has prepared is of the shared connection
        snapshot_.reset();
    }

    bool bring_up() {
        const auto guard = lock();
        connection_->handle().require_writable();
        // Read first: what another program changes from here on is looked at with the first batch.
        if (request_.schema != Schema::none) { version_ = manager_.catalog().version(); }
        const bool changed = manager_.bring_up(request_.schema);
        read_installation();
        return changed;
    }

    [[nodiscard]] const std::string& log() const noexcept { return installed_.log; }
    [[nodiscard]] const std::vector<KeyFold>& key_folds() const noexcept { return folds_; }
    [[nodiscard]] std::string event_id(Position position) const {
        return installed_.log_id + ':' + position.text();
    }

    [[nodiscard]] std::optional<StoredCheckpoint> load() {
        const auto guard = lock();
        return store_.load();
    }

    [[nodiscard]] std::string capture_of(std::string_view log) {
        const auto guard = lock();
        return manager_.capture_of(log);
    }

    [[nodiscard]] std::optional<Position> poll(Position from) {
        const auto guard = lock();
        if (request_.schema != Schema::none && manager_.catalog().version() != version_) {
            return std::nullopt;
        }
        const Position head = log_->head();
        const Position end = std::max(head, from);
        if (log_->has_changes(from, end)) { return std::nullopt; }
        // What the application's own transaction on a shared connection wrote may still be rolled
        // back.
        if (shared_ && connection_->handle().in_transaction()) { return from; }
        // Behind pruned changes there may have been some for this pipeline, and a log that ends
        // before it gives its numbers out again: the batch's look says so (P5).
        if (head != from && usable(from, guard) != Usable::yes) { return std::nullopt; }
        return end;
    }

    void begin() {
        if (!mutex_->lock_unless([&] { return stopping_.load(std::memory_order_relaxed); })) {
            throw Error{Errc::busy, connection_->handle().name() +
                                        " is in use by another batch, and the pipeline is to stop"};
        }
        std::unique_lock guard{*mutex_, std::adopt_lock};
        if (shared_ && connection_->handle().in_transaction()) {
            throw Error{Errc::busy, connection_->handle().name() +
                                        " is inside a transaction of the application on the same "
                                        "connection: the pipeline "
                                        "goes on when that has ended"};
        }
        if (lock_wait_) { lock_wait_->let_others_in(); }
        connection_->begin("BEGIN IMMEDIATE");
        held_ = std::move(guard);
        set_open(true);
        // A handler that ends the transaction ends this savepoint too, even if it begins another
        // one.
        connection_->run("SAVEPOINT aftertouch_batch");
        connection_->require_transaction(true);
        if (lease_) { lease_->require(); }
    }

    [[nodiscard]] std::vector<Difference> drift() {
        if (request_.schema == Schema::none) { return {}; }
        const std::int64_t version = manager_.catalog().version();
        if (version == version_) { return {}; }
        std::vector<Difference> differences = manager_.plan().differences;
        if (differences.empty()) { version_ = version; }
        return differences;
    }

    [[nodiscard]] Usable usable(Position position) { return usable(position, lock()); }

    [[nodiscard]] Position head() {
        const auto guard = lock();
        return std::max(log_->head(), Position{installed_.pruned_through});
    }

    template <class Sink>
    std::pair<Position, bool> read_changes(Position from, std::size_t limit, Sink&& sink) {
        return log_->read(from, limit, nullptr, std::forward<Sink>(sink));
    }
    template <class OnChange, class OnRow>
    RebuildRead<Position> read_rebuild(Position from, std::size_t limit, bool left_to_pages,
        std::vector<Value>& last, OnChange&& on_change, OnRow&& on_row) {
        const Position end = left_to_pages && last.empty() ? head() : from;
        return snapshot_->read_rebuild(
            *log_, {from, end, limit, left_to_pages}, last, on_change, std::forward<OnRow>(on_row));
    }
    [[nodiscard]] std::int64_t count_rows() { return snapshot_->count(); }
    template <class Sink>
    void fetch(std::span<const Value> keys, Sink&& sink) {
        snapshot_->fetch(keys, std::forward<Sink>(sink));
    }

    [[nodiscard]] Transaction& transaction() noexcept { return transaction_; }
    [[nodiscard]] Excuse excuse(const Error*) const noexcept { return Excuse::none; }

    [[nodiscard]] bool intact() {
        if (!connection_->handle().in_transaction()) { return false; }
        try {
            connection_->run("RELEASE aftertouch_batch");
        } catch (const Error& error) {
            if (error.code() == Errc::out_of_memory) { throw; }
            return false;
        }
        return true;
    }

    /// Runs `work(transaction)` for the library itself, inside of a batch or outside.
    template <class Work>
    void run_own(Work work) {
        const auto guard = lock();
        work(transaction_);
    }

    void mark_own_changes(Position since) {
        connection_->run(dialect::mark_own(schema_),
            std::array{Cell::text(request_.pipeline), Cell::integer(since.seq)});
    }
    void store(std::string_view text, std::int64_t version) {
        store_.store(text, version);
        if (lease_) { lease_->require(); } // the batch may have taken long
    }

    void commit() {
        connection_->commit();
        release();
        // What the handler wrote may be another pipeline's source. This one looks again anyway.
        wakers_.notify_all(&waker_);
    }

    void roll_back() noexcept {
        if (!open_) { return; }
        connection_->roll_back();
        release();
    }

    void count_attempt(std::int64_t version) {
        const auto guard = lock();
        if (!connection_->handle().in_transaction()) { store_.count_attempt(version); }
    }

    void keep_alive() noexcept {} // nobody ends another one's batch here
    void wake() noexcept { waker_.notify(); }
    void interrupt() noexcept {
        // What runs on a shared connection outside of a batch is the application's.
        const std::lock_guard guard{open_mutex_};
        if (!shared_ || open_) { connection_->handle().interrupt(); }
    }
    bool wait(std::chrono::microseconds timeout) { return waker_.wait(timeout); }

private:
    [[nodiscard]] Usable usable(Position position, const std::unique_lock<FairMutex>&) {
        try {
            return log_->usable(position, installed_.log);
        } catch (const Error&) {
            // Without the capture's tables there is nothing to ask.
            if (manager_.find()) { throw; }
            return Usable::other_log;
        }
    }

    [[nodiscard]] sqlite3* handle() const noexcept { return connection_->handle().get(); }

    // Inside a batch the mutex is held already.
    [[nodiscard]] std::unique_lock<FairMutex> lock() const {
        return shared_ && !open_ ? std::unique_lock{*mutex_} : std::unique_lock<FairMutex>{};
    }

    void set_open(bool open) noexcept {
        const std::lock_guard guard{open_mutex_};
        open_ = open;
        if (lock_wait_) { open ? lock_wait_->begins() : lock_wait_->ends(); }
    }

    void release() noexcept {
        connection_->require_transaction(false);
        set_open(false);
        held_ = {};
    }

    void read_installation() {
        const std::optional<InstalledCapture> found = manager_.find();
        if (!found) {
            aftertouch::detail::refuse_missing_capture(connection_->handle().name(),
                request_.capture,
                ": run the printed install script, or start with Schema::automatic");
        }
        installed_ = *found;
        const TableFacts facts = manager_.catalog().table(request_.capture.table.name);
        folds_ = sqlite::key_folds(request_.capture, facts);
        log_.emplace(*connection_, schema_,
            log_filter(request_.capture, installed_.id, facts,
                request_.skip_own_changes ? request_.pipeline : std::string{}));
        snapshot_.emplace(*connection_, request_.capture.table, request_.order);
    }

    std::shared_ptr<Connection> connection_;
    bool shared_;
    std::shared_ptr<FairMutex> mutex_;
    std::optional<LockWait> lock_wait_; // of a connection of its own
    SessionRequest request_;
    WakeList& wakers_;
    const std::atomic<bool>& stopping_;
    Transaction transaction_;
    SchemaManager manager_;
    std::string schema_;
    CheckpointStore store_;
    std::optional<LeaseRow> lease_;
    Waker waker_;
    InstalledCapture installed_;
    std::vector<KeyFold> folds_;
    std::optional<ChangeLog> log_;
    std::optional<Snapshot> snapshot_;
    std::int64_t version_ = 0;
    std::unique_lock<FairMutex> held_; // during a batch
    bool open_ = false;     // written under open_mutex_ by the thread that reads it without
    std::mutex open_mutex_; // for interrupt()
};

} // namespace aftertouch::sqlite
