// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// One open transaction. What is written through it lands with the checkpoint, or not at all.
///
/// Valid until the handler returns. It is neither committed nor rolled back by hand: return, or
/// throw.
///
/// \code
/// tx.upsert(Total{"ada", 12.5});
/// std::optional<Total> ada = tx.get(aftertouch::type<Total>, "ada");
/// for (const Total& total : tx.query(aftertouch::type<Total>, "SELECT customer, amount FROM total
/// WHERE amount > $1", 10.0)) { } \endcode
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

    /// Whether the pipeline is asked to stop: a handler that takes long should throw, or return
    /// early.
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
