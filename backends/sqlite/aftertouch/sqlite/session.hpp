// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/change_log.hpp>
#include <aftertouch/sqlite/lease.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/schema.hpp>
#include <aftertouch/sqlite/session_connection.hpp>
#include <aftertouch/sqlite/snapshot.hpp>
#include <aftertouch/sqlite/store.hpp>
#include <aftertouch/sqlite/wake.hpp>
#include <aftertouch/sqlite/write_turn.hpp>
#include <aftertouch/transaction.hpp>

/// \file
/// A pipeline's connection: its log, its source, its checkpoint, and the transaction of its batch.

namespace aftertouch::sqlite {

/// One pipeline on one SQLite database.
///
/// A batch is one BEGIN IMMEDIATE transaction. On a shared connection it holds the connection's
/// mutex from begin to end.
class Session {
public:
    using Position = sqlite::Position;
    using Transaction = aftertouch::Transaction<Connection>;

    Session(SessionConnection connection, SessionRequest request, WakeList& wakers,
        const std::atomic<bool>& stopping)
        : connection_{connection.connection},
          turn_{std::move(connection), stopping},
          request_{std::move(request)},
          wakers_{wakers},
          transaction_{*connection_, stopping},
          manager_{*connection_, request_.capture},
          schema_{dialect::schema_of(request_.capture)},
          store_{*connection_, schema_, request_.pipeline},
          waker_{turn_.shared() ? std::string{} : connection_->handle().file(schema_)} {
        if (!request_.lease.holder.empty()) { lease_.emplace(*connection_, request_.lease); }
        wakers_.add(waker_);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
        wakers_.remove(waker_);
        roll_back();
        const auto guard = turn_.lock(); // what it has prepared is of the shared connection
        snapshot_.reset();
    }

    bool bring_up() {
        const auto guard = turn_.lock();
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
        const auto guard = turn_.lock();
        return store_.load();
    }

    [[nodiscard]] std::string capture_of(std::string_view log) {
        const auto guard = turn_.lock();
        return manager_.capture_of(log);
    }

    [[nodiscard]] std::optional<Position> poll(Position from) { return poll(*log_, from); }
    [[nodiscard]] std::optional<Position> poll_low(Position from) { return poll(*low_, from); }

    void begin() {
        turn_.take([&] { connection_->begin("BEGIN IMMEDIATE"); });
        // A handler that ends the transaction ends this savepoint too, even if it begins another
        // one.
        connection_->run("SAVEPOINT aftertouch_batch");
        connection_->require_transaction(true);
        if (lease_) { lease_->require(); }
    }

    [[nodiscard]] std::vector<Difference> drift() {
        if (request_.schema == Schema::none) { return {}; }
        const std::int64_t version = manager_.catalog().version();
        if (version != version_) {
            std::vector<Difference> differences = manager_.plan().differences;
            if (!differences.empty()) { return differences; }
            version_ = version;
        }
        if (low_) { connection_->run_all(dialect::forget_marks(schema_)); }
        return {};
    }

    [[nodiscard]] Usable usable(Position position) {
        const auto guard = turn_.lock();
        const Usable low = low_from_ ? usable_now(*low_from_) : Usable::yes;
        return low != Usable::yes ? low : usable_now(position);
    }

    [[nodiscard]] Position head() {
        const auto guard = turn_.lock();
        return std::max(log_->head(), Position{installed_.pruned_through});
    }

    template <class Sink>
    std::pair<Position, bool> read_changes(Position from, std::size_t limit, Sink&& sink) {
        return log_->read(from, limit, nullptr, std::forward<Sink>(sink));
    }
    template <class Sink>
    std::pair<Position, bool> read_low(Position from, std::size_t limit, Sink&& sink) {
        low_from_ = from;
        return low_->read(from, limit, nullptr, std::forward<Sink>(sink));
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
        const auto guard = turn_.lock();
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
        end_turn();
        // What the handler wrote may be another pipeline's source. This one looks again anyway.
        wakers_.notify_all(&waker_);
    }

    void roll_back() noexcept {
        if (!turn_.open()) { return; }
        connection_->roll_back();
        end_turn();
    }

    void count_attempt(std::int64_t version, std::int64_t attempts) {
        const auto guard = turn_.lock();
        if (!connection_->handle().in_transaction()) { store_.count_attempt(version, attempts); }
    }

    void keep_alive() noexcept {} // nobody ends another one's batch here
    void wake() noexcept { waker_.notify(); }
    void interrupt() noexcept { turn_.interrupt(); }
    bool wait(std::chrono::microseconds timeout) { return waker_.wait(timeout); }

private:
    [[nodiscard]] std::optional<Position> poll(ChangeLog& log, Position from) {
        const auto guard = turn_.lock();
        if (request_.schema != Schema::none && manager_.catalog().version() != version_) {
            return std::nullopt;
        }
        const Position head = log.head();
        const Position end = std::max(head, from);
        if (log.has_changes(from, end)) { return std::nullopt; }
        // What the application's own transaction on a shared connection wrote may still be rolled
        // back.
        if (turn_.shared() && connection_->handle().in_transaction()) { return from; }
        // Behind pruned changes there may have been some for this pipeline, and a log that ends
        // before it gives its numbers out again: the batch's look says so (P5).
        const bool is_empty = head == Position{}; // or all of it is gone
        if ((head != from || is_empty) && usable_now(from) != Usable::yes) { return std::nullopt; }
        return end;
    }

    [[nodiscard]] Usable usable_now(Position position) {
        try {
            return log_->usable(position, installed_.log);
        } catch (const Error&) {
            // Without the capture's tables there is nothing to ask.
            if (manager_.find()) { throw; }
            return Usable::other_log;
        }
    }

    void end_turn() noexcept {
        connection_->require_transaction(false);
        turn_.end(low_from_.has_value());
        low_from_.reset();
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
        LogFilter filter = log_filter(request_.capture, installed_.id, facts,
            request_.skip_own_changes ? request_.pipeline : std::string{});
        log_.emplace(*connection_, schema_, filter);
        if (request_.capture.low_priority) {
            filter.capture = low_capture(installed_.id);
            low_.emplace(*connection_, schema_, std::move(filter));
        }
        snapshot_.emplace(*connection_, request_.capture.table, request_.order);
    }

    std::shared_ptr<Connection> connection_;
    WriteTurn turn_;
    SessionRequest request_;
    WakeList& wakers_;
    Transaction transaction_;
    SchemaManager manager_;
    std::string schema_;
    CheckpointStore store_;
    std::optional<LeaseRow> lease_;
    Waker waker_;
    InstalledCapture installed_;
    std::vector<KeyFold> folds_;
    std::optional<ChangeLog> log_;
    std::optional<ChangeLog> low_;     // of changes of low priority
    std::optional<Position> low_from_; // where it was read from in the batch
    std::optional<Snapshot> snapshot_;
    std::int64_t version_ = 0;
};

} // namespace aftertouch::sqlite
