// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/backend.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/checkpoint.hpp>
#include <aftertouch/detail/handler_caller.hpp>
#include <aftertouch/detail/lane_part.hpp>
#include <aftertouch/detail/session_holder.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/key.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/options.hpp>

/// \file
/// Changes that were read once and are dealt to lanes: each lane handles its part in a transaction
/// of its own, beside the others (L2, L3).

namespace aftertouch::detail {

/// One deal at a time. The log's reader fills it as it does a `BatchWriter`.
template <class S, class H, class B>
class DealInHand {
public:
    using T = typename S::Record;
    using Session = typename B::Session;
    using Position = typename Session::Position;
    using Part = LanePart<S, H, B>;

    DealInHand(const Options& options, std::string dead_letter_table)
        : options_{options}, dead_letter_table_{std::move(dead_letter_table)} {}

    /// Gets ready for a source that was looked at.
    void prepare(std::vector<std::size_t> imaged, std::vector<KeyFold> folds,
        typename BatchWriter<T>::Filter filter, LaneRule rule) {
        rule_ = std::move(rule);
        imaged_ = std::move(imaged);
        folds_ = std::move(folds);
        filter_ = std::move(filter);
        parts_.clear();
        failed_ = nullptr;
    }

    /// What the checkpoint says is dealt already, and the lanes that have handled their part.
    void take_up(std::optional<Deal> deal, std::vector<std::size_t> finished) {
        taken_up_ = std::move(deal);
        finished_ = std::move(finished);
        if (!taken_up_) { count_anew(); }
    }
    [[nodiscard]] const std::optional<Deal>& taken_up() const noexcept { return taken_up_; }
    /// What decides a change's lane, as a deal says it.
    [[nodiscard]] std::string rule() const { return rule_.text(); }
    /// Whether a deal can be read again as it was dealt.
    [[nodiscard]] bool is_readable(const Deal& deal) const {
        return deal.leaves_own == options_.skip_own_changes && deal.by == rule();
    }
    /// What can't be is dealt anew, if no lane has handled its part. *Throws* `Error`
    /// (`invalid_argument`) else.
    void drop_if_other() {
        if (!taken_up_ || is_readable(*taken_up_)) { return; }
        if (finished_.empty()) { return taken_up_.reset(); }
        throw Error{Errc::invalid_argument,
            "lanes of pipeline " + options_.name +
                " have handled a part of what they were dealt with another " +
                (taken_up_->by == rule() ? "Options::skip_own_changes" : "Source::shard") +
                ": run it once with that one, or rebuild() it"};
    }

    /// \name One deal, in this order
    /// @{

    /// Begins to deal to so many lanes, or as many as the deal that was taken up has. Answers how
    /// many changes there may be.
    [[nodiscard]] std::size_t begin(std::string_view log, std::size_t lanes) {
        lanes_ = taken_up_ ? static_cast<std::size_t>(taken_up_->lanes) : lanes;
        while (parts_.size() < lanes_) {
            parts_.push_back(
                std::make_unique<Part>(options_, dead_letter_table_, imaged_, folds_, filter_));
        }
        for (const auto& part : parts_) { part->clear(log); }
        if (!taken_up_) {
            finished_.clear();
            count_anew();
        }
        wrote_letters_ = false;
        full_ = false;
        failed_ = nullptr;
        return taken_up_ ? static_cast<std::size_t>(taken_up_->changes)
                         : lanes_ * options_.batch_size;
    }
    void add_change(const LogRow& row) {
        BatchWriter<T>& writer = parts_[rule_.lane(row.key, folds_, lanes_)]->portion().writer();
        writer.add_change(row);
        full_ =
            full_ || writer.size() >= options_.batch_size || writer.bytes() >= options_.batch_bytes;
    }
    /// Whether a lane has as much as a batch may have. A deal that is taken up is as it was.
    [[nodiscard]] bool is_full() const noexcept { return full_ && !taken_up_; }
    [[nodiscard]] std::size_t lanes() const noexcept { return lanes_; }
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t size = 0;
        for (const auto& part : parts_) { size += part->portion().writer().size(); }
        return size;
    }

    /// *Throws*: the log hasn't all of what was dealt.
    [[noreturn]] void refuse_rest() const {
        throw Error{Errc::value_mismatch,
            "the log no longer has what the lanes of pipeline " + options_.name +
                " were dealt, and some of them may have handled: rebuild() it"};
    }
    /// Has the lanes handle their parts on their sessions, but for those that have already; the
    /// caller's thread does `meanwhile()`, which throws nothing. Parts that other instances have
    /// taken are waited for.
    /// *Throws* what one of them threw, when all have come to their end.
    template <class Meanwhile, class Aborted>
    void hand_over(SessionHolder<Session>& sessions, HandlerCaller<S, H, B>& caller,
        const Deal& deal, DealHanding<Position> how, Meanwhile meanwhile, Aborted aborted) {
        begin_run(how);
        std::vector<std::size_t> open = open_parts();
        bool first = true;
        for (bool any = true; any && !open.empty(); first = false) {
            any = run(open, sessions, caller, deal, how, aborted,
                [&]() noexcept { return first && !aborted() ? meanwhile() : void(); });
            const auto is_others = [&](std::size_t lane) {
                return parts_[lane]->end() == PartEnd::others;
            };
            any = any || std::any_of(open.begin(), open.end(), is_others);
            // What a statement failed on may have been another lane's, which has committed since.
            std::erase_if(open, [&](std::size_t lane) {
                const bool is_taken = how.claim == Claim::if_free && is_others(lane);
                return !is_taken && !parts_[lane]->failed_on_anothers();
            });
            if (how.claim == Claim::if_free) { how.claim = Claim::awaited; }
        }
        rethrow_worst();
    }
    /// The same for an instance that stands by: those that nobody has in hand, the last ones first.
    /// Answers one that the handler has failed on, by itself or where none was done; else null.
    template <class Aborted>
    [[nodiscard]] const Part* help(SessionHolder<Session>& sessions, HandlerCaller<S, H, B>& caller,
        const Deal& deal, const DealHanding<Position>& how, Aborted aborted) {
        begin_run(how);
        count_anew();
        std::vector<std::size_t> open = open_parts();
        std::reverse(open.begin(), open.end());
        const bool any = run(open, sessions, caller, deal, how, aborted, []() noexcept {});
        const Part* failed = nullptr;
        for (const std::size_t lane : open) {
            const Part& part = *parts_[lane];
            if (part.is_to_blame()) { return &part; }
            if (part.end() == PartEnd::failed) { failed = &part; }
        }
        return any || in_common_.over ? nullptr : failed;
    }
    /// The lanes that have something, and haven't handled it yet.
    [[nodiscard]] std::vector<std::size_t> open_parts() const {
        std::vector<std::size_t> open;
        for (std::size_t lane = 0; lane < lanes_; ++lane) {
            const bool done =
                std::find(finished_.begin(), finished_.end(), lane) != finished_.end();
            if (!done && parts_[lane]->portion().writer().size() != 0) { open.push_back(lane); }
        }
        return open;
    }
    /// @}

    /// The lane whose error was thrown: what it was doing.
    [[nodiscard]] bool threw_in_handler() noexcept {
        return failed_ != nullptr && std::exchange(failed_->portion().inside_handler(), false);
    }
    [[nodiscard]] std::optional<Excuse> excuse() const noexcept {
        return failed_ == nullptr ? std::nullopt : std::optional{failed_->excuse()};
    }
    [[nodiscard]] bool in_parts() const noexcept {
        return failed_ != nullptr && failed_->portion().in_parts();
    }

    /// How many changes this instance has handled.
    [[nodiscard]] std::size_t handled() const noexcept { return handled_; }
    /// Whether dead letters were written, how many records were set aside, and why the first.
    [[nodiscard]] bool wrote_letters() const noexcept { return wrote_letters_; }
    [[nodiscard]] std::size_t parked() const noexcept { return parked_; }
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

private:
    void count_anew() noexcept {
        handled_ = parked_ = 0;
        why_.clear();
    }
    void begin_run(const DealHanding<Position>& how) noexcept {
        in_common_.room = how.room;
        in_common_.over = false;
    }
    // Answers whether one of them is done.
    template <class Aborted, class Meanwhile>
    bool run(const std::vector<std::size_t>& lanes, SessionHolder<Session>& sessions,
        HandlerCaller<S, H, B>& caller, const Deal& deal, const DealHanding<Position>& how,
        Aborted aborted, Meanwhile meanwhile) {
        const std::size_t workers = std::min({lanes.size(), sessions.lanes(), how.workers});
        std::atomic<std::size_t> next{0};
        sessions.crew().run(workers + 1, [&](std::size_t place) noexcept {
            if (place == 0) { return meanwhile(); }
            for (std::size_t i = next++; i < lanes.size(); i = next++) {
                parts_[lanes[i]]->run(sessions.lane(place - 1), caller,
                    {deal.id, lanes[i], how.version, how.claim}, how, in_common_, aborted);
            }
        });
        bool any = false;
        for (const std::size_t lane : lanes) { any = count(*parts_[lane]) || any; }
        return any;
    }

    // Whether it has handled its part.
    bool count(const Part& part) {
        if (part.end() != PartEnd::done) { return false; }
        handled_ += part.portion().writer().size();
        wrote_letters_ = wrote_letters_ || part.portion().in_parts();
        parked_ += part.portion().isolation().parked();
        if (why_.empty()) { why_ = part.portion().isolation().why(); }
        return true;
    }

    // What the handler decided comes before what is tried again anyway.
    void rethrow_worst() {
        int worst = 0;
        for (const auto& part : parts_) {
            const int weight_of_it = part->weight();
            if (weight_of_it > worst) {
                worst = weight_of_it;
                failed_ = part.get();
            }
        }
        if (failed_ != nullptr) { std::rethrow_exception(failed_->error()); }
    }

    const Options& options_;
    std::string dead_letter_table_;
    std::vector<std::size_t> imaged_;
    std::vector<KeyFold> folds_;
    typename BatchWriter<T>::Filter filter_;
    std::vector<std::unique_ptr<Part>> parts_;
    std::size_t lanes_ = 0;
    std::optional<Deal> taken_up_;
    std::vector<std::size_t> finished_;
    bool full_ = false;
    LanesInCommon in_common_;
    Part* failed_ = nullptr;
    bool wrote_letters_ = false;
    std::size_t handled_ = 0;
    std::size_t parked_ = 0; // also by lanes that had handled their part before
    std::string why_;
    LaneRule rule_;
};

} // namespace aftertouch::detail
