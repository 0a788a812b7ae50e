// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/board.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/session_holder.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/lease.hpp>
#include <aftertouch/observer.hpp>
#include <aftertouch/options.hpp>

/// \file
/// Holds the lease of one pipeline: takes it, renews it beside the batches, gives it back (L1).

namespace aftertouch::detail {

/// A name that no other holder has.
[[nodiscard]] inline std::string holder_name(const std::string& instance) {
    std::random_device random;
    std::string name = instance.empty() ? instance : instance + ' ';
    for (int i = 0; i < 16; ++i) { name += "0123456789abcdef"[random() % 16]; }
    return name;
}

/// *Threads*: the pipeline's own; it has one more for the renewals.
template <class B>
class LeaseKeeper {
public:
    using Session = typename B::Session;

    LeaseKeeper(const Options& options, Board& board, const Reporter& reporter,
        SessionHolder<Session>& session)
        : options_{options}, board_{board}, reporter_{reporter}, session_{session} {
        if (is_wanted()) { holder_ = holder_name(options.instance); }
    }
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;
    ~LeaseKeeper() { give_back(); }

    /// What is asked for; without a holder for a pipeline that runs without a lease.
    [[nodiscard]] LeaseRequest request(const Capture& capture) const {
        return {options_.name, capture, holder_, options_.lease};
    }
    /// Whether the last `take` has found that another one holds it.
    [[nodiscard]] bool was_others() const noexcept { return is_others_; }
    void forget_others() noexcept { is_others_ = false; }

    /// Takes the lease, or makes sure of it. *Throws* `Error` (`busy`) while another one holds it.
    void take(B& database, const Capture& capture, const std::atomic<bool>& stopping) {
        if (!is_wanted()) { return; }
        bool had = false;
        bool lost = false;
        LeaseAnswer answer;
        {
            const std::lock_guard turn{turn_};
            had = held_;
            answer = ask(database, capture, stopping);
            lost = lost_.exchange(false);
            if (answer.held) { step_back_in_turn(); }
            if (lost) { session_.forget_abort(); } // it was for the handler
        }
        if (lost) {
            reporter_.tell(Moment::lease_lost,
                std::string{answer.held ? "the lease was taken away, and is had again"
                                        : "another instance has taken the lease over"} +
                    ": what was in hand isn't committed");
        }
        is_others_ = !answer.held;
        const auto [place, low] = answer.held ? Places{} : committed_places();
        board_.update([&](Status& status) {
            status.lease_holder = answer.held ? holder_ : answer.holder;
            if (answer.held) { return; }
            status.position = place;
            status.low_position = low;
        });
        if (!answer.held) {
            throw Error{Errc::busy, "pipeline " + options_.name + " is run by " + answer.holder +
                                        ", whose lease ends at " + answer.until +
                                        " unless it is renewed: one instance has it at a time"};
        }
        if (!had || lost) { reporter_.tell(Moment::lease_taken, "as " + holder_); }
        start_renewals();
    }

    /// Makes sure that the checkpoint that was read since `take` is the holder's: its version may
    /// have been raised by another one's taking, and would fence nobody. *Throws* as `require`.
    void confirm() {
        if (!is_wanted()) { return; }
        {
            const std::lock_guard turn{turn_};
            if (held_ && !lease_->renew()) {
                held_ = false;
                lost_ = true;
            }
        }
        require();
    }
    /// *Throws* `Error` (`fenced`) once a renewal has shown that another one holds it.
    void require() const {
        if (!lost_) { return; }
        throw Error{Errc::fenced, "pipeline " + options_.name + " has lost its lease"};
    }

    /// Lets another one in at once, if the database can be told; else when the lease ends.
    void give_back() noexcept {
        if (thread_.joinable()) {
            {
                const std::lock_guard lock{mutex_};
                ending_ = true;
            }
            changed_.notify_all();
            thread_.join();
            ending_ = false;
        }
        const bool held = held_.exchange(false);
        if (held || offers_) {
            step_back_in_turn();
            try {
                if (held) { lease_->give_back(); }
            } catch (...) {
                // Then it ends by itself.
            }
        }
        lease_.reset();
        lost_ = is_others_ = false;
        board_.update([](Status& status) { status.lease_holder.clear(); });
    }

    /// \name Where lanes are shared
    /// @{

    /// As one that stands by: takes parts of what the holder's lanes are dealt, from now on.
    /// *Requires* a `take` before.
    void stand_by() {
        if (offers_) { return; }
        {
            const std::lock_guard turn{turn_};
            if constexpr (shares_lanes) { lease_->stand_by(); }
            offers_ = true;
        }
        start_renewals();
    }
    void step_back() noexcept {
        const std::lock_guard turn{turn_};
        step_back_in_turn();
    }
    /// As the holder: how many instances lanes are shared among, as the last renewal has found.
    [[nodiscard]] std::int64_t instances() const noexcept { return 1 + standbys_; }
    void count_instances() noexcept { counts_ = true; } ///< from the next renewal on
    /// @}

private:
    static constexpr bool shares_lanes = BackendLaneLease<typename B::Lease>;

    [[nodiscard]] bool is_wanted() const noexcept { return options_.lease.count() > 0; }

    // Where the holder stands.
    using Places = std::pair<std::string, std::string>; // and for changes of low priority
    [[nodiscard]] Places committed_places() {
        const std::optional<StoredCheckpoint> stored = session_->load();
        const auto checkpoint = stored ? checkpoint_from(stored->text) : std::nullopt;
        return checkpoint && checkpoint->log == session_->log()
                   ? Places{checkpoint->position, checkpoint->low}
                   : Places{};
    }

    // In the caller's turn.
    [[nodiscard]] LeaseAnswer ask(
        B& database, const Capture& capture, const std::atomic<bool>& stopping) {
        if (!lease_) { lease_ = database.open_lease(request(capture), stopping); }
        if (held_) {
            if (lease_->renew()) { return {.held = true}; }
            held_ = false;
            lost_ = true;
        }
        LeaseAnswer answer = lease_->take();
        held_ = answer.held;
        return answer;
    }

    void step_back_in_turn() noexcept {
        if (!offers_.exchange(false)) { return; }
        try {
            if constexpr (shares_lanes) { lease_->step_back(); }
        } catch (...) {
            // Then the holder counts on it for as long as a lease lasts.
        }
    }

    void start_renewals() {
        if (thread_.joinable()) { return; }
        try {
            thread_ = std::thread{[this] { keep(); }};
        } catch (const std::system_error&) {
            give_back();
            throw Error{
                Errc::busy, "pipeline " + options_.name +
                                " can't start a thread that renews its lease: it tries again"};
        }
    }

    // ------------------------------------------------------------------ on the renewals' thread

    void keep() {
        const auto pause = std::max(options_.lease / 4, std::chrono::milliseconds{5});
        std::unique_lock lock{mutex_};
        while (!changed_.wait_for(lock, pause, [this] { return ending_; })) {
            lock.unlock();
            session_.keep_alive();
            renew();
            lock.lock();
        }
    }

    // Only the database says that it is lost: while it can't be asked, the fence sees to it.
    void renew() noexcept {
        try {
            const std::lock_guard turn{turn_};
            if (lost_) { return session_.abort(); } // the first one may have met nothing yet
            if (!held_ || lease_->renew()) { return keep_shared(); }
            held_ = false;
            lost_ = true;
            session_.abort(); // in this turn: the next batch may have the lease again
        } catch (...) {
            // The next renewal may do better.
        }
    }

    void keep_shared() {
        if constexpr (shares_lanes) {
            if (offers_) { lease_->stand_by(); }
            if (held_ && counts_) { standbys_ = lease_->standbys(); }
        }
    }

    const Options& options_;
    Board& board_;
    const Reporter& reporter_;
    SessionHolder<Session>& session_;
    std::string holder_;
    std::mutex turn_; // of `lease_`
    std::unique_ptr<typename B::Lease> lease_;
    std::atomic<bool> held_{false};
    std::atomic<bool> lost_{false};
    bool is_others_ = false;
    std::atomic<bool> offers_{false}; // to take parts of what lanes are dealt
    std::atomic<bool> counts_{false}; // those that do
    std::atomic<std::int64_t> standbys_{0};
    std::mutex mutex_; // of `ending_`
    std::condition_variable changed_;
    bool ending_ = false;
    std::thread thread_;
};

} // namespace aftertouch::detail
