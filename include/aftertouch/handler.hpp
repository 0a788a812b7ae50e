// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/batch.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/detail/handler_members.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/handler_parts.hpp>
#include <aftertouch/source.hpp>

/// \file
/// Which shapes a handler may have, what is said of those that fit none, and how each is called.

namespace aftertouch {
namespace detail {

template <class H>
inline constexpr bool is_sequence = false;
template <class... H>
inline constexpr bool is_sequence<Sequence<H...>> = true;

// Every callable may leave the transaction out.
template <class F, class Tx, class... Arguments>
concept Takes = std::invocable<F, Arguments..., Tx&> || std::invocable<F, Arguments...>;

template <class F, class Tx, class... Arguments>
void pass(F&& callable, Tx& tx, Arguments&&... arguments) {
    if constexpr (std::invocable<F, Arguments..., Tx&>) {
        std::forward<F>(callable)(std::forward<Arguments>(arguments)..., tx);
    } else {
        std::forward<F>(callable)(std::forward<Arguments>(arguments)...);
    }
}

// A second parameter written `auto& tx` is the transaction: a part that wants `before` alone names its type.
template <class F, class Tx, class H, class First, class Before>
concept TakesBefore = std::invocable<F, H, First, Before, Tx&> ||
                      (!std::invocable<F, H, First, Tx&> && std::invocable<F, H, First, Before>);

template <class H, class T, class Tx>
struct Shape {
    using Inserted = decltype(call_on_inserted);
    using Updated = decltype(call_on_updated);
    using Deleted = decltype(call_on_deleted);

    static constexpr bool batch = Takes<H&, Tx, const Batch<T>&>;
    // Asked only of what takes no batch: a generic lambda's body must not be tried with a change.
    static constexpr bool change = [] {
        if constexpr (batch) {
            return false;
        } else {
            return Takes<H&, Tx, const Change<T>&>;
        }
    }();
    static constexpr bool batch_part = Takes<decltype(call_on_batch), Tx, H&, const Batch<T>&>;

    static constexpr bool inserted = Takes<Inserted, Tx, H&, const T&>;
    static constexpr bool updated_before = TakesBefore<Updated, Tx, H&, const T&, const T&>;
    static constexpr bool updated = Takes<Updated, Tx, H&, const T&>;
    static constexpr bool deleted_before = TakesBefore<Deleted, Tx, H&, const Key<T>&, const T&>;
    static constexpr bool deleted = Takes<Deleted, Tx, H&, const Key<T>&>;
    static constexpr bool deleted_row = !deleted && !deleted_before && Takes<Deleted, Tx, H&, const T&>;
    static constexpr bool present = Takes<decltype(call_on_present), Tx, H&, const T&>;
    static constexpr bool touched = Takes<decltype(call_on_touched), Tx, H&, const Key<T>&>;
    static constexpr bool set =
        inserted || updated || updated_before || deleted || deleted_before || deleted_row || present || touched;

    static constexpr bool rebuild_started = Takes<decltype(call_rebuild_started), Tx, H&, std::int64_t>;
    static constexpr bool rebuild_finished = Takes<decltype(call_rebuild_finished), Tx, H&, std::int64_t>;
};

/// Says in one sentence what is wrong with a handler, at compile time.
template <class H, class T, CaptureMode Mode, class Tx>
consteval void require_handler() {
    if constexpr (is_sequence<H>) {
        [] <class... Hs>(std::type_identity<Sequence<Hs...>>) {
            (require_handler<Hs, T, Mode, Tx>(), ...);
        }(std::type_identity<H>{});
    } else {
        using S = Shape<H, T, Tx>;
        constexpr bool images = Mode == CaptureMode::images;
        static_assert(S::batch || S::change || S::batch_part || S::set,
                      "aftertouch: this handler fits no shape: write (const Batch<T>&, auto& tx), (const Change<T>&, "
                      "auto& tx), or handle(on_inserted(...), on_updated(...), on_deleted(...))");
        if constexpr (S::set && !S::batch && !S::change) {
            static_assert(images || !(S::updated_before && !S::updated),
                          "aftertouch: on_updated(now, before) needs the row before the change: call images() on the source");
            static_assert(images || !((S::deleted_before || S::deleted_row) && !S::deleted),
                          "aftertouch: on_deleted with the deleted row needs its image: call images() on the source, or "
                          "take the key");
            static_assert(!images || !S::updated_before || S::updated || S::present,
                          "aftertouch: a rebuild hands over rows that have no before: give the handler on_present(now) too");
            static_assert(S::inserted || !declares_on_inserted<H>, "aftertouch: on_inserted takes (now) or (now, auto& tx)");
            static_assert(S::updated || S::updated_before || !declares_on_updated<H>,
                          "aftertouch: on_updated takes (now), with images (now, before), and then auto& tx if it wants it");
            static_assert(S::deleted || S::deleted_before || S::deleted_row || !declares_on_deleted<H>,
                          "aftertouch: on_deleted takes (key), with images (key, before), and then auto& tx if it wants it");
            static_assert(S::present || !declares_on_present<H>, "aftertouch: on_present takes (now) or (now, auto& tx)");
            static_assert(S::touched || !declares_on_touched<H>, "aftertouch: on_touched takes (key) or (key, auto& tx)");
        }
        static_assert(S::rebuild_started || !declares_rebuild_started<H>,
                      "aftertouch: rebuild_started takes (generation) or (generation, auto& tx)");
        static_assert(S::rebuild_finished || !declares_rebuild_finished<H>,
                      "aftertouch: rebuild_finished takes (generation) or (generation, auto& tx)");
    }
}

/// Calls the parts of a set for the changes of a batch.
template <class H, class T, class Tx>
class SetCall {
public:
    SetCall(H& handler, const Batch<T>& batch, Tx& tx) : handler_{handler}, batch_{batch}, tx_{tx} {}

    /// Each change in order, with its images.
    void images() {
        for (const Change<T>& change : batch_.changes()) { one(change); }
    }

    /// Each key once, by the row that it has now and by what the batch began with for it.
    void touches() {
        const std::size_t count = batch_.ids().size();
        for (std::size_t i = 0; i < count; ++i) {
            const Summary seen = summary(i);
            if (seen.first != Operation::present) { coalesced(i, seen); }
        }
        for (const Change<T>& change : batch_.changes()) {
            if (change.operation() == Operation::present) { present(*change.after()); }
        }
    }

private:
    using S = Shape<H, T, Tx>;
    struct Summary {
        Operation first = Operation::present;
        bool updated = false;
    };

    void one(const Change<T>& change) {
        const T* before = change.before();
        const T* after = change.after();
        const Operation operation = change.operation();
        if (operation == Operation::inserted && after != nullptr) { return inserted(*after); }
        if (operation == Operation::updated && after != nullptr && before != nullptr) { return updated(*after, *before); }
        if (operation == Operation::deleted && before != nullptr) { return deleted(change.key(), *before); }
        if (operation == Operation::present) { return present(*after); }
        touched(change.key(), index_of(change));
    }

    [[nodiscard]] std::size_t index_of(const Change<T>& change) const {
        return static_cast<std::size_t>(&change.key() - batch_.ids().data());
    }

    [[nodiscard]] Summary summary(std::size_t id) {
        if (summaries_.empty()) {
            summaries_.resize(batch_.ids().size());
            for (const Change<T>& change : batch_.changes()) {
                Summary& seen = summaries_[index_of(change)];
                if (seen.first == Operation::present) { seen.first = change.operation(); }
                seen.updated = seen.updated || change.operation() == Operation::updated;
            }
        }
        return summaries_[id];
    }

    void coalesced(std::size_t id, Summary seen) {
        const Key<T>& key = batch_.ids()[id];
        if (seen.first == Operation::touched && S::touched) { return touched(key, id); }
        const T* now = batch_.record(id);
        if (now == nullptr) { return gone(key); }
        if (seen.first == Operation::inserted && (S::inserted || !seen.updated)) { return inserted(*now); }
        changed(*now);
    }

    void inserted(const T& now) {
        if constexpr (S::inserted) { pass(call_on_inserted, tx_, handler_, now); }
    }
    void updated(const T& now, const T& before) {
        if constexpr (S::updated_before) {
            pass(call_on_updated, tx_, handler_, now, before);
        } else if constexpr (S::updated) {
            pass(call_on_updated, tx_, handler_, now);
        }
    }
    void changed(const T& now) {
        if constexpr (S::updated) {
            pass(call_on_updated, tx_, handler_, now);
        } else if constexpr (S::updated_before) {
            needs_touched();
        }
    }
    void deleted(const Key<T>& key, const T& before) {
        if constexpr (S::deleted_before) {
            pass(call_on_deleted, tx_, handler_, key, before);
        } else if constexpr (S::deleted) {
            pass(call_on_deleted, tx_, handler_, key);
        } else if constexpr (S::deleted_row) {
            pass(call_on_deleted, tx_, handler_, before);
        }
    }
    void gone(const Key<T>& key) {
        if constexpr (S::deleted) {
            pass(call_on_deleted, tx_, handler_, key);
        } else if constexpr (S::deleted_before || S::deleted_row) {
            needs_touched();
        }
    }
    void present(const T& now) {
        if constexpr (S::present) {
            pass(call_on_present, tx_, handler_, now);
        } else if constexpr (S::updated) {
            pass(call_on_updated, tx_, handler_, now);
        }
    }
    void touched(const Key<T>& key, std::size_t id) {
        if constexpr (S::touched) {
            pass(call_on_touched, tx_, handler_, key);
        } else if (const T* now = batch_.record(id); now != nullptr) {
            changed(*now);
        } else {
            gone(key);
        }
    }

    [[noreturn]] static void needs_touched() {
        throw Error{Errc::handler_failed,
                    "a row of " + table_name<T>().text() + " was displaced or touched, so that no image of it is known: "
                    "give the handler on_touched(key), or on_updated(now) and on_deleted(key)"};
    }

    H& handler_;
    const Batch<T>& batch_;
    Tx& tx_;
    std::vector<Summary> summaries_;
};

/// Hands a batch to a handler of any shape.
template <CaptureMode Mode, class H, class T, class Tx>
void hand_over(H& handler, const Batch<T>& batch, Tx& tx) {
    if constexpr (is_sequence<H>) {
        std::apply([&](auto&... each) { (hand_over<Mode>(each, batch, tx), ...); }, handler.handlers);
    } else if constexpr (Shape<H, T, Tx>::batch) {
        pass(handler, tx, batch);
    } else if constexpr (Shape<H, T, Tx>::change) {
        for (const Change<T>& change : batch.changes()) { pass(handler, tx, change); }
    } else if constexpr (Shape<H, T, Tx>::batch_part) {
        pass(call_on_batch, tx, handler, batch);
    } else if constexpr (Mode == CaptureMode::images) {
        SetCall<H, T, Tx>{handler, batch, tx}.images();
    } else {
        SetCall<H, T, Tx>{handler, batch, tx}.touches();
    }
}

/// Tells a handler that wants to know that a rebuild begins, or has handed over its last row.
template <class T, class H, class Tx>
void tell_rebuild_started(H& handler, std::int64_t generation, Tx& tx) {
    if constexpr (is_sequence<H>) {
        std::apply([&](auto&... each) { (tell_rebuild_started<T>(each, generation, tx), ...); }, handler.handlers);
    } else if constexpr (Shape<H, T, Tx>::rebuild_started) {
        pass(call_rebuild_started, tx, handler, generation);
    }
}
template <class T, class H, class Tx>
void tell_rebuild_finished(H& handler, std::int64_t generation, Tx& tx) {
    if constexpr (is_sequence<H>) {
        std::apply([&](auto&... each) { (tell_rebuild_finished<T>(each, generation, tx), ...); }, handler.handlers);
    } else if constexpr (Shape<H, T, Tx>::rebuild_finished) {
        pass(call_rebuild_finished, tx, handler, generation);
    }
}

}  // namespace detail

/// A handler that fits a source over `T`, called with a transaction of type `Tx`.
template <class H, class T, class Tx>
concept ChangeHandler = detail::is_sequence<H> || detail::Shape<H, T, Tx>::batch || detail::Shape<H, T, Tx>::change ||
                        detail::Shape<H, T, Tx>::batch_part || detail::Shape<H, T, Tx>::set;

}  // namespace aftertouch
