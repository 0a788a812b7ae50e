// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <fault/attempt.hpp>
#include <support/catch.hpp>

/// \file
/// The n-th allocation fails, for every n, once or for good: of C++ or of SQLite. Nothing may end
/// the program, leak, or be lost; then there is memory again, and the books must be right.

namespace {

enum class Allocator { cpp, sqlite };

struct Shortage {
    Allocator allocator = Allocator::cpp;
    bool for_good = false;
};

// Memory that runs out, on the thread that asked for it.
class Memory {
public:
    using Fault = Shortage;
    static constexpr bool takes_memory = true;

    static void arm(const Fault& fault, int n) {
        fault_ = fault;
        left_ = n;
        broken_ = 0;
        armed_ = true;
    }
    static void lift() { armed_ = false; }
    [[nodiscard]] static int broken() { return broken_; }

    [[nodiscard]] static bool fails(Allocator allocator) noexcept {
        if (!armed_ || allocator != fault_.allocator) { return false; }
        --left_;
        if (left_ > 0 || (left_ < 0 && !fault_.for_good)) { return false; }
        ++broken_;
        return true;
    }

    class Repaired {
    public:
        Repaired() : armed_before_{armed_} { armed_ = false; }
        Repaired(const Repaired&) = delete;
        Repaired& operator=(const Repaired&) = delete;
        ~Repaired() { armed_ = armed_before_; }

    private:
        bool armed_before_;
    };

    // Before SQLite is used for the first time.
    static void install() {
        static const bool once = [] {
            sqlite3_shutdown();
            sqlite3_config(SQLITE_CONFIG_GETMALLOC, &of_sqlite_);
            static sqlite3_mem_methods ours = of_sqlite_;
            ours.xMalloc = [](int size) -> void* {
                return fails(Allocator::sqlite) ? nullptr : of_sqlite_.xMalloc(size);
            };
            ours.xRealloc = [](void* old, int size) -> void* {
                return fails(Allocator::sqlite) ? nullptr : of_sqlite_.xRealloc(old, size);
            };
            sqlite3_config(SQLITE_CONFIG_MALLOC, &ours);
            sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
            return sqlite3_initialize() == SQLITE_OK;
        }();
        REQUIRE(once);
    }

private:
    static inline thread_local bool armed_ = false;
    static inline thread_local Fault fault_{};
    static inline thread_local int left_ = 0;
    static inline thread_local int broken_ = 0;
    static inline sqlite3_mem_methods of_sqlite_{};
};

} // namespace

// All of them: a sanitizer brings its own for those that are missing.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return Memory::fails(Allocator::cpp) ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
    void* room = ::operator new(size, std::nothrow);
    if (room == nullptr) { throw std::bad_alloc{}; }
    return room;
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return ::operator new(size, std::nothrow);
}
// Not inlined: g++ would take free() for the wrong partner of an operator new that it didn't
// inline.
[[gnu::noinline]] void operator delete(void* room) noexcept { std::free(room); }
[[gnu::noinline]] void operator delete(void* room, std::size_t) noexcept { std::free(room); }
[[gnu::noinline]] void operator delete[](void* room) noexcept { std::free(room); }
[[gnu::noinline]] void operator delete[](void* room, std::size_t) noexcept { std::free(room); }

namespace {

namespace at = aftertouch;
using test::Attempt;
using test::Files;
using test::Result;
using test::Scene;
using test::Work;

[[nodiscard]] Result run_out_everywhere(const Scene& scene, const Memory::Fault& fault, int step) {
    Memory::install();
    const Files fresh{"memory-fresh"};
    test::make_fresh(scene, fresh);
    Result result;
    for (int n = 1;; n += step * test::stride()) {
        Attempt<Memory> attempt{scene, fresh};
        const bool broken = attempt.break_at(fault, n);
        const std::string problem = attempt.go_on(n / test::stride() % 3);
        if (!problem.empty()) {
            result.faults.push_back("allocation " + std::to_string(n) + ": " + problem);
        }
        if (!broken) { break; }
        ++result.points;
        result.errors += attempt.errors();
    }
    return result;
}

// The first start prepares everything: there only every `step`-th allocation fails.
void expect_no_fault(const Scene& scene, int step) {
    for (const Allocator allocator : {Allocator::cpp, Allocator::sqlite}) {
        for (const bool for_good : {false, true}) {
            const Result result = run_out_everywhere(scene, {allocator, for_good}, step);
            WARN((allocator == Allocator::cpp ? "operator new" : "SQLite")
                 << (for_good ? ", for good: " : ", once: ") << result.points << " points, "
                 << result.errors << " errors told");
            CHECK(result.points > 0);
            CHECK(result.faults == std::vector<std::string>{});
        }
    }
}

} // namespace

TEST_CASE("P9: every allocation of a follower fails") { expect_no_fault({Work::live}, 1); }
TEST_CASE("P9: allocations of a replay fail") { expect_no_fault({Work::replay}, 13); }
TEST_CASE("P9: allocations of a first start and rebuild fail") {
    expect_no_fault({Work::rebuild}, 17);
}

TEST_CASE("P9: a failure that there is no memory to tell ends no program", "[threads]") {
    Memory::install();
    const Files files{"memory"};
    test::make_database(files.path(), true);
    const bool for_good = GENERATE(false, true);
    bool broken = true;
    for (int n = 1; broken; ++n) {
        at::sqlite::Database database{files.path()};
        bool throwing = true;
        bool seen = false;
        at::Options options{.name = "teller"};
        std::string told;
        options.observer = [&](const at::Report& report) {
            if (report.moment == at::Moment::stopped) {
                if (!seen) { broken = Memory::broken() != 0; }
                seen = true;
                Memory::lift();
                return;
            }
            told = std::string(100, 'x') + std::string{report.message};
        };
        at::Pipeline pipeline{at::source<test::Order>(),
            [&](const at::Batch<test::Order>&, auto&) {
                if (!throwing) { return; }
                throwing = false;
                const std::string sentence(200, 'y');
                Memory::arm({Allocator::cpp, for_good}, n);
                throw std::runtime_error{sentence};
            },
            database, options};
        pipeline.start();
        REQUIRE(pipeline.await_idle(std::chrono::seconds{60}) == at::Awaited::stopped);
        REQUIRE(pipeline.status().state == at::State::failed);
        REQUIRE(pipeline.errors().size() == 1);
        REQUIRE(pipeline.errors().front().cause != nullptr);
        pipeline.start();
        REQUIRE(pipeline.await_idle(std::chrono::seconds{60}) == at::Awaited::idle);
        database.execute("DELETE FROM aftertouch_checkpoint");
        REQUIRE(n < 1000);
    }
}
