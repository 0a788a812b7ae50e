// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <sqlite3.h>

#include <aftertouch/error.hpp>

/// \file
/// The door to SQLite: opens a handle, and turns SQLite's codes into `Error`. The only include of
/// <sqlite3.h>.

namespace aftertouch::sqlite {

namespace detail {

/// What an SQLite result code means to a caller.
[[nodiscard]] constexpr Errc errc_of(int code) noexcept {
    if (code == SQLITE_CONSTRAINT_COMMITHOOK) { return Errc::transaction_lost; } // rolled back
    switch (code & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:
            return Errc::busy; // the last: it has tried for long to get a lock of the WAL
        case SQLITE_READONLY: return Errc::read_only;
        case SQLITE_NOTADB: return Errc::not_a_database;
        case SQLITE_CONSTRAINT: return Errc::constraint;
        case SQLITE_INTERRUPT: return Errc::interrupted;
        case SQLITE_NOMEM: return Errc::out_of_memory;
        case SQLITE_FULL: return Errc::disk_full;
        default: return Errc::database;
    }
}

/// What a caller can do about it; empty where SQLite's own words say it all.
[[nodiscard]] constexpr std::string_view advice(Errc code) noexcept {
    switch (code) {
        case Errc::busy:
            return "another connection holds the lock: give writers a busy timeout and short "
                   "transactions, "
                   "or use WAL (Options::wal)";
        case Errc::read_only:
            return "the database can't be written here: check the rights of the file and its "
                   "folder";
        case Errc::not_a_database: return "check the path, or whether the file is encrypted";
        case Errc::disk_full: return "free space on the disk and start again: nothing was lost";
        default: return {};
    }
}

[[nodiscard]] inline Error error_of(
    sqlite3* handle, int code, std::string_view where, std::string_view sql) {
    const Errc errc = errc_of(code);
    std::string sentence{where};
    sentence += sentence.empty() ? "SQLite says: " : ": SQLite says: ";
    const bool own_words = handle != nullptr && (sqlite3_errcode(handle) & 0xff) == (code & 0xff);
    const std::string_view words = own_words ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
    sentence += words;
    // Not for a table of the library's own: those aren't the program's to make.
    const bool lacks_table =
        words.starts_with("no such table") && words.find("aftertouch_") == std::string_view::npos;
    const std::string_view what_to_do =
        lacks_table ? "create the table (Database::create_table<T>() makes an entity's)"
                    : advice(errc);
    if (!what_to_do.empty()) { sentence.append("; ").append(what_to_do); }
    return Error{errc, sentence,
        {.native_code = code, .statement = std::string{sql}, .where = std::string{where}}};
}

/// Throws what `code` means, unless it means success. `where` is the database's name for people.
inline void check(sqlite3* handle, int code, std::string_view where, std::string_view sql = {}) {
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
        throw error_of(handle, code, where, sql);
    }
}

struct Close {
    void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
};

} // namespace detail

/// How a database is opened.
struct Options {
    /// How long SQLite itself waits for another connection's lock before a call fails as `busy`.
    std::chrono::milliseconds busy_timeout{5000};
    /// Switches a file to the write-ahead log, for good; without it the file's journal mode stays
    /// as it is.
    bool wal = false;
    /// Refuses to write: for looking at a database, not for pipelines.
    bool read_only = false;
    /// Called with every connection that is opened, before anything else: pragmas, functions,
    /// ATTACH. Not to be kept: SQLite locks nothing on it, so it is for one thread at a time.
    /// The commit hook is the library's.
    std::function<void(sqlite3*)> on_open{};
};

/// An open SQLite handle, its own or borrowed.
///
/// *Threads*: one at a time; the owner takes care.
class Handle {
public:
    /// Opens `path` (a file, ":memory:", or a `file:` URI).
    ///
    /// *Throws* `Error` (`not_a_database`, `database`, `invalid_argument`) with the path in it.
    Handle(const std::string& path, const Options& options)
        : name_{path.empty() || path == ":memory:" ? "the database in memory" : path} {
        refuse_shared_cache(path);
        const int access =
            options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
        sqlite3* raw = nullptr;
        // NOMUTEX: one thread at a time, so that SQLite needn't lock in each call.
        const int code = sqlite3_open_v2(
            path.c_str(), &raw, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
        owned_.reset(raw);
        detail::check(raw, code, name_);
        raw_ = raw;
        prepare_connection(options);
    }

    /// Uses somebody else's handle, which must outlive this object.
    explicit Handle(sqlite3* borrowed) : raw_{borrowed}, name_{"the borrowed connection"} {
        if (borrowed == nullptr) {
            throw Error{
                Errc::invalid_argument, "borrow() got a null sqlite3*: open the database first"};
        }
        if (!is_private()) { name_ = file("main"); }
    }

    [[nodiscard]] sqlite3* get() const noexcept { return raw_; }
    /// The path, as it appears in messages.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Whether it was opened here, and not borrowed.
    [[nodiscard]] bool is_owned() const noexcept { return owned_ != nullptr; }
    /// Whether no other connection can open the same database: in memory, or temporary.
    [[nodiscard]] bool is_private() const { return file("main").empty(); }
    /// The file of an attached database; empty for one in memory.
    [[nodiscard]] std::string file(const std::string& schema) const {
        const char* path = sqlite3_db_filename(raw_, schema.c_str());
        return path == nullptr ? std::string{} : std::string{path};
    }
    [[nodiscard]] bool in_transaction() const noexcept { return sqlite3_get_autocommit(raw_) == 0; }
    [[nodiscard]] bool read_only() const noexcept { return sqlite3_db_readonly(raw_, "main") == 1; }
    /// *Throws* `Error` (`read_only`) where a pipeline couldn't keep its checkpoint.
    void require_writable() const {
        if (!read_only()) { return; }
        throw Error{Errc::read_only,
            name_ +
                " can't be written, and a pipeline keeps its checkpoint there: check the rights "
                "of the file and its folder, and how it was opened"};
    }
    /// Makes the statement that runs now fail as `interrupted`. *Threads*: any.
    void interrupt() const noexcept { sqlite3_interrupt(raw_); }

private:
    static void refuse_shared_cache(const std::string& path) {
        if (path.find("cache=shared") != std::string::npos) {
            throw Error{Errc::invalid_argument,
                path + ": a shared cache lets readers see changes that are rolled back later: open "
                       "the "
                       "database without cache=shared (threads share a Database object instead)"};
        }
    }

    void prepare_connection(const Options& options) {
        sqlite3_extended_result_codes(raw_, 1);
        const auto timeout = static_cast<int>(options.busy_timeout.count());
        detail::check(raw_, sqlite3_busy_timeout(raw_, timeout), name_);
        // A schema from elsewhere must not call this program's functions (SQLite manual, "Defense
        // Against The Dark Arts"); our own triggers call none but date functions.
        sqlite3_db_config(raw_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        if (options.on_open) { options.on_open(raw_); }
        // The first read tells a database from any other file.
        run_pragma("PRAGMA schema_version");
        if (options.wal && !options.read_only) { run_pragma("PRAGMA journal_mode = wal"); }
    }

    void run_pragma(const char* sql) {
        detail::check(raw_, sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr), name_, sql);
    }

    std::unique_ptr<sqlite3, detail::Close> owned_;
    sqlite3* raw_ = nullptr;
    std::string name_;
};

} // namespace aftertouch::sqlite
