// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <fault/bookkeeping.hpp>

/// \file
/// One piece of a pipeline's work with its n-th call of some kind broken, and what came of it. A
/// `Breaker` breaks: a disk, or memory.

namespace test {

enum class Work { live, replay, rebuild };

/// What is broken.
struct Scene {
    Work work = Work::live;
    bool wal = false;
    bool forgiving = false; ///< the handler swallows errors: what failed is missing, none twice
};

struct Result {
    int points = 0;
    int errors = 0;
    std::vector<std::string> faults;
};

/// One run: the scene with its n-th call broken, and what came of it.
template <class Breaker>
class Attempt {
    using Fault = typename Breaker::Fault;

public:
    Attempt(const Scene& scene, const Files& fresh) : scene_{scene} { files_.copy_from(fresh); }

    /// False if the scene came to its end before the n-th call.
    bool break_at(const Fault& fault, int n) {
        if (scene_.work == Work::live) {
            turns(1);
            change();
        }
        Breaker::arm(fault, n);
        // A disk that is broken for good is asked a few times more, as a supervisor would.
        for (int errors = 0, page = 0; errors < 3; ++page) {
            const std::optional<bool> busy = turn();
            if (!busy) { ++errors; }
            if (busy == false) { break; }
            if (scene_.work == Work::rebuild && page == 1) { change(); }
        }
        Breaker::lift();
        return Breaker::broken() != 0;
    }

    /// What is wrong behind it, three ways to go on; empty is what it must be.
    std::string go_on(int way) {
        const Files after_crash{"vfs-crash"};
        std::string path = files_.path();
        if (way == 2) {
            after_crash.copy_from(files_);
            path = after_crash.path();
        }
        if (way != 0) { follower_.reset(); }
        if (!follower_) { follower_.emplace(path, patience, scene_.forgiving); }
        note(damage(follower_->database));
        try {
            follower_->pipeline.drain();
        } catch (const std::exception& error) {
            note(std::string{"repaired, but "} + error.what());
        }
        if (scene_.forgiving) {
            note(damage(follower_->database));
        } else {
            note(damage_at_end(follower_->database));
            if (problem_.empty() && scene_.work != Work::rebuild) { check_ledger(); }
        }
        follower_.reset();
        return problem_;
    }

    [[nodiscard]] int errors() const noexcept { return errors_; }

private:
    static constexpr std::chrono::milliseconds patience{0};

    // One batch: whether there was one, or nothing after an error.
    std::optional<bool> turn() {
        try {
            if (!follower_) { follower_.emplace(files_.path(), patience, scene_.forgiving); }
            return follower_->pipeline.run_once();
        } catch (...) {
            const typename Breaker::Repaired repaired;
            look_at(std::current_exception());
        }
        ++errors_;
        return std::nullopt;
    }
    void look_at(const std::exception_ptr& thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const at::Error& error) {
            if (!is_sentence(error.what())) { note("no sentence: " + std::string{error.what()}); }
        } catch (const std::bad_alloc&) {
            if (!Breaker::takes_memory) { note("memory ran out"); }
        } catch (const std::exception& error) {
            note("not one of our errors: " + std::string{error.what()});
        }
    }
    void turns(int n) {
        for (int i = 0; i < n; ++i) { static_cast<void>(turn()); }
    }

    // Another program writes, whatever the pipeline has gone through.
    void change() {
        const typename Breaker::Repaired repaired;
        try {
            at::sqlite::Database other{files_.path(), {.busy_timeout = patience}};
            change_orders(other);
        } catch (const at::Error& error) {
            note(std::string{"the writer was kept out: "} + error.what());
        }
    }

    // Every change came exactly once: rows of the rebuild, and the log behind it.
    void check_ledger() {
        auto& database = follower_->database;
        const auto handled =
            number(database, "SELECT count(*) FROM ledger WHERE change NOT LIKE '%:r%'");
        if (handled != handed_over) { note(std::to_string(handled) + " changes were handled"); }
    }

    void note(const std::string& problem) {
        if (problem_.empty()) { problem_ = problem; }
    }

    // 8 updates, 2 deletions, 3 changes of key, 1 row replaced and 1 inserted.
    static constexpr std::int64_t handed_over = 8 + 2 + 2 * 3 + 2 + 1;

    Scene scene_;
    Files files_{"vfs"};
    std::optional<Follower> follower_;
    std::string problem_;
    int errors_ = 0;
};

inline void make_fresh(const Scene& scene, const Files& fresh) {
    make_database(fresh.path(), scene.wal);
    if (scene.work == Work::rebuild) { return; }
    Follower follower{fresh.path()};
    follower.pipeline.drain();
    if (scene.work == Work::replay) { change_orders(follower.database); }
}

} // namespace test
