// SPDX-License-Identifier: MIT
// P4, P5: what a pipeline makes of a checkpoint that it can't read, or that is of another log.
#include <regex>

#include "shop.hpp"

using namespace contract;

namespace {

/// A database with a pipeline that has handled rows 1 and 2, and changes of row 2 that wait.
struct Shop {
    explicit Shop(Kind kind) : place{kind}, database{place.open()} {
        create_tables(database);
        add_orders(database, 1, 2);
        Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, database, quiet("copy")};
        pipeline.drain();
        change_order(database, 2, 7);
    }

    /// Starts "copy" again; what it was handed over.
    Texts go_on() {
        Diary diary;
        at::Options options = quiet("copy");
        options.observer = told.observer();
        Pipeline pipeline{
            at::source<Order>(), diary.handler(OnBatch{copy_rows}), database, options};
        pipeline.drain();
        CHECK(pipeline.drain() == 0);
        return diary.changes();
    }

    Place place;
    Database database;
    Told told;
};

const Texts everything{"P1", "P2"};

} // namespace

TEST_CASE("P5: a pipeline that began now rebuilds where its checkpoint is gone") {
    Place place{GENERATE(from_range(fixture::all_kinds()))};
    Database database{place.open()};
    create_tables(database);
    add_orders(database, 1, 2);
    Diary diary;
    at::Options options = quiet("copy");
    options.begin = at::Begin::now;
    Pipeline pipeline{at::source<Order>(), diary.handler(OnBatch{copy_rows}), database, options};
    pipeline.drain();
    CHECK(diary.changes().empty());
    at::remove(database, at::source<Order>());
    change_order(database, 2, 7); // nobody captures that
    pipeline.drain();
    CHECK(diary.changes() == everything);
}

TEST_CASE("P4: a checkpoint that can't be read is told, and leads to a rebuild") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    Shop shop{kind};
    const std::string right = fixture::checkpoint(shop.database, "copy");
    std::string wrong;
    SECTION("nothing") { wrong = ""; }
    SECTION("another language") { wrong = "{\"lsn\": 12}"; }
    SECTION("a later form") { wrong = "at2" + right.substr(3); }
    SECTION("cut off") { wrong = right.substr(0, right.size() / 2); }
    SECTION("something behind it") { wrong = right + " x"; }
    SECTION("a space behind it") { wrong = right + " "; }
    SECTION("two spaces") { wrong = std::regex_replace(right, std::regex{" G"}, "  G"); }
    SECTION("a position of another engine") {
        wrong = std::regex_replace(right, std::regex{" [^ ]+ G"}, " here! G");
    }
    SECTION("a huge position") {
        wrong = std::regex_replace(right, std::regex{" [^ ]+ G"}, " 99999999999999999999999999 G");
    }
    SECTION("bytes") { wrong = "\x01\xff at1 "; }
    INFO(fixture::name(kind) << ", " << wrong);
    REQUIRE(wrong != right);
    fixture::set_checkpoint(shop.database, "copy", wrong);
    CHECK(shop.go_on() == everything);
    CHECK(shop.told.times(at::Moment::checkpoint_unreadable) == 1);
    CHECK(copies(shop.database) == orders(shop.database));

    // That was the end of it.
    change_order(shop.database, 1, 3);
    CHECK(shop.go_on() == Texts{"U1"});
    CHECK(shop.told.times(at::Moment::checkpoint_unreadable) == 1);
}

TEST_CASE("P4: a checkpoint stays small, whatever was handled") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 3000);
    Pipeline pipeline{
        at::source<Order>(), [](const at::Batch<Order>&, Tx&) {}, shop, quiet("copy")};
    std::size_t longest = 0;
    while (pipeline.run_once()) {
        const std::string text = fixture::checkpoint(shop, "copy");
        longest = std::max(longest, text.size());
        const auto read = at::checkpoint_from(text);
        REQUIRE(read);
        CHECK(to_text(*read) == text);
        shop.execute("UPDATE \"order\" SET amount = amount + 1 WHERE id % 7 = 0 AND $1",
            pipeline.status().batches < 5);
    }
    CHECK(longest > 0);
    CHECK(longest < 200);
}

TEST_CASE("P5: a log that was made anew leads to a rebuild") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    Shop shop{kind};
    fixture::drop_log(shop.database);
    CHECK(shop.go_on() == everything);
    CHECK(shop.told.times(at::Moment::checkpoint_unusable) == 1);
    change_order(shop.database, 1, 3);
    CHECK(shop.go_on() == Texts{"U1"});
}

TEST_CASE("P5: a checkpoint of another log leads to a rebuild") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    Shop shop{kind};
    auto checkpoint = at::checkpoint_from(fixture::checkpoint(shop.database, "copy"));
    REQUIRE(checkpoint);
    checkpoint->log.front() = checkpoint->log.front() == '0' ? '1' : '0';
    fixture::set_checkpoint(shop.database, "copy", to_text(*checkpoint));
    CHECK(shop.go_on() == everything);
    CHECK(shop.told.times(at::Moment::checkpoint_unusable) == 1);
    CHECK(
        shop.told.says("another log or installation of the capture: every record is handed over"));
    CHECK(copies(shop.database) == orders(shop.database));
}

TEST_CASE("P5: a capture that was removed and installed again leads to a rebuild") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const bool others_stay = GENERATE(true, false);
    INFO(fixture::name(kind) << (others_stay ? ", beside another capture" : ", alone"));
    Shop shop{kind};
    if (others_stay) { at::install(shop.database, at::source<Copy>()); }
    const std::string before = fixture::checkpoint(shop.database, "copy");
    at::remove(shop.database, at::source<Order>());
    add_order(shop.database, 3); // nobody sees it
    at::install(shop.database, at::source<Order>());
    SECTION("with its checkpoint") {}
    SECTION("with the checkpoint of the former installation") {
        Pipeline pipeline{
            at::source<Order>(), [](const at::Batch<Order>&, Tx&) {}, shop.database, quiet("copy")};
        pipeline.drain();
        fixture::set_checkpoint(shop.database, "copy", before);
    }
    CHECK(shop.go_on() == Texts{"P1", "P2", "P3"});
    CHECK(copies(shop.database) == orders(shop.database));
}

TEST_CASE("P5: a log that was pruned past the checkpoint leads to a rebuild, and one pruned up to "
          "it doesn't") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    Shop shop{kind};
    CHECK(shop.go_on() == Texts{"U2"});
    fixture::prune(shop.database, "order");
    CHECK(shop.go_on().empty());
    change_order(shop.database, 2, 8);
    CHECK(shop.go_on() == Texts{"U2"});
    change_order(shop.database, 2, 9);
    fixture::prune(shop.database, "order");
    CHECK(shop.go_on() == everything);
    CHECK(shop.told.times(at::Moment::checkpoint_unusable) == 1);
    CHECK(copies(shop.database) == orders(shop.database));
}

TEST_CASE("P5: a running pipeline finds a log that was pruned past it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    Shop shop{kind};
    Diary diary;
    Pipeline pipeline{
        at::source<Order>(), diary.handler(OnBatch{copy_rows}), shop.database, quiet("copy")};
    pipeline.drain();
    diary.clear();
    change_order(shop.database, 2, 8);
    fixture::prune(shop.database, "order");
    change_order(shop.database, 1, 8);
    pipeline.drain();
    CHECK(diary.changes() == everything);
    CHECK(copies(shop.database) == orders(shop.database));
}

TEST_CASE("P5: a log whose numbers were set back leads to a rebuild") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const bool pruned_before = GENERATE(false, true);
    INFO(fixture::name(kind) << (pruned_before ? ", pruned before" : ""));
    Shop shop{kind};
    change_order(shop.database, 2, 8);
    CHECK(shop.go_on().size() == 2);
    if (pruned_before) { fixture::prune(shop.database, "order"); }
    fixture::set_log_back(shop.database);
    change_order(shop.database, 1, 8); // has a number that was handled already
    CHECK(shop.go_on() == everything);
    CHECK(shop.told.times(at::Moment::checkpoint_unusable) == 1);
    CHECK(copies(shop.database) == orders(shop.database));
}

TEST_CASE(
    "P5: a running pipeline survives a log that is made anew or set back, pruned before or not") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const bool pruned_before = GENERATE(false, true);
    const bool dropped = GENERATE(false, true);
    INFO(fixture::name(kind) << (pruned_before ? ", pruned before" : "")
                             << (dropped ? ", dropped" : ", set back"));
    Shop shop{kind};
    Diary diary;
    Pipeline pipeline{
        at::source<Order>(), diary.handler(OnBatch{copy_rows}), shop.database, quiet("copy")};
    for (int amount = 5; amount < 8; ++amount) { change_order(shop.database, 2, amount); }
    pipeline.drain();
    if (pruned_before) { fixture::prune(shop.database, "order"); }
    diary.clear();
    dropped ? fixture::drop_log(shop.database) : fixture::set_log_back(shop.database);
    if (!dropped) { change_order(shop.database, 1, 8); }
    for (int i = 0; i < 10 && pipeline.run_once(); ++i) {}
    CHECK(diary.changes() == everything);
    change_order(shop.database, 1, 9);
    for (int i = 0; i < 10 && pipeline.run_once(); ++i) {}
    CHECK(!pipeline.run_once());
    CHECK(shop.go_on().size() <= 2);
    CHECK(copies(shop.database) == orders(shop.database));
}

TEST_CASE("P5: a running pipeline finds a capture that was removed and installed again") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    const bool others_stay = GENERATE(true, false);
    INFO(fixture::name(kind) << (others_stay ? ", beside another capture" : ", alone"));
    Shop shop{kind};
    if (others_stay) { at::install(shop.database, at::source<Copy>()); }
    Diary diary;
    Pipeline pipeline{
        at::source<Order>(), diary.handler(OnBatch{copy_rows}), shop.database, quiet("copy")};
    pipeline.drain();
    diary.clear();
    at::remove(shop.database, at::source<Order>());
    add_order(shop.database, 3); // nobody sees it
    at::install(shop.database, at::source<Order>());
    for (int i = 0; i < 10 && pipeline.run_once(); ++i) {}
    CHECK(!pipeline.run_once());
    CHECK(diary.changes() == Texts{"P1", "P2", "P3"});
    CHECK(copies(shop.database) == orders(shop.database));
}

TEST_CASE("P5: pruning past a pipeline isn't hidden by what others left in the log") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    Shop shop{kind};
    at::install(shop.database, at::source<Copy>());
    Diary diary;
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop.database, quiet("copy")};
    pipeline.drain();
    diary.clear();
    change_order(shop.database, 1, 8);
    fixture::prune(shop.database, "order"); // by a program that waits for nobody
    shop.database.transaction([](Tx& tx) { tx.upsert(Copy{77, "of another capture", 0}); });
    pipeline.drain();
    CHECK(diary.changes() == everything);
}

TEST_CASE("P5: an older copy of the database, put back, takes its checkpoint along and goes on") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Diary diary;
    {
        Database shop{place.open()};
        create_tables(shop);
        Pipeline pipeline{at::source<Order>(), diary.handler(OnBatch{copy_rows}), shop, options};
        add_orders(shop, 1, 2);
        pipeline.drain();
        change_order(shop, 2, 7);
    }
    place.keep_copy();
    {
        Database shop{place.open()};
        Pipeline pipeline{at::source<Order>(), diary.handler(OnBatch{copy_rows}), shop, options};
        pipeline.drain();
        remove_order(shop, 1);
        pipeline.drain();
    }
    place.put_copy_back();
    diary.clear();
    Database shop{place.open()};
    Pipeline pipeline{at::source<Order>(), diary.handler(OnBatch{copy_rows}), shop, options};
    pipeline.drain();
    CHECK(diary.changes() == Texts{"U2"});
    CHECK(copies(shop) == orders(shop));
    CHECK(told.times(at::Moment::checkpoint_unusable) == 0);
}

TEST_CASE("P5: an unusable checkpoint raises the generation, so that rows handed over again have "
          "new idempotency keys") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    Shop shop{kind};
    const auto generation = [&] {
        return at::checkpoint_from(fixture::checkpoint(shop.database, "copy"))
            .value()
            .rebuild.generation;
    };
    const std::int64_t first = generation();
    change_order(shop.database, 2, 9);
    fixture::prune(shop.database, "order");
    CHECK(shop.go_on() == everything);
    CHECK(generation() > first);
}
