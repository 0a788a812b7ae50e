// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/connection.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/value.hpp>

/// \file
/// A connection that keeps its prepared statements: what all SQL of the backend runs through.

namespace aftertouch::sqlite {

/// A handle with its prepared statements: the newest 64 texts are kept.
///
/// *Threads*: one at a time.
class Connection {
public:
    explicit Connection(const std::string& path, const Options& options = {})
        : handle_{path, options} {}
    explicit Connection(sqlite3* borrowed) : handle_{borrowed} {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] const Handle& handle() const noexcept { return handle_; }
    /// SQLite's own handle, for a caller who does with it what isn't known here.
    [[nodiscard]] sqlite3* native() const noexcept { return handle_.get(); }

    /// Begins a transaction with `sql`, and what it takes to end it, so that no lack of memory can
    /// keep it open.
    void begin(std::string_view sql) {
        require_order();
        if (!roll_back_) { roll_back_.emplace(prepare("ROLLBACK")); }
        run(sql);
    }
    /// Ends the transaction that `begin` began, if there is one still.
    void roll_back() noexcept {
        if (handle_.in_transaction() && roll_back_) {
            try {
                static_cast<void>(roll_back_->step());
            } catch (...) {
                // Whether it is over is what counts.
            }
            roll_back_->reset();
        }
        abandoned_ = handle_.in_transaction();
    }
    /// While this is on, a statement outside of a transaction is refused: SQLite ends a transaction
    /// by itself after some errors, and what is written behind that would stay although its batch
    /// fails (K1). And a COMMIT that isn't ours rolls back, but on a borrowed connection, whose
    /// commit hook is the application's.
    void require_transaction(bool required) noexcept {
        transaction_required_ = required;
        refuse_commits(required);
    }
    /// Commits what `require_transaction` protects.
    void commit() {
        refuse_commits(false);
        run("COMMIT");
        transaction_required_ = false;
    }

    /// Runs one statement and says how many rows it inserted, updated or deleted itself (triggers
    /// don't count).
    template <class Values>
    std::int64_t run(std::string_view sql, const Values& values) {
        const int before = sqlite3_total_changes(handle_.get());
        each(sql, values, [](const Statement&) { return true; });
        return sqlite3_total_changes(handle_.get()) == before ? 0 : sqlite3_changes(handle_.get());
    }
    std::int64_t run(std::string_view sql) { return run(sql, std::span<const Value>{}); }

    /// Runs one statement and calls `row(statement)` for each row until it answers false.
    template <class Values, class Row>
    void each(std::string_view sql, const Values& values, Row&& row) {
        require_order();
        const Use use{*this, sql};
        use->bind(values);
        while (use->step() && row(static_cast<const Statement&>(*use))) {}
    }

    /// Runs every statement of `sql`, none of which has parameters. Nothing is kept prepared.
    std::int64_t run_all(std::string_view sql) {
        const int before = sqlite3_total_changes(handle_.get());
        const std::string text{sql};
        for (std::string_view rest = text; !rest.empty();) {
            require_order();
            Statement statement{handle_, rest};
            statement.bind(std::span<const Value>{});
            while (statement.step()) {}
            rest = rest.substr(rest.size() - statement.tail().size());
        }
        return sqlite3_total_changes(handle_.get()) == before ? 0 : sqlite3_changes(handle_.get());
    }

    /// A statement prepared for as long as its holder wants; not shared.
    [[nodiscard]] Statement prepare(std::string_view sql) const { return Statement{handle_, sql}; }

private:
    static constexpr std::size_t kept = 64;
    struct Entry {
        Statement statement;
        bool in_use = false;
    };
    using Entries = std::list<Entry>;

    // A statement in use: from the kept ones, or a second copy while the kept one runs further up
    // the stack.
    class Use {
    public:
        Use(Connection& connection, std::string_view sql) {
            Entry& entry = connection.entry(sql);
            if (entry.in_use) {
                copy_ = std::make_unique<Entry>(Entry{Statement{connection.handle_, sql}});
                entry_ = copy_.get();
            } else {
                entry_ = &entry;
            }
            entry_->in_use = true;
        }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        ~Use() {
            entry_->statement.reset();
            entry_->in_use = false;
        }
        Statement* operator->() const noexcept { return &entry_->statement; }
        Statement& operator*() const noexcept { return entry_->statement; }

    private:
        Entry* entry_ = nullptr;
        std::unique_ptr<Entry> copy_;
    };

    void refuse_commits(bool refused) noexcept {
        if (!handle_.is_owned()) { return; }
        int (*const refuse)(void*) = [](void*) { return 1; };
        sqlite3_commit_hook(handle_.get(), refused ? refuse : nullptr, nullptr);
    }

    void require_order() {
        if (abandoned_) { roll_back(); }
        if (abandoned_) {
            throw Error{Errc::out_of_memory, handle_.name() + ": there is no memory to end a "
                                                              "transaction that has failed: free "
                                                              "some and try again"};
        }
        if (transaction_required_ && !handle_.in_transaction()) {
            throw Error{Errc::transaction_lost,
                handle_.name() + ": the transaction has ended, by an error before or a COMMIT or "
                                 "ROLLBACK of the caller: pass its errors on, and let it be ended"};
        }
    }

    Entry& entry(std::string_view sql) {
        // Most often it is the one that ran last.
        if (!entries_.empty() && entries_.front().statement.sql() == sql) {
            return entries_.front();
        }
        if (const auto found = by_text_.find(sql); found != by_text_.end()) {
            entries_.splice(entries_.begin(), entries_, found->second);
            return *found->second;
        }
        Statement statement{handle_, sql};
        // Comments may follow it, nothing else.
        if (!Statement{handle_, statement.tail()}.empty()) {
            throw Error{Errc::invalid_argument,
                handle_.name() + ": more than one statement in a text with parameters or rows: "
                                 "pass them one by one",
                {.statement = std::string{sql}}};
        }
        entries_.push_front(Entry{std::move(statement)});
        Entry& made = entries_.front();
        by_text_.emplace(std::string_view{made.statement.sql()}, entries_.begin());
        forget_oldest();
        return made;
    }

    void forget_oldest() {
        if (entries_.size() <= kept) { return; }
        for (auto oldest = std::prev(entries_.end()); oldest != entries_.begin(); --oldest) {
            if (!oldest->in_use) {
                forget(oldest);
                return;
            }
        }
    }

    void forget(Entries::iterator entry) {
        by_text_.erase(std::string_view{entry->statement.sql()});
        entries_.erase(entry);
    }

    Handle handle_;
    Entries entries_; // the newest first
    std::unordered_map<std::string_view, Entries::iterator> by_text_;
    std::optional<Statement> roll_back_;
    bool abandoned_ = false; // a transaction that failed is open still
    bool transaction_required_ = false;
};

} // namespace aftertouch::sqlite
