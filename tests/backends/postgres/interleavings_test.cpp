// SPDX-License-Identifier: MIT
// P1 to P3: two writers of one item, every order of their steps, and a reader that looks between
// any of them. There are 322,560 schedules; by day each 31st is played, by night each third.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>
#include <support/soak.hpp>

#include "schemes.hpp"

using namespace test;

namespace interleavings {

namespace {

/// What a writer does, in four steps. `$s` is the item that both write, `$o` one of its own, `$n` a
/// name for a prepared transaction, `$v` a version that the other one doesn't use.
struct Program {
    std::string_view name;
    std::array<std::string_view, 4> steps;
};

#define RAISE "UPDATE item SET version = version + 1 WHERE id = "
constexpr std::array<Program, 8> programs{{
    {"plain", {"BEGIN; INSERT INTO item VALUES ($o, 1)", RAISE "$s", RAISE "$o", "COMMIT"}},
    {"an id long before its first change",
        {"BEGIN; SELECT pg_current_xact_id()", RAISE "$s", RAISE "$s", "COMMIT"}},
    {"a savepoint, rolled back", {"BEGIN; INSERT INTO item VALUES ($o, 1); SAVEPOINT a", RAISE "$s",
                                     "ROLLBACK TO a; " RAISE "$o", "COMMIT"}},
    {"a savepoint and an exception block, kept",
        {"BEGIN; SAVEPOINT a",
            "DO $$ BEGIN " RAISE "$s; EXCEPTION WHEN division_by_zero THEN END $$",
            "RELEASE a; INSERT INTO item VALUES ($o, 1)", "COMMIT"}},
    {"prepared", {"BEGIN; " RAISE "$s", "INSERT INTO item VALUES ($o, 1)",
                     "PREPARE TRANSACTION '$n'", "COMMIT PREPARED '$n'"}},
    {"rolled back", {"BEGIN", RAISE "$s", "INSERT INTO item VALUES ($o, 1)", "ROLLBACK"}},
    {"repeatable read",
        {"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM item WHERE id = $s",
            RAISE "$s", "INSERT INTO item VALUES ($o, 1)", "COMMIT"}},
    {"deleted and inserted",
        {"BEGIN", "DELETE FROM item WHERE id = $s", "INSERT INTO item VALUES ($s, $v)", "COMMIT"}},
}};
#undef RAISE

/// One schedule: two programs, in which order their steps come, and behind which the reader looks.
struct Schedule {
    const Program* a;
    const Program* b;
    unsigned order; ///< bit i: step i is B's; four are
    unsigned looks; ///< bit i: the reader looks behind step i
};

std::vector<unsigned> orders() {
    std::vector<unsigned> found;
    for (unsigned order = 0; order < 256; ++order) {
        if (__builtin_popcount(order) == 4) { found.push_back(order); }
    }
    return found;
}

std::string filled(std::string_view step, int writer, std::int64_t schedule) {
    std::string sql{step};
    const std::string number = std::to_string(schedule);
    const std::string own = std::to_string(3 * schedule + 1 + writer);
    for (const auto& [hole, text] :
        {std::pair<std::string_view, std::string>{"$s", std::to_string(3 * schedule)}, {"$o", own},
            {"$n", "i" + std::to_string(getpid()) + "_" + own},
            {"$v", std::to_string(100 * (writer + 1))}}) {
        for (std::size_t at = 0; (at = sql.find(hole, at)) != std::string::npos;) {
            sql.replace(at, hole.size(), text);
        }
    }
    return sql;
}

/// A writer that goes through its program. A step that has to wait for the other writer is kept
/// back with those behind it, until it is answered.
class Writer {
public:
    Writer(Stage& stage, std::string name) : stage_{stage}, session_{stage.shop, std::move(name)} {}

    void step(std::string sql) {
        steps_.push_back(std::move(sql));
        go_on();
    }
    void go_on() {
        while (!steps_.empty()) {
            if (!is_sent_) { session_.send(steps_.front()); }
            is_sent_ = true;
            if (stage_.observer.waits(session_)) { return; }
            // A step may fail: for a key that is there, for a row that has changed.
            static_cast<void>(session_.answer());
            steps_.pop_front();
            is_sent_ = false;
        }
    }
    /// Whether every step is done; and what a failed one left.
    [[nodiscard]] bool is_done() const noexcept { return steps_.empty(); }
    void clean_up() {
        if (PQtransactionStatus(session_.native()) != PQTRANS_IDLE) { session_.run("ROLLBACK"); }
    }

private:
    Stage& stage_;
    Session session_;
    std::deque<std::string> steps_;
    bool is_sent_ = false;
};

/// Plays schedules one behind the other, each with items of its own.
class Player {
public:
    explicit Player(Stage& stage) : stage_{stage} {}

    /// `look` is called where the schedule says.
    template <class Look>
    void play(const Schedule& schedule, Look look) {
        ++played_;
        stage_.table.run("INSERT INTO item VALUES (" + std::to_string(3 * played_) + ", 1)");
        std::array<Writer*, 2> writers{&a_, &b_};
        std::array<std::size_t, 2> done{0, 0};
        for (unsigned i = 0; i < 8; ++i) {
            const std::size_t who = (schedule.order >> i) & 1U;
            const Program& program = who == 0 ? *schedule.a : *schedule.b;
            writers[who]->step(filled(program.steps[done[who]++], static_cast<int>(who), played_));
            writers[1 - who]->go_on();
            if (i < 7 && ((schedule.looks >> i) & 1U) != 0) { look(); }
        }
        REQUIRE(a_.is_done());
        REQUIRE(b_.is_done());
        a_.clean_up();
        b_.clean_up();
        look();
    }

private:
    Stage& stage_;
    Writer a_{stage_, "A"};
    Writer b_{stage_, "B"};
    std::int64_t played_ = 0;
};

std::string name_of(const Schedule& schedule) {
    std::string text =
        std::string{schedule.a->name} + " beside " + std::string{schedule.b->name} + ": ";
    for (unsigned i = 0; i < 8; ++i) {
        text += ((schedule.order >> i) & 1U) != 0 ? 'B' : 'A';
        text += i == 7 || ((schedule.looks >> i) & 1U) != 0 ? "| " : " ";
    }
    return text;
}

/// Of the schedules of one program beside itself and those behind it, every `stride`-th.
std::vector<Schedule> schedules_of(std::size_t program, std::size_t stride) {
    std::vector<Schedule> all;
    const std::vector<unsigned> which = orders();
    std::size_t place = chosen_seed() % stride;
    for (std::size_t other = program; other < programs.size(); ++other) {
        const std::size_t count = which.size() * 128;
        for (; place < count; place += stride) {
            all.push_back({&programs[program], &programs[other], which[place / 128],
                static_cast<unsigned>(place % 128)});
        }
        place -= count;
    }
    return all;
}

/// Odd, so that every place of the reader's looks is met.
std::size_t stride() { return is_night() ? 3 : 31; }

void play_all(std::size_t program) {
    Stage stage;
    Player player{stage};
    std::size_t played = 0;
    const std::vector<Schedule> schedules = schedules_of(program, stride());
    for (const Schedule& schedule : schedules) {
        player.play(schedule, [&] { stage.ours.poll(); });
        ++played;
        // The whole table is compared now and then; the order of each item's changes always is.
        const bool is_time = played % (schedules.size() / 8 + 1) == 0 || played == schedules.size();
        const bool is_right =
            stage.ours.ledger().in_order() && (!is_time || stage.verdict().empty());
        if (!is_right) { FAIL(name_of(schedule) << " (or one before): " << stage.verdict()); }
    }
    CHECK(stage.ours.ledger().ids().size() > 2 * played);
}

} // namespace

TEST_CASE("P1, P2: every order of two writers, one of them plain", "[slow]") { play_all(0); }
TEST_CASE("P1, P2: every order of two writers, one with an id long before its changes", "[slow]") {
    play_all(1);
}
TEST_CASE("P1, P2: every order of two writers, one with a savepoint rolled back", "[slow]") {
    play_all(2);
}
TEST_CASE("P1, P2: every order of two writers, one with subtransactions kept", "[slow]") {
    play_all(3);
}
TEST_CASE("P1, P2: every order of two writers, one prepared", "[slow]") { play_all(4); }
TEST_CASE("P1, P2: every order of two writers, one rolled back", "[slow]") { play_all(5); }
TEST_CASE(
    "P1, P2: every order of two writers that read repeatably, or delete and insert", "[slow]") {
    play_all(6);
    play_all(7);
}

// But for windows between two horizons: those need a bystander, and have a schedule of their own.
TEST_CASE("P1, P2: the same schedules catch other ways to follow a log") {
    Stage stage;
    Player player{stage};
    Scheme control{stage.shop, Rule::window};
    std::array<Scheme, 5> others{Scheme{stage.shop, Rule::number},
        Scheme{stage.shop, Rule::number_below_horizon}, Scheme{stage.shop, Rule::transaction},
        Scheme{stage.shop, Rule::row_version}, Scheme{stage.shop, Rule::bound_before}};
    std::vector<Schedule> schedules;
    for (const std::size_t program : {0U, 1U, 3U}) {
        const auto some = schedules_of(program, 1499);
        schedules.insert(schedules.end(), some.begin(), some.end());
    }
    for (const Schedule& schedule : schedules) {
        player.play(schedule, [&] {
            stage.ours.poll();
            control.poll();
            for (Scheme& other : others) { other.poll(); }
        });
    }
    CHECK(stage.verdict().empty());
    CHECK(control.verdict(stage.table).empty());
    for (std::size_t i = 0; i < others.size(); ++i) {
        INFO("rule " << i);
        CHECK(!others[i].verdict(stage.table).empty());
    }
}

} // namespace interleavings
