// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/capture.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/fixed_string.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/lease.hpp>
#include <aftertouch/script.hpp>
#include <aftertouch/status.hpp>
#include <aftertouch/value.hpp>

/// \file
/// What an engine must offer so that a pipeline can run on it: a database that opens sessions.

namespace aftertouch {

/// What a pipeline asks a session for.
struct SessionRequest {
    std::string pipeline;
    Capture capture;
    std::vector<std::size_t> order{}; ///< of a rebuild: columns of the table, the key's at the end
    bool skip_own_changes = false;
    Schema schema = Schema::automatic;
    LeaseRequest lease{}; ///< without a holder: none
};

/// Whether a session can go on from a position (P5).
enum class Usable {
    yes,
    other_log, ///< the checkpoint names another log, or another installation of the capture
    pruned,    ///< changes behind it were pruned
    rewound    ///< the log ends before it: restored from an older copy
};

[[nodiscard]] constexpr std::string_view name(Usable usable) noexcept {
    constexpr std::string_view names[] = {"usable",
        "the checkpoint belongs to another log or installation of the capture",
        "the log was pruned past the checkpoint",
        "the log ends before the checkpoint, as after a restore"};
    return names[static_cast<std::size_t>(usable)];
}

/// Why a handler can't help what it throws.
enum class Excuse {
    none,     ///< it is the handler's own error
    conflict, ///< what others did at the same time ended the transaction: a deadlock, a table that
              ///< was changed under a statement. A new try may pass
    lost      ///< the connection is gone
};

/// What a pipeline asks for; a rebuild's order ends with the key.
[[nodiscard]] inline SessionRequest session_request(std::string pipeline, const Capture& capture,
    std::vector<std::size_t> order, bool skip_own_changes, Schema schema, LeaseRequest lease) {
    for (const std::size_t part : capture.table.key) {
        const bool there = std::find(order.begin(), order.end(), part) != order.end();
        if (!there) { order.push_back(part); }
    }
    return {
        std::move(pipeline), capture, std::move(order), skip_own_changes, schema, std::move(lease)};
}

namespace detail {
struct RejectChange {
    bool operator()(const LogRow&) const { return false; }
};
struct RejectRow {
    bool operator()(std::span<const Cell>) const { return false; }
};
struct IgnoreRow {
    void operator()(std::size_t, std::span<const Cell>) const {}
};
} // namespace detail

/// What a batch of a rebuild came to.
template <class Position>
struct RebuildRead {
    Position end;      ///< where the log was read up to
    bool last = false; ///< the table's last rows were handed over
};

/// A pipeline's own connection. One thread at a time uses it, but for `wake` and `interrupt`.
template <class S>
concept BackendSession = requires(S& session, const S& asked, const typename S::Position& position,
    std::vector<Value>& last, std::string_view text, std::span<const Value> keys,
    const Error* thrown) {
    typename S::Transaction;
    // Installs or compares; says whether something was changed. Everything below wants it called
    // first.
    { session.bring_up() } -> std::same_as<bool>;
    { asked.log() } -> std::same_as<const std::string&>;
    { asked.key_folds() } -> std::same_as<const std::vector<KeyFold>&>;
    { asked.event_id(position) } -> std::same_as<std::string>;
    // Positions that have the same changes in front of them are equal; the one whose changes are
    // later is the greater.
    { S::Position::from(text) } -> std::same_as<std::optional<typename S::Position>>;
    { position.text() } -> std::same_as<std::string>;
    { position == position } -> std::same_as<bool>;
    { position < position } -> std::same_as<bool>;
    // The last place that has nothing in front of it but what both have.
    { position.in_common(position) } -> std::same_as<typename S::Position>;

    // Outside a transaction: the checkpoint, what it is of, and whether there is a change behind a
    // position (nothing: there is; else how far there is none).
    { session.load() } -> std::same_as<std::optional<StoredCheckpoint>>;
    // The name of the capture whose `log()` this is; empty where none of them is installed here.
    { session.capture_of(text) } -> std::same_as<std::string>;
    { session.poll(position) } -> std::same_as<std::optional<typename S::Position>>;

    // One batch. `drift` names what isn't as it should be any more; `usable` is asked behind the
    // reading, and is about what was read; `intact` says whether the transaction is still the one
    // that `begin` opened. The log is read before anything is written. `read_rebuild` passes
    // changes, and if all up to one state of the database fit into the batch, the rows of that
    // state behind `last`, which moves on (R2); with `left_to_pages` only changes of keys up to
    // `last`, and none before the first page.
    session.begin();
    { session.drift() } -> std::same_as<std::vector<Difference>>;
    { session.usable(position) } -> std::same_as<Usable>;
    { session.head() } -> std::same_as<typename S::Position>;
    {
        session.read_changes(position, std::size_t{}, detail::RejectChange{})
    } -> std::same_as<std::pair<typename S::Position, bool>>;
    {
        session.read_rebuild(
            position, std::size_t{}, bool{}, last, detail::RejectChange{}, detail::RejectRow{})
    } -> std::same_as<RebuildRead<typename S::Position>>;
    // What was marked as of low priority, for a capture that heeds it: `poll` and `read_changes`
    // pass the rest. Behind `read_low`, `usable` is about what that read too.
    { session.poll_low(position) } -> std::same_as<std::optional<typename S::Position>>;
    {
        session.read_low(position, std::size_t{}, detail::RejectChange{})
    } -> std::same_as<std::pair<typename S::Position, bool>>;
    { session.count_rows() } -> std::same_as<std::int64_t>;
    session.fetch(keys, detail::IgnoreRow{});
    { session.transaction() } -> std::same_as<typename S::Transaction&>;
    { session.intact() } -> std::same_as<bool>;
    // The library's own statements, in a batch or outside.
    session.run_own([](typename S::Transaction&) {});
    session.mark_own_changes(position);
    session.store(text, std::int64_t{});
    session.commit();
    session.roll_back();
    session.count_attempt(std::int64_t{}, std::int64_t{});

    // What excuses a step that threw, `thrown` where that was an Error: it is the conflict itself,
    // or the transaction was ended by one. A conflict that a savepoint has undone excuses nothing.
    { asked.excuse(thrown) } -> std::same_as<Excuse>;

    // On any thread. `keep_alive` says for a handler at work that its process is alive, where the
    // engine ends the batch of one that isn't.
    session.wake();
    session.interrupt();
    session.keep_alive();
    { session.wait(std::chrono::microseconds{}) } -> std::same_as<bool>;
};

/// The connection of a lane, where an engine lets several write beside each other: `Session::Lane`.
/// Such an engine's session and positions have `finished_lanes` and `reopened` for it, its database
/// `open_lane`; without, a batch is handled whole. `commit` notes that the lane's part is handled,
/// and fails (`fenced`) where the checkpoint's version isn't the share's any more. `claim`, first
/// in a transaction, answers whether the part is that transaction's: nobody has handled it, and
/// nobody else can have it until this one ends.
template <class L>
concept BackendLane = requires(L& lane, const L& asked, std::span<const Value> keys,
    const LaneShare& share, const Error* thrown) {
    typename L::Transaction;
    lane.forget_source(); // it may have changed: look at it again
    { asked.key_folds() } -> std::same_as<const std::vector<KeyFold>&>;
    lane.begin();
    { lane.claim(share) } -> std::same_as<bool>;
    lane.fetch(keys, detail::IgnoreRow{});
    { lane.transaction() } -> std::same_as<typename L::Transaction&>;
    { lane.intact() } -> std::same_as<bool>;
    { asked.excuse(thrown) } -> std::same_as<Excuse>;
    lane.run_own([](typename L::Transaction&) {});
    lane.commit(share);
    lane.roll_back();
    lane.interrupt(); // on any thread, as `keep_alive`
    lane.keep_alive();
};

namespace detail {
/// In place of a lane's connection, where there is none.
struct NoLane {
    void interrupt() noexcept {}
    void keep_alive() noexcept {}
    void forget_source() noexcept {}
};
template <class Session>
struct LaneOf {
    using Type = NoLane;
};
template <class Session>
    requires requires { typename Session::Lane; }
struct LaneOf<Session> {
    static_assert(BackendLane<typename Session::Lane>);
    using Type = typename Session::Lane;
};
/// Whether batches can be dealt to lanes.
template <class Session>
inline constexpr bool has_lanes = requires { typename Session::Lane; };
} // namespace detail

/// What the lease of such an engine offers besides, on which instances that stand by take parts of
/// what the holder deals: `stand_by` says for as long as a lease lasts that one is ready to,
/// `step_back` that it isn't; `standbys` is how many are.
template <class L>
concept BackendLaneLease = requires(L& lease) {
    lease.stand_by();
    lease.step_back();
    { lease.standbys() } -> std::same_as<std::int64_t>;
};

/// A pipeline's lease, on a connection of its own. A `take` that changes the holder makes the
/// checkpoint's version rise in the same transaction: so a batch of the holder before can't commit.
/// `give_back` is the last call.
template <class L>
concept BackendLease = requires(L& lease) {
    { lease.take() } -> std::same_as<LeaseAnswer>;
    { lease.renew() } -> std::same_as<bool>;
    lease.give_back();
};

/// A database that pipelines run on.
template <class B>
concept StorageBackend = requires(B& database, const SessionRequest& request,
    const Capture& capture, Schema mode, const std::atomic<bool>& stopping, std::string_view text) {
    typename B::Session;
    requires BackendSession<typename B::Session>;
    requires BackendLease<typename B::Lease>;
    requires(!detail::has_lanes<typename B::Session> || BackendLaneLease<typename B::Lease>);
    {
        database.open_session(request, stopping)
    } -> std::same_as<std::unique_ptr<typename B::Session>>;
    {
        database.open_lease(LeaseRequest{}, stopping)
    } -> std::same_as<std::unique_ptr<typename B::Lease>>;
    { database.name() } -> std::convertible_to<std::string>;
    { database.lag(capture, text, text) } -> std::same_as<Lag>;
    { B::dead_letter_table(capture) } -> std::same_as<std::string>;
    { database.position_of(capture, text) } -> std::same_as<std::string>;
    { database.position_before(capture, Timestamp{}) } -> std::same_as<std::string>;
    { database.install_script(capture) } -> std::same_as<Script>;
    { database.remove_script(capture) } -> std::same_as<Script>;
    { database.status_script() } -> std::same_as<Script>;
    { database.prune_script() } -> std::same_as<Script>;
    { database.prune() } -> std::same_as<std::int64_t>;
    { database.differences(capture) } -> std::same_as<std::vector<Difference>>;
    { database.install(capture, mode) } -> std::same_as<bool>;
    database.remove(capture);
};

} // namespace aftertouch
