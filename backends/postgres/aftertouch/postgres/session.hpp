// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/refusals.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/postgres/batch_transaction.hpp>
#include <aftertouch/postgres/capture_logs.hpp>
#include <aftertouch/postgres/change_log.hpp>
#include <aftertouch/postgres/drift_watch.hpp>
#include <aftertouch/postgres/lane_session.hpp>
#include <aftertouch/postgres/lease.hpp>
#include <aftertouch/postgres/log_requirements.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/schema.hpp>
#include <aftertouch/postgres/snapshot.hpp>
#include <aftertouch/postgres/store.hpp>
#include <aftertouch/postgres/wake.hpp>

/// \file
/// A pipeline's connection: its log, its source, its checkpoint, and the transaction of its batch.

namespace aftertouch::postgres {

/// One pipeline on one PostgreSQL database, with a connection of its own.
///
/// A batch is one READ COMMITTED transaction; its first statements read, and take the position
/// before it has written anything.
class Session {
public:
    using Position = postgres::Position;
    using Transaction = BatchTransaction::Transaction;
    using Lane = LaneSession;

    Session(std::unique_ptr<Connection> connection, SessionRequest request, WakeList& wakers,
        const std::atomic<bool>& stopping)
        : connection_{std::move(connection)},
          request_{std::move(request)},
          wakers_{wakers},
          transaction_{*connection_, stopping},
          manager_{*connection_, request_.capture},
          watch_{manager_, request_.schema},
          store_{*connection_, request_.pipeline} {
        connection_->limit_silence(longest_silence(request_.lease));
        wakers_.add(waker_);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() { wakers_.remove(waker_); }

    bool bring_up() {
        connection_->revive();
        require_primary(*connection_);
        if (!connection_->sessionless()) { connection_->run_all(listen_sql); }
        const bool changed = manager_.bring_up(request_.schema);
        read_installation();
        watch_.brought_up();
        return changed;
    }

    [[nodiscard]] const std::string& log() const noexcept { return installed_.log; }
    [[nodiscard]] const std::vector<KeyFold>& key_folds() const noexcept { return folds_; }
    [[nodiscard]] std::string event_id(const Position& position) const {
        return installed_.log_id + ':' + position.text();
    }

    [[nodiscard]] std::optional<StoredCheckpoint> load() {
        std::optional<StoredCheckpoint> stored = store_.load(logs_->marks());
        const auto checkpoint = stored ? checkpoint_from(stored->text) : std::nullopt;
        if (!checkpoint || checkpoint->log != installed_.log) { logs_->marks().clear(); }
        return stored;
    }

    [[nodiscard]] std::string capture_of(std::string_view log) { return manager_.capture_of(log); }

    [[nodiscard]] std::optional<Position> poll(const Position& from) {
        return poll([&] { return logs_->pass(from); });
    }
    [[nodiscard]] std::optional<Position> poll_low(const Position& from) {
        return poll([&] { return logs_->pass_low(from); });
    }

    /// The lanes that have handled their part of a deal.
    [[nodiscard]] std::vector<std::size_t> finished_lanes(std::int64_t deal) {
        return store_.finished_lanes(deal);
    }

    void begin() {
        transaction_.begin();
        logs_->begin_batch();
        seen_.reset();
    }

    [[nodiscard]] std::vector<Difference> drift() { return watch_.differences(); }

    [[nodiscard]] Usable usable(const Position& position) { return logs_->usable(position, read_); }
    [[nodiscard]] Position head() {
        Position end = changes().head();
        note_seen(end.last);
        return end;
    }

    template <class Sink>
    std::pair<Position, bool> read_changes(const Position& from, std::size_t limit, Sink&& sink) {
        auto read = changes().read(from, limit, nullptr, std::forward<Sink>(sink));
        note_read();
        return read;
    }

    template <class Sink>
    std::pair<Position, bool> read_low(const Position& from, std::size_t limit, Sink&& sink) {
        auto read = logs_->read_low(from, limit, std::forward<Sink>(sink));
        note_seen(logs_->low_seen());
        return read;
    }

    // What is left of the window first. Then a page, and what the log has up to the state that the
    // page shows: only if all of that fits is the page handed over, behind it.
    template <class OnChange, class OnRow>
    RebuildRead<Position> read_rebuild(const Position& from, std::size_t limit, bool left_to_pages,
        std::vector<Value>& last, OnChange&& on_change, OnRow&& on_row) {
        RebuildRead<Position> read{from};
        std::size_t room = limit;
        const auto counted = [&](const LogRow& change) {
            const bool taken = on_change(change);
            room -= taken ? 1 : 0;
            return taken;
        };
        const bool none_yet = left_to_pages && last.empty();
        const std::vector<Value>* const cursor = left_to_pages ? &last : nullptr;
        bool more = false;
        if (from.window && !none_yet) {
            std::tie(read.end, more) = changes().read(from, limit, cursor, counted);
            note_read();
        }
        if (more || room == 0) { return read; }
        const bool news = rows_->read_page(changes(), read.end, last, limit);
        note_read();
        if (news && !none_yet) {
            std::tie(read.end, more) = changes().read(Position{read.end}, room, cursor, counted);
            note_read();
        } else {
            read.end.pass_window(); // before the first page every change is in its page
        }
        if (!more) { read.last = rows_->hand_over(last, room, std::forward<OnRow>(on_row)); }
        return read;
    }
    [[nodiscard]] std::int64_t count_rows() { return rows_->count(); }
    template <class Sink>
    void fetch(std::span<const Value> keys, Sink&& sink) {
        rows_->fetch(keys, std::forward<Sink>(sink));
        transaction_.passes_own_statement();
    }

    [[nodiscard]] Transaction& transaction() { return transaction_.for_handler(); }
    [[nodiscard]] Excuse excuse(const Error* thrown) const noexcept {
        return connection_->excuse(thrown);
    }

    [[nodiscard]] bool intact() { return transaction_.intact(); }

    /// Runs `work(transaction)` for the library itself, inside of a batch or outside.
    template <class Work>
    void run_own(Work work) {
        work(transaction_.own());
    }

    void mark_own_changes(const Position& since) { store_.mark_own_changes(since.last); }

    // Sent with the commit, in one flush: nothing may stand between the two (L1).
    void store(std::string_view text, std::int64_t version) {
        if (!seen_) { static_cast<void>(head()); } // for its mark: nothing else was done
        stored_ = text;
        version_ = version;
    }

    void commit() {
        own_mark_ = store_.store_and_commit(stored_, version_, logs_->marks(), seen_);
        read_ = false;
        transaction_.ended();
        keep_marks();
        // What the handler wrote may be another pipeline's source.
        wakers_.notify_all(&waker_);
    }

    void roll_back() noexcept {
        read_ = false;
        transaction_.roll_back();
    }

    void count_attempt(std::int64_t version, std::int64_t attempts) {
        if (connection_->handle().idle()) { store_.count_attempt(version, attempts); }
    }

    void keep_alive() noexcept { connection_->ping(); }
    void wake() noexcept { waker_.notify(); }
    void interrupt() noexcept { connection_->handle().cancel(); }
    bool wait(std::chrono::microseconds timeout) {
        return waker_.wait(timeout, connection_->handle());
    }

private:
    [[nodiscard]] ChangeLog& changes() noexcept { return logs_->log(); }

    template <class Pass>
    [[nodiscard]] std::optional<Position> poll(Pass pass) {
        try {
            return watch_.finds_cause_of_quiet() ? std::nullopt : pass();
        } catch (const Error& error) {
            if (!detail::is_missing_object(error)) { throw; }
            watch_.suspect(); // the batch's look says what is missing
            return std::nullopt;
        }
    }

    void note_seen(std::int64_t number) { seen_ = std::max(seen_.value_or(0), number); }
    void note_read() {
        read_ = true;
        note_seen(changes().facts().last);
    }

    void keep_marks() {
        if (own_mark_) { logs_->marks().add(*own_mark_); }
        own_mark_.reset();
        logs_->trim_marks(stored_);
    }

    void read_installation() {
        const std::optional<InstalledCapture> found = manager_.find();
        if (!found) {
            aftertouch::detail::refuse_missing_capture(connection_->handle().name(),
                request_.capture,
                ": run the printed install script, or start with Schema::automatic");
        }
        installed_ = *found;
        Planner planner = manager_.planner();
        const TableFacts facts = planner.catalog().table(request_.capture.table.name);
        require_readable(request_.capture, facts);
        folds_.assign(request_.capture.table.key.size(), KeyFold::exact);
        logs_.emplace(*connection_, request_.capture, installed_, facts,
            request_.skip_own_changes ? request_.pipeline : std::string{});
        rows_.emplace(*connection_, request_.capture.table, request_.order, facts);
    }

    std::unique_ptr<Connection> connection_;
    SessionRequest request_;
    WakeList& wakers_;
    BatchTransaction transaction_;
    SchemaManager manager_;
    DriftWatch watch_;
    CheckpointStore store_;
    Waker waker_;
    InstalledCapture installed_;
    std::vector<KeyFold> folds_;
    std::optional<CaptureLogs> logs_;
    std::optional<SourceRows> rows_;
    bool read_ = false;                // the log was read in the transaction
    std::optional<std::int64_t> seen_; // the log's last number before it wrote
    std::optional<Mark> own_mark_;
    std::string stored_; // the checkpoint that it writes
    std::int64_t version_ = 0;
};

} // namespace aftertouch::postgres
