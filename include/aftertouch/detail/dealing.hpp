// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/capture.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/deal_in_hand.hpp>
#include <aftertouch/detail/handler_caller.hpp>
#include <aftertouch/detail/lane_part.hpp>
#include <aftertouch/detail/reporter.hpp>
#include <aftertouch/detail/session_holder.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/options.hpp>

/// \file
/// Reads what lanes are dealt: the deal that they work on, and ahead of them the one that comes
/// next (L3).

namespace aftertouch::detail {

/// The log's name, as event ids begin with it.
template <class Session>
[[nodiscard]] std::string log_name(const Session& session) {
    std::string name = session.event_id({});
    name.erase(name.rfind(':'));
    return name;
}

template <class S, class H, class B>
class Dealing {
public:
    using T = typename S::Record;
    using Session = typename B::Session;
    using Position = typename Session::Position;

    Dealing(const Options& options, const std::string& dead_letter_table)
        : options_{options},
          lanes_{options.lanes},
          slots_{{{options, dead_letter_table}, {options, dead_letter_table}}} {}

    /// To how many lanes is dealt from the next reading on. *Threads*: any.
    void set_lanes(std::size_t lanes) noexcept { lanes_ = lanes; }
    [[nodiscard]] std::size_t lanes() const noexcept { return lanes_; }

    /// Gets ready for a source that was looked at.
    void prepare(const S& source, const Capture& capture, const Session& session) {
        for (Slot& slot : slots_) {
            slot.deal.prepare(
                capture.imaged, session.key_folds(), source.filter(), source.lane_rule());
        }
        log_ = log_name(session);
        ahead_ = false;
    }
    /// What the checkpoint says is dealt already, and the lanes that have handled their part.
    void take_up(std::optional<Deal> deal, std::vector<std::size_t> finished) {
        now().deal.take_up(std::move(deal), std::move(finished));
        ahead_ = false;
    }
    [[nodiscard]] const std::optional<Deal>& taken_up() const noexcept {
        return now().deal.taken_up();
    }

    /// Reads and deals what comes behind `from`, as far as it did before if it was taken up.
    /// Answers whether there was anything.
    template <class Reader>
    [[nodiscard]] bool read(Session& session, Reader& reader, const Position& from) {
        now().deal.drop_if_other();
        return read(session, reader, from, now());
    }
    /// The same for the deal behind the one in hand, which ends at `from`: in a transaction of its
    /// own, which has ended before anything is written. What it can't do is left to `read`.
    template <class Reader>
    void read_ahead(Session& session, Reader& reader, const std::string& from) noexcept {
        Slot& next = slots_[1 - current_];
        try {
            const Position begin = Position::from(from).value();
            session.begin();
            next.deal.take_up({}, {});
            ahead_ = session.drift().empty() && read(session, reader, begin, next) &&
                     next.deal.size() != 0 && session.usable(begin) == Usable::yes;
        } catch (...) { ahead_ = false; }
        session.roll_back();
    }
    /// Hands it over, and reads ahead beside; see `DealInHand::hand_over`.
    template <class Meanwhile, class Aborted>
    void hand_over(SessionHolder<Session>& sessions, HandlerCaller<S, H, B>& caller,
        const DealHanding<Position>& how, Meanwhile meanwhile, Aborted aborted) {
        if (!is_whole()) { deal().refuse_rest(); }
        deal().hand_over(sessions, caller, facts(), how, meanwhile, aborted);
        if (deal().wrote_letters()) { ahead_ = false; } // they may concern it
    }
    /// Whether the deal behind this place is read already.
    [[nodiscard]] bool has_ahead(const Position& from) const {
        return ahead_ && slots_[1 - current_].from.text() == from.text();
    }
    /// Puts it into the hand. *Requires* `has_ahead`.
    void take_ahead() noexcept {
        current_ = 1 - current_;
        ahead_ = false;
    }

    /// \name What is in hand
    /// @{
    [[nodiscard]] auto& deal() noexcept { return now().deal; }
    [[nodiscard]] const auto& deal() const noexcept { return now().deal; }
    /// As the checkpoint says it, before any lane works on it.
    [[nodiscard]] const Deal& facts() const noexcept { return now().facts; }
    /// Offers it to so many instances, this one among them.
    void share(std::int64_t instances) noexcept { now().facts.instances = instances; }
    /// How parts are made sure of, where other instances may have some in hand.
    [[nodiscard]] Claim claim(bool contended) const noexcept {
        return contended || facts().instances != 1 ? Claim::if_free : Claim::none;
    }
    /// How many lanes work at once here: as many as there are, or this instance's share.
    [[nodiscard]] std::size_t lanes_wanted() const {
        const std::int64_t instances = facts().instances;
        const auto fair = static_cast<std::size_t>((facts().lanes + instances - 1) / instances);
        return std::min({lanes(), deal().open_parts().size(), fair});
    }
    /// Whether all that was dealt is still there.
    [[nodiscard]] bool is_whole() const noexcept {
        return now().facts.changes == static_cast<std::int64_t>(now().passed);
    }
    /// Whether the log has more behind it.
    [[nodiscard]] bool more() const noexcept { return now().more; }
    [[nodiscard]] const Position& end() const noexcept { return now().end; }
    /// The log's end before it was read, where the handler's own changes are left out.
    [[nodiscard]] const Position& head() const noexcept { return now().head; }
    /// @}

private:
    struct Slot {
        Slot(const Options& options, const std::string& table) : deal{options, table} {}

        DealInHand<S, H, B> deal;
        Deal facts{};
        std::size_t passed = 0;
        bool more = false;
        Position from{};
        Position end{};
        Position head{};
    };

    [[nodiscard]] Slot& now() noexcept { return slots_[current_]; }
    [[nodiscard]] const Slot& now() const noexcept { return slots_[current_]; }

    // What lanes had in hand is read from where it began, and goes as far as it did.
    template <class Reader>
    [[nodiscard]] bool read(Session& session, Reader& reader, const Position& from, Slot& slot) {
        const std::optional<Deal> taken_up = slot.deal.taken_up();
        slot.head = options_.skip_own_changes ? session.head() : Position{};
        slot.from = from;
        slot.end = taken_up ? Position::from(taken_up->to).value_or(from) : from;
        const Position begin = taken_up ? from.reopened(slot.end) : from;
        slot.passed = reader.read(session, begin, slot.deal.begin(log_, lanes()), slot.deal);
        slot.more = !taken_up && reader.more();
        if (!taken_up) { slot.end = reader.end(); }
        slot.facts = taken_up.value_or(Deal{wall_clock().time_since_epoch().count(),
            static_cast<std::int64_t>(slot.deal.lanes()), static_cast<std::int64_t>(slot.passed),
            slot.end.text(), options_.skip_own_changes, 1, slot.deal.rule()});
        return slot.passed != 0 || taken_up;
    }

    const Options& options_;
    std::atomic<std::size_t> lanes_;
    std::array<Slot, 2> slots_;
    std::string log_; // its name
    std::size_t current_ = 0;
    bool ahead_ = false; // the other one is read
};

/// In its place where batches are handled whole.
template <class Position>
struct NoDealing {
    struct NoDeal {
        [[nodiscard]] std::size_t size() const noexcept { return 0; }
        [[nodiscard]] std::size_t handled() const noexcept { return 0; }
        [[nodiscard]] bool threw_in_handler() const noexcept { return false; }
        [[nodiscard]] std::optional<Excuse> excuse() const noexcept { return {}; }
        [[nodiscard]] bool in_parts() const noexcept { return false; }
        [[nodiscard]] std::size_t parked() const noexcept { return 0; }
        [[nodiscard]] std::string why() const { return {}; }
        void take_up(const std::optional<Deal>&, const std::vector<std::size_t>&) const {}
    };

    NoDealing(const Options&, const std::string&) {}
    void set_lanes(std::size_t) const noexcept {}
    [[nodiscard]] std::size_t lanes() const noexcept { return 1; }
    [[nodiscard]] NoDeal deal() const noexcept { return {}; }
    [[nodiscard]] Deal facts() const { return {}; }
    [[nodiscard]] bool more() const noexcept { return false; }
    void share(std::int64_t) const noexcept {}
    [[nodiscard]] std::size_t lanes_wanted() const noexcept { return 0; }
    template <class... Arguments>
    void read_ahead(const Arguments&...) const noexcept {}
    template <class... Arguments>
    void prepare(const Arguments&...) const noexcept {}
    void take_up(const std::optional<Deal>&, const std::vector<std::size_t>&) {}
    [[nodiscard]] std::optional<Deal> taken_up() const noexcept { return {}; }
    [[nodiscard]] bool has_ahead(const Position&) const noexcept { return false; }
    void take_ahead() const noexcept {}
    [[nodiscard]] Position end() const { return {}; }
    template <class... Arguments>
    [[nodiscard]] bool read(const Arguments&...) const noexcept {
        return false;
    }
};

template <class S, class H, class B>
struct DealingFor {
    using Type = NoDealing<typename B::Session::Position>;
};
template <class S, class H, class B>
    requires(has_lanes<typename B::Session>)
struct DealingFor<S, H, B> {
    using Type = Dealing<S, H, B>;
};

} // namespace aftertouch::detail
