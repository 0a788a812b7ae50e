// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <aftertouch/batch.hpp>
#include <aftertouch/change.hpp>
#include <aftertouch/detail/handler_members.hpp>
#include <aftertouch/detail/handler_shape.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/operation.hpp>

/// \file
/// Calls the parts of a handler that has one for each moment.

namespace aftertouch::detail {

/// Calls the parts of a set for the changes of a batch.
template <class H, class T, class Tx>
class SetCall {
public:
    SetCall(H& handler, const Batch<T>& batch, Tx& tx)
        : handler_{handler}, batch_{batch}, tx_{tx} {}

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
        bool inserted = false;
        bool updated = false;
    };

    void one(const Change<T>& change) {
        const T* before = change.before();
        const T* after = change.after();
        const Operation operation = change.operation();
        if (operation == Operation::inserted && after != nullptr) { return inserted(*after); }
        if (operation == Operation::updated && after != nullptr && before != nullptr) {
            return updated(*after, *before);
        }
        if (operation == Operation::deleted && before != nullptr) {
            return deleted(change.key(), *before);
        }
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
                seen.inserted = seen.inserted || change.operation() == Operation::inserted;
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
        // Who hasn't asked for updates is told of the insertion behind a deletion.
        const bool is_new = seen.first == Operation::inserted && (S::inserted || !seen.updated);
        if (is_new || (seen.inserted && !S::updated)) { return inserted(*now); }
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
            "a row of " + table_name<T>().text() +
                " was displaced or touched, so that no image of it is known: "
                "give the handler on_touched(key), or on_updated(now) and on_deleted(key)"};
    }

    H& handler_;
    const Batch<T>& batch_;
    Tx& tx_;
    std::vector<Summary> summaries_;
};

} // namespace aftertouch::detail
