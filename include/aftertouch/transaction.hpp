// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <aftertouch/codec.hpp>
#include <aftertouch/detail/require_entity.hpp>
#include <aftertouch/dml.hpp>
#include <aftertouch/entity.hpp>
#include <aftertouch/row.hpp>
#include <aftertouch/table.hpp>
#include <aftertouch/value.hpp>

/// \file
/// The transaction that a handler writes through, for any engine's connection.

namespace aftertouch {

namespace detail {

/// What a range is of. Without <ranges>, which every handler would compile.
template <class Range>
using Element = std::remove_cvref_t<decltype(*std::begin(std::declval<Range&>()))>;

} // namespace detail

/// One open transaction. What is written through it lands with the checkpoint, or not at all.
///
/// Valid until the handler returns. It is neither committed nor rolled back by hand: return, or
/// throw.
///
/// \code
/// tx.upsert(Total{"ada", 12.5});
/// std::optional<Total> ada = tx.get(aftertouch::type<Total>, "ada");
/// const std::string sql = "SELECT customer, amount FROM total WHERE amount > $1";
/// for (const Total& total : tx.query(aftertouch::type<Total>, sql, 10.0)) { show(total); }
/// \endcode
///
/// *Throws* `Error` from every call; the batch can't be committed after an error that ended the
/// transaction.
template <class Connection>
class Transaction {
public:
    Transaction(Connection& connection, const std::atomic<bool>& stopping)
        : connection_{&connection}, stopping_{&stopping} {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    /// The row with this key; several key parts are passed one by one, or as a `Key<T>`.
    template <class T, class... Parts>
    [[nodiscard]] std::optional<T> get(type_t<T>, const Parts&... key) {
        std::optional<T> found;
        if constexpr (detail::require_entity<T>()) {
            static const std::string sql = dml::select_by_key(table_of<T>());
            bind_key<T>(key...);
            connection_->each(sql, arguments(), [&](const auto& row) {
                decode_row(found.emplace(), row);
                return false;
            });
        }
        return found;
    }

    /// *Throws* `Error` (`constraint`) where a row with this key is there already.
    template <class T>
    void insert(const T& record) {
        if constexpr (detail::require_entity<T>()) {
            static const std::string sql = dml::insert(table_of<T>());
            bind_record(record);
            if constexpr (requires { connection_->insert(table_of<T>(), sql, arguments()); }) {
                connection_->insert(table_of<T>(), sql, arguments());
            } else {
                connection_->run(sql, arguments());
            }
        }
    }

    /// Inserts the row, or overwrites the mapped columns of the row that has its key.
    template <class T>
    void upsert(const T& record) {
        if constexpr (detail::require_entity<T>()) {
            static const std::string sql = dml::upsert(table_of<T>());
            bind_record(record);
            connection_->run(sql, arguments());
        }
    }

    /// The same for many rows, one after the other, which go to a server together: a fraction of
    /// the cost of as many calls.
    ///
    /// \code
    /// tx.upsert_all(batch.records() | std::views::transform(summary_of));
    /// tx.erase_all(aftertouch::type<Summary>, batch.missing());
    /// \endcode
    template <class Records>
    void upsert_all(Records&& records) {
        using T = detail::Element<Records>;
        if constexpr (detail::require_entity<T>()) {
            static const std::string sql = dml::upsert(table_of<T>());
            run_all(sql, records, [&](const T& record) { bind_record(record); });
        }
    }

    /// Removes the rows with these keys, in the same way; says how many there were.
    template <class T, class Keys>
    std::int64_t erase_all(type_t<T>, Keys&& keys) {
        if constexpr (detail::require_entity<T>()) {
            static_assert(std::convertible_to<detail::Element<Keys>, Key<T>>,
                "aftertouch: erase_all takes keys of the entity, as batch.missing() has them");
            static const std::string sql = dml::erase_by_key(table_of<T>());
            return run_all(sql, keys, [&](const Key<T>& key) { bind_key<T>(key); });
        } else {
            return 0;
        }
    }

    /// Removes the row with this key; false if there was none.
    template <class T, class... Parts>
    bool erase(type_t<T>, const Parts&... key) {
        if constexpr (detail::require_entity<T>()) {
            static const std::string sql = dml::erase_by_key(table_of<T>());
            bind_key<T>(key...);
            return connection_->run(sql, arguments()) != 0;
        } else {
            return false;
        }
    }

    /// Runs a statement, or without arguments several; says how many rows the last one wrote.
    template <Mapped... Arguments>
    std::int64_t execute(std::string_view sql, const Arguments&... values) {
        if constexpr (sizeof...(Arguments) == 0) {
            return connection_->run_all(sql);
        } else {
            bind_values(values...);
            return connection_->run(sql, arguments());
        }
    }

    /// All rows of a query; columns go to the fields of `R` by their order. `R` is a plain struct,
    /// a `std::tuple`, or one value.
    template <Row R, Mapped... Arguments>
    [[nodiscard]] std::vector<R> query(
        type_t<R>, std::string_view sql, const Arguments&... values) {
        bind_values(values...);
        std::vector<R> rows;
        connection_->each(sql, arguments(), [&](const auto& row) {
            if constexpr (std::same_as<R, bool>) { // whose vector has no elements to read into
                bool value = false;
                decode_row(value, row);
                rows.push_back(value);
            } else {
                decode_row(rows.emplace_back(), row);
            }
            return true;
        });
        return rows;
    }

    /// The client library's own handle, for what this class doesn't offer. *Threads*: the one that
    /// this transaction was handed to.
    [[nodiscard]] auto native() const { return connection_->native(); }

    /// Whether the pipeline is asked to stop. A handler that takes long should look, and answer
    /// `Outcome::retry` then: its batch is undone, and comes again at the next start.
    [[nodiscard]] bool stopping() const noexcept {
        return stopping_->load(std::memory_order_relaxed);
    }

private:
    [[nodiscard]] std::span<const Value> arguments() const noexcept {
        return {values_.data(), count_};
    }

    template <class V>
    void bind_value(const V& value) {
        if (count_ == values_.size()) { values_.emplace_back(); }
        with_cell(value, [&](Cell cell) { values_[count_] = cell; });
        ++count_;
    }

    template <class... Values>
    void bind_values(const Values&... values) {
        count_ = 0;
        (bind_value(values), ...);
    }

    template <Entity T>
    void bind_record(const T& record) {
        [&]<std::size_t... I>(std::index_sequence<I...>) { bind_values(field<I>(record)...); }(
            std::make_index_sequence<field_count<T>>{});
    }

    // Runs `sql` with what `bind` binds for each element; says how many rows were written. What
    // computes an element may use this transaction.
    template <class Range, class Bind>
    std::int64_t run_all(const std::string& sql, Range& range, Bind bind) {
        constexpr std::size_t most_rows = 128; // in memory at once, and not many bytes
        constexpr std::size_t most_bytes = 1'048'576;
        std::vector<Value> values;
        std::int64_t written = 0;
        std::size_t rows = 0;
        std::size_t bytes = 0;
        const auto flush = [&] {
            if (rows != 0) { written += run_rows(sql, values, values.size() / rows); }
            values.clear();
            rows = bytes = 0;
        };
        for (auto&& element : range) {
            bind(element);
            values.insert(values.end(), arguments().begin(), arguments().end());
            for (const Value& value : arguments()) { bytes += value.cell().size(); }
            if (++rows == most_rows || bytes >= most_bytes) { flush(); }
        }
        flush();
        return written;
    }

    // Runs it for each `width` of the values.
    std::int64_t run_rows(
        const std::string& sql, std::span<const Value> values, std::size_t width) {
        if constexpr (requires { connection_->run_rows(sql, values, width); }) {
            return connection_->run_rows(sql, values, width);
        } else {
            std::int64_t written = 0;
            for (; !values.empty(); values = values.subspan(width)) {
                written += connection_->run(sql, values.first(width));
            }
            return written;
        }
    }

    template <Entity T, class... Parts>
    void bind_key(const Parts&... parts) {
        constexpr std::size_t wanted = key_indices<T>.size();
        if constexpr (sizeof...(Parts) == 1 && wanted > 1) {
            static_assert((std::is_convertible_v<const Parts&, const Key<T>&> && ...),
                "aftertouch: this entity's key has several parts: pass each of them, or a Key<T>");
            count_ = 0;
            for_each_key_part((static_cast<const Key<T>&>(parts), ...),
                [&](const auto& part) { bind_value(part); });
        } else {
            static_assert(sizeof...(Parts) == wanted,
                "aftertouch: pass as many values as the entity's key has parts");
            const Key<T> key(parts...);
            count_ = 0;
            for_each_key_part(key, [&](const auto& part) { bind_value(part); });
        }
    }

    Connection* connection_;
    const std::atomic<bool>* stopping_;
    std::vector<Value> values_; // of the statement in hand; kept for its storage
    std::size_t count_ = 0;
};

} // namespace aftertouch
