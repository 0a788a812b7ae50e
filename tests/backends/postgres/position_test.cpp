// SPDX-License-Identifier: MIT
#include <cstdint>
#include <random>
#include <string>

#include <support/catch.hpp>

#include <aftertouch/postgres/position.hpp>

namespace position {

using namespace aftertouch::postgres;

TEST_CASE("postgres: a snapshot's text is read as it is written, and no other text is") {
    for (const std::string text : {"1:1:", "10:20:", "10:20:10,14,19", "739:739:"}) {
        const auto snapshot = Snapshot::from(text);
        REQUIRE(snapshot);
        CHECK(snapshot->text() == text);
    }
    for (const char* text : {"", ":", "::", "0:1:", "20:10:", "10:20", "10:20:9", "10:20:20",
             "10:20:14,12", "10:20:12,12", "10:20:12,", "10:20:,12",
             "10:20:12:", " 10:20:", "010:20:", "10:20:x", "-1:20:", "10:99999999999999999999:"}) {
        INFO(text);
        CHECK(!Snapshot::from(text));
    }
}

TEST_CASE("postgres: a snapshot sees what had ended") {
    const Snapshot snapshot = *Snapshot::from("10:20:12,15");
    CHECK(snapshot.sees(9));
    CHECK(snapshot.sees(11));
    CHECK(snapshot.sees(19));
    CHECK(!snapshot.sees(12));
    CHECK(!snapshot.sees(15));
    CHECK(!snapshot.sees(20));
    CHECK(snapshot.has_ended_in(*Snapshot::from("12:20:12")));
    CHECK(!snapshot.has_ended_in(*Snapshot::from("12:21:12,15")));
    CHECK(!snapshot.has_ended_in(snapshot));
}

TEST_CASE("P4: a position of PostgreSQL has one text") {
    for (const std::string text :
        {"10-20-10,14_7", "10-20-_0", "10-20-12_7_12-25-_9_8.0", "10-20-_7_12-25-14_9_8.499"}) {
        INFO(text);
        const auto position = Position::from(text);
        REQUIRE(position);
        CHECK(position->text() == text);
    }
    for (const char* text : {"", "7", "10-20-_", "10-20-_7_", "10-20-_7_12-25-_9_8",
             "10-20-_7_12-25-_9_8.", "10-20-_7_12-25-_9_8.0_", "10-20-_07", "10:20:_7", "10-20-_7 ",
             "10-20-_-7", "10-20-_7_12-25-_9_8.4999999999"}) {
        INFO(text);
        CHECK(!Position::from(text));
    }
}

TEST_CASE(
    "K2: positions with the same numbers are one place, whatever transactions ended between") {
    CHECK(*Position::from("10-20-12_7") == *Position::from("21-21-_7"));
    CHECK(!(*Position::from("10-20-_7") == *Position::from("10-20-_8")));
    CHECK(!(*Position::from("10-20-_7") == *Position::from("10-20-_7_12-25-_9_8.0")));
    CHECK(*Position::from("10-20-12_7") < *Position::from("21-21-_7"));
    CHECK(!(*Position::from("10-20-_7") < *Position::from("21-21-_7")));
    CHECK(*Position::from("10-20-_7") < *Position::from("21-21-_8"));
    CHECK(!(Position{} < Position{}));
}

TEST_CASE("P1: marks keep the lowest that is needed, and sixteen at most") {
    Marks marks;
    for (std::uint64_t xid = 100; xid < 200; ++xid) {
        marks.add({xid, static_cast<std::int64_t>(xid) * 2});
        marks.trim(*Snapshot::from("110:300:110"));
        CHECK(marks.all().size() <= Marks::most);
    }
    CHECK(marks.all().front() == Mark{110, 220});
    CHECK(marks.all().back() == Mark{199, 398});
    CHECK(Marks::from(marks.text()).all() == marks.all());
    CHECK(Marks::from("1.2,x").empty());
    marks.trim(*Snapshot::from("300:300:"));
    CHECK(marks.all() == std::vector<Mark>{{199, 398}});
    CHECK(marks.arrays() == std::pair<std::string, std::string>{"{199}", "{398}"});
}

TEST_CASE("P1: a search begins where the oldest of what is new may have begun") {
    Marks marks;
    CHECK(marks.search_begin({10, 20, {}}, {30, 30, {}}) == 0); // nothing is known
    for (const Mark mark : {Mark{5, 50}, Mark{12, 60}, Mark{20, 70}, Mark{25, 80}}) {
        marks.add(mark);
    }
    CHECK(marks.search_begin({20, 20, {}}, {30, 30, {}}) == 70);
    CHECK(marks.search_begin({12, 20, {12, 14}}, {12, 30, {12, 14}}) == 70); // they still run
    CHECK(marks.search_begin({12, 20, {12, 14}}, {12, 30, {12}}) == 60);     // 14 has ended
    CHECK(marks.search_begin({8, 20, {8}}, {30, 30, {}}) == 50);
    CHECK(marks.search_begin({3, 4, {}}, {30, 30, {}}) == 0);
}

TEST_CASE("P5: a snapshot sees all of another one, or not") {
    const Snapshot seen{10, 20, {10, 15}};
    CHECK(seen.sees_all_of({10, 20, {10, 15}}));
    CHECK(seen.sees_all_of({10, 16, {10, 15}}));
    CHECK(seen.sees_all_of({9, 12, {9, 10}}));
    CHECK_FALSE(seen.sees_all_of({16, 20, {}}));       // 10 and 15 have ended in it
    CHECK_FALSE(seen.sees_all_of({15, 20, {15}}));     // 10 has
    CHECK_FALSE(seen.sees_all_of({10, 21, {10, 15}})); // 20 may have
}

TEST_CASE("L2: a place is reopened in the window of the read that went on from it") {
    const auto reopened = [](const char* from, const char* to) {
        return Position::from(from)->reopened(*Position::from(to)).text();
    };
    // Between windows: that of the other place, or the one which that has passed; from its
    // beginning.
    CHECK(reopened("10-20-12_7", "10-20-12_7_14-25-15_9_8.2") == "10-20-12_7_14-25-15_9_0.0");
    CHECK(reopened("10-20-12_7", "14-25-15_9") == "10-20-12_7_14-25-15_9_0.0");
    // Inside of one it is that one still.
    CHECK(reopened("10-20-12_7_14-25-15_9_8.2", "10-20-12_7_14-25-15_9_9.0") ==
          "10-20-12_7_14-25-15_9_8.2");
    CHECK(reopened("10-20-12_7_14-25-15_9_8.2", "14-25-15_9") == "10-20-12_7_14-25-15_9_8.2");
}

namespace {

// What transaction `xid` wrote under number `seq`, one key a row.
bool is_handled(const Position& at, std::uint64_t xid, std::int64_t seq) {
    if (at.seen.sees(xid)) { return true; }
    return at.window && at.window->until.sees(xid) &&
           (seq < at.window->seq || (seq == at.window->seq && at.window->item == 0));
}

Snapshot any_snapshot(std::mt19937& random) {
    Snapshot snapshot{0, 1 + random() % 8U, {}};
    for (std::uint64_t xid = 1; xid < snapshot.xmax; ++xid) {
        if (random() % 3U == 0) { snapshot.running.push_back(xid); }
    }
    snapshot.xmin = snapshot.running.empty() ? snapshot.xmax : snapshot.running.front();
    return snapshot;
}

Position any_position(std::mt19937& random, const Snapshot& often) {
    const auto snapshot = [&] { return random() % 3U == 0 ? often : any_snapshot(random); };
    Position position{snapshot(), 9, {}};
    if (random() % 2U == 0) {
        position.window = Position::Window{snapshot(), 9, static_cast<std::int64_t>(random() % 4U),
            static_cast<std::int32_t>(random() % 3U)};
    }
    return position;
}

} // namespace

TEST_CASE("R4: what two places have in common is handled at both") {
    std::mt19937 random{5};
    for (int turn = 0; turn < 20'000; ++turn) {
        const Snapshot often = any_snapshot(random);
        const Position a = any_position(random, often);
        const Position b = any_position(random, often);
        const Position both = a.in_common(b);
        INFO(a.text() << " and " << b.text() << ": " << both.text());
        REQUIRE(Position::from(both.text()));
        for (std::uint64_t xid = 1; xid < 9; ++xid) {
            for (std::int64_t seq = 0; seq < 4; ++seq) {
                const bool one = is_handled(both, xid, seq);
                REQUIRE((!one || (is_handled(a, xid, seq) && is_handled(b, xid, seq))));
            }
        }
        if (b.seen.sees_all_of(a.seen) && (!a.window || b.seen.sees_all_of(a.window->until))) {
            REQUIRE(both.text() == a.text()); // b is behind it
        }
        REQUIRE(a.in_common(a).text() == a.text());
    }
    const Position early = *Position::from("10-20-_7_12-25-_9_8.3");
    const Position late = *Position::from("10-20-_7_12-25-_9_8.0");
    CHECK(early.in_common(late).text() == early.text());
    CHECK(late.in_common(early).text() == early.text());
}

} // namespace position
