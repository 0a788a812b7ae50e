// SPDX-License-Identifier: MIT
// F3: a record whose attempts are used up is set aside as a dead letter, with what follows it where
// order counts; the others are handled; it is released or discarded.
#include <map>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <stdexcept>

#include <support/soak.hpp>

#include "shop.hpp"

using namespace contract;
using namespace std::chrono_literals;

namespace letters {

/// What a handler was told, in order.
struct Heard {
    std::int64_t number = 0;
    std::int64_t id = 0;
    double amount = 0;
};

/// A source whose key is a text.
struct Page {
    std::string title;
    double hits = 0;
};

/// One whose key is a day, which SQLite stores as a text.
struct Day {
    std::chrono::sys_days day;
    double amount = 0;
};

/// One that can't be copied.
struct Note {
    std::int64_t id = 0;
    std::unique_ptr<std::string> text;
};

} // namespace letters

template <>
struct aftertouch::EntityTraits<letters::Heard> {
    static constexpr auto key = aftertouch::key<&letters::Heard::number>;
};
template <>
struct aftertouch::EntityTraits<letters::Page> {
    static constexpr auto key = aftertouch::key<&letters::Page::title>;
};
template <>
struct aftertouch::EntityTraits<letters::Day> {
    static constexpr auto key = aftertouch::key<&letters::Day::day>;
};
template <>
struct aftertouch::Codec<std::unique_ptr<std::string>> {
    static std::string encode(const std::unique_ptr<std::string>& text) {
        return text ? *text : std::string{};
    }
    static std::unique_ptr<std::string> decode(std::string text) {
        return std::make_unique<std::string>(std::move(text));
    }
};

namespace {

/// Says that it can't handle some keys, and which changes of the others it was given.
struct Picky {
    std::set<std::int64_t> refused;
    Texts handled{};
    int calls = 0;

    OnBatch handler() {
        return [this](const at::Batch<Order>& batch, Tx& tx) {
            ++calls;
            copy_rows(batch, tx);
            for (const std::int64_t id : batch.ids()) {
                if (refused.contains(id)) { throw std::runtime_error{"the index refuses it"}; }
            }
            for (const at::Change<Order>& change : batch.changes()) {
                const Order* image = change.after() != nullptr ? change.after() : change.before();
                handled.push_back(
                    text_of(change) +
                    (image == nullptr ? std::string{}
                                      : ":" + std::to_string(static_cast<int>(image->amount))));
            }
        };
    }
};

at::Options parking(std::int64_t attempts = 1) {
    at::Options options = quiet("copy");
    options.retry = {.attempts = attempts, .pause = 0ms, .then = at::Then::park};
    return options;
}

Texts records(const std::vector<at::DeadLetter>& letters) {
    Texts all;
    for (const at::DeadLetter& letter : letters) {
        all.push_back(letter.operation + " " + letter.record + " " +
                      std::to_string(letter.attempts) + (letter.error.empty() ? "" : "!"));
    }
    return all;
}

} // namespace

TEST_CASE("F3: the record at fault is set aside, and the others of its batch are handled") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Told told;
    at::Options options = parking();
    options.observer = told.observer();
    Picky target{{77}};
    Pipeline pipeline{at::source<Order>(), target.handler(), shop, options};
    pipeline.drain();
    add_orders(shop, 1, 200);
    pipeline.drain();

    CHECK(copies(shop).size() == 199);
    CHECK(target.calls <= 1 + 2 * 9); // halves of 200, down to one
    const auto letters = pipeline.dead_letters();
    REQUIRE(records(letters) == Texts{"inserted 77 1!"});
    CHECK(letters.front().error == "the index refuses it");
    CHECK(letters.front().parked_at > std::chrono::system_clock::now() - 1min);
    CHECK_FALSE(letters.front().released);
    CHECK(pipeline.status().dead_letters == 1);
    CHECK(told.times(at::Moment::record_parked) == 1);
    CHECK(pipeline.errors().empty());

    SECTION("its next touch tries it again, and it is no dead letter any more") {
        change_order(shop, 77, 5);
        pipeline.drain();
        CHECK(records(pipeline.dead_letters()) == Texts{"inserted 77 2!", "updated 77 0"});
        target.refused.clear();
        change_order(shop, 77, 6);
        pipeline.drain();
        CHECK(pipeline.dead_letters().empty());
        CHECK(copies(shop) == orders(shop));
    }
    SECTION("released, it is read and handed over again") {
        change_order(shop, 1, 7);
        target.refused.clear();
        CHECK(pipeline.release(77) == 1);
        pipeline.drain();
        CHECK(pipeline.dead_letters().empty());
        CHECK(copies(shop) == orders(shop));
    }
    SECTION("released in vain, it is set aside once more, and the pipeline goes on") {
        CHECK(pipeline.release() == 1);
        add_order(shop, 300);
        pipeline.drain();
        CHECK(records(pipeline.dead_letters()) == Texts{"inserted 77 2!"});
        CHECK(copies(shop).size() == 200);
        CHECK(pipeline.drain() == 0);
    }
    SECTION("discarded, it is forgotten") {
        CHECK(pipeline.discard(76) == 0);
        CHECK(pipeline.discard(77) == 1);
        CHECK(pipeline.dead_letters().empty());
        CHECK(pipeline.drain() == 0);
        CHECK(copies(shop).size() == 199);
    }
}

TEST_CASE("F3: with images, what follows a record that is set aside waits behind it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Picky target{{2}};
    const auto open = [&] {
        return std::make_unique<ImagePipeline>(
            at::source<Order>().images(), target.handler(), shop, parking());
    };
    auto pipeline = open();
    pipeline->drain();
    add_orders(shop, 1, 3);
    change_order(shop, 2, 20);
    pipeline->drain();
    CHECK(target.handled == Texts{"I1:1", "I3:3"});
    CHECK(records(pipeline->dead_letters()) == Texts{"inserted 2 1!", "updated 2 0"});

    target.refused.clear(); // the cause is gone, but it still waits for its release
    pipeline = open();      // so it does behind a restart
    change_order(shop, 2, 21);
    change_order(shop, 3, 30);
    remove_order(shop, 2);
    pipeline->drain();
    CHECK(target.handled == Texts{"I1:1", "I3:3", "U3:30"});
    CHECK(pipeline->dead_letters().size() == 4);

    add_order(shop, 2);
    CHECK(pipeline->release(pipeline->dead_letters().front()) == 4);
    pipeline->drain();
    CHECK(target.handled ==
          Texts{"I1:1", "I3:3", "U3:30", "I2:2", "U2:20", "U2:21", "D2:21", "I2:2"});
    CHECK(pipeline->dead_letters().empty());
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F3: a record that was set aside before costs the others no attempt") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Picky target{{1}};
    Pipeline pipeline{at::source<Order>(), target.handler(), shop, parking(3)};
    pipeline.drain();
    add_orders(shop, 1, 2);
    CHECK_THROWS(pipeline.drain());
    CHECK_THROWS(pipeline.drain());
    CHECK(pipeline.drain() == 1);
    CHECK(records(pipeline.dead_letters()) == Texts{"inserted 1 3!"});
    SECTION("it fails once more, alone") {
        add_order(shop, 3);
        change_order(shop, 1, 5);
        CHECK(pipeline.drain() == 2); // and its letters
        CHECK(records(pipeline.dead_letters()) == Texts{"inserted 1 4!", "updated 1 0"});
        CHECK(copies(shop).size() == 2);
    }
    SECTION("another one beside it has all its attempts") {
        target.refused.insert(3);
        add_order(shop, 3);
        change_order(shop, 1, 5);
        CHECK_THROWS(pipeline.drain());
        CHECK_THROWS(pipeline.drain());
        CHECK(pipeline.drain() == 2);
        CHECK(records(pipeline.dead_letters()) ==
              Texts{"inserted 1 4!", "inserted 3 3!", "updated 1 0"});
    }
}

TEST_CASE("F3: an error's words are kept as far as a database takes them") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    struct Rude : std::exception {
        std::string words;
        explicit Rude(std::string said) : words{std::move(said)} {}
        [[nodiscard]] const char* what() const noexcept override { return words.c_str(); }
    };
    Pipeline pipeline{at::source<Order>(),
        [](const at::Batch<Order>& batch, Tx&) {
            const std::int64_t id = batch.ids().front();
            if (id == 1) { throw Rude{"caf\xc3\xa9 \xff\xc3"}; }
            if (id == 2) { throw Rude{std::string(100'000, 'x')}; }
            if (id == 3) { throw 42; }
        },
        shop, parking()};
    pipeline.drain();
    for (std::int64_t id = 1; id <= 3; ++id) {
        add_order(shop, id);
        pipeline.drain();
    }
    const auto letters = pipeline.dead_letters();
    REQUIRE(letters.size() == 3);
    CHECK(letters[0].error == "caf\xc3\xa9 ??");
    CHECK(letters[1].error == std::string(4000, 'x'));
    CHECK(letters[2].error == "the handler threw something that is no std::exception");
}

TEST_CASE("F3: without images too, a handler learns what happened to a record that was set aside") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    bool broken = false;
    at::Pipeline pipeline{at::source<Order>(),
        [&](const at::Change<Order>& change, Tx& tx) {
            if (broken) { throw std::runtime_error{"no"}; }
            if (change.operation() == Operation::inserted) { tx.upsert(Copy{change.key(), "", 0}); }
            if (change.operation() == Operation::deleted) {
                tx.erase(at::type<Copy>, change.key());
            }
        },
        shop, parking()};
    pipeline.drain();
    add_orders(shop, 1, 2);
    pipeline.drain();
    broken = true;
    remove_order(shop, 1);
    add_order(shop, 3);
    pipeline.drain();
    CHECK(records(pipeline.dead_letters()) == Texts{"deleted 1 1!", "inserted 3 1!"});
    broken = false;
    SECTION("released") { pipeline.release(); }
    SECTION("touched again") {
        change_order(shop, 3, 5);
        pipeline.drain();
        CHECK(records(pipeline.dead_letters()) == Texts{"deleted 1 1!"});
        pipeline.release(1);
    }
    pipeline.drain();
    CHECK(pipeline.dead_letters().empty());
    std::vector<std::int64_t> ids;
    for (const Copy& copy : copies(shop)) { ids.push_back(copy.id); }
    CHECK(ids == Ids{2, 3});
}

TEST_CASE("F3: with images, the first change can be given up, and the rest released") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Picky target{{2}};
    ImagePipeline pipeline{at::source<Order>().images(), target.handler(), shop, parking()};
    pipeline.drain();
    add_order(shop, 2);
    change_order(shop, 2, 20);
    pipeline.drain();
    CHECK(pipeline.discard(pipeline.dead_letters().front()) == 1);
    target.refused.clear();
    pipeline.release(2);
    pipeline.drain();
    CHECK(target.handled == Texts{"U2:20"});
    CHECK(pipeline.dead_letters().empty());
}

TEST_CASE("F3: a DBA releases by SQL, and a running pipeline notices", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<bool> broken{true};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            if (broken) { throw std::runtime_error{"no"}; }
        },
        shop, parking()};
    pipeline.start();
    add_order(shop, 1);
    CHECK(pipeline.await_idle(30s) == at::Awaited::idle);
    REQUIRE(pipeline.dead_letters().size() == 1);
    broken = false;
    shop.execute("UPDATE " + fixture::own_table("dead_letter") +
                 " SET released = TRUE WHERE pipeline = 'copy' AND record = '1'");
    while (!pipeline.dead_letters().empty() && !pipeline.stopped()) {
        std::this_thread::sleep_for(5ms);
    }
    CHECK(copies(shop) == orders(shop));
    pipeline.stop();
}

TEST_CASE("F3: rows of a rebuild are set aside and released like changes") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 30);
    at::Options options = parking();
    options.batch_size = 7;
    SECTION("with images") {
        Picky target{{8, 20}};
        ImagePipeline pipeline{at::source<Order>().images(), target.handler(), shop, options};
        pipeline.drain();
        CHECK(records(pipeline.dead_letters()) == Texts{"present 8 1!", "present 20 1!"});
        CHECK(copies(shop).size() == 28);
        change_order(shop, 8, 80);
        pipeline.drain();
        target.refused.clear();
        target.handled.clear();
        CHECK(pipeline.release() == 3);
        pipeline.drain();
        CHECK(target.handled == Texts{"P8:8", "P20:20", "U8:80"});
        CHECK(copies(shop) == orders(shop));
    }
    SECTION("without") {
        Picky target{{8, 20}};
        Pipeline pipeline{at::source<Order>(), target.handler(), shop, options};
        pipeline.drain();
        CHECK(records(pipeline.dead_letters()) == Texts{"touched 8 1!", "touched 20 1!"});
        target.refused.clear();
        pipeline.release();
        pipeline.drain();
        CHECK(copies(shop) == orders(shop));
        CHECK(pipeline.dead_letters().empty());
    }
}

TEST_CASE("F3: a letter that is discarded while a handler runs takes no later touch with it") {
    if (fixture::writers_wait) {
        SUCCEED("nobody discards one meanwhile: writers wait for the batch");
        return;
    }
    const Place place{fixture::shared_kinds().front()};
    Database shop{place.open()};
    Database other{place.open()};
    create_tables(shop);
    bool broken = true;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            if (broken && !batch.ids().empty()) { throw std::runtime_error{"no"}; }
            if (batch.ids().size() == 1 && batch.ids().front() == 3) {
                other.execute("DELETE FROM " + fixture::own_table("dead_letter"));
            }
        },
        shop, parking()};
    add_order(shop, 2);
    broken = false;
    pipeline.drain();
    broken = true;
    change_order(shop, 2, 20);
    pipeline.drain();
    CHECK(records(pipeline.dead_letters()) == Texts{"updated 2 1!"});
    broken = false;
    change_order(shop, 2, 21);
    add_order(shop, 3);
    pipeline.drain();
    CHECK(pipeline.dead_letters().empty());
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F3: a rebuild that makes its target anew leaves no letter of before") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    bool broken = true;
    at::Pipeline pipeline{at::source<Order>().images(),
        at::handle(
            at::on_rebuild_started([](std::int64_t, Tx& tx) { tx.execute("DELETE FROM copy"); }),
            at::on_batch([&](const at::Batch<Order>& batch, Tx& tx) {
                copy_rows(batch, tx);
                if (broken) { throw std::runtime_error{"no"}; }
            })),
        shop, parking()};
    pipeline.drain();
    add_orders(shop, 1, 3);
    pipeline.drain();
    CHECK(pipeline.dead_letters().size() == 3);
    broken = false;
    pipeline.rebuild();
    pipeline.drain();
    CHECK(pipeline.dead_letters().empty());
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F3: where there would be too many, the pipeline stops instead, and says so") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = parking();
    options.dead_letters = 3;
    Picky target{{1, 2, 3, 4}};
    Pipeline pipeline{at::source<Order>(), target.handler(), shop, options};
    pipeline.drain();
    add_orders(shop, 1, 3);
    pipeline.drain();
    CHECK(pipeline.dead_letters().size() == 3);
    add_orders(shop, 4, 5);
    CHECK_THROWS_SAYING(pipeline.drain(), at::Error,
        "as many dead letters as Options::dead_letters allows (3): mend what fails, and release or "
        "discard them; one more would be there for: the index refuses it");
    CHECK(copies(shop).empty());
    pipeline.discard();
    pipeline.drain();
    CHECK(records(pipeline.dead_letters()) == Texts{"inserted 4 2!"});
    CHECK(copies(shop).size() == 1);
}

TEST_CASE("F3: what a record's handler wrote before it failed isn't kept") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline pipeline{at::source<Order>(),
        [](const at::Batch<Order>& batch, Tx& tx) {
            for (const Order& now : batch.records()) {
                tx.insert(Copy{now.id, now.customer, now.amount});
                if (now.id % 10 ==
                    3) { // an error of the database, which ends PostgreSQL's transaction
                    tx.execute(
                        "INSERT INTO copy (id, customer, amount) VALUES ($1, 'x', 1)", now.id);
                }
                if (now.id % 10 == 4) { // one that is swallowed
                    try {
                        tx.execute("INSERT INTO nowhere VALUES (1)");
                    } catch (const at::Error&) { continue; }
                }
            }
        },
        shop, parking()};
    pipeline.drain();
    add_orders(shop, 1, 100);
    pipeline.drain();
    CHECK(copies(shop).size() + pipeline.dead_letters().size() == 100);
    CHECK(pipeline.dead_letters().size() == (fixture::errors_end_transactions ? 20 : 10));
}

TEST_CASE("F3: ten per cent of poison end in ten per cent of dead letters, and the rest is right") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 2000);
    const auto even_poison = [](const at::Batch<Order>& batch, Tx& tx) {
        copy_rows(batch, tx);
        for (const std::int64_t id : batch.ids()) {
            if (id % 10 == 0) { throw std::runtime_error{"no"}; }
        }
    };
    ImagePipeline pipeline{at::source<Order>().images(), even_poison, shop, parking()};
    pipeline.drain();
    CHECK(pipeline.dead_letters().size() == 200);
    CHECK(copies(shop).size() == 1800);
}

TEST_CASE(
    "F3: whatever is set aside, released and given up, a record's changes come once, in order") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const std::uint64_t seed = test::chosen_seed();
    INFO("seed " << seed);
    std::mt19937_64 random{seed};
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    shop.create_table<letters::Heard>();
    std::set<std::int64_t> poison;
    std::int64_t number = 0;
    const auto open = [&] {
        at::Options options = parking(1 + static_cast<std::int64_t>(random() % 2));
        options.batch_size = 1 + random() % 20;
        return std::make_unique<ImagePipeline>(
            at::source<Order>().images(),
            [&](const at::Batch<Order>& batch, Tx& tx) {
                for (const at::Change<Order>& change : batch.changes()) {
                    tx.insert(letters::Heard{++number, change.key(), change.after()->amount});
                    if (poison.contains(change.key())) { throw std::runtime_error{"poison"}; }
                }
            },
            shop, options);
    };
    auto pipeline = open();
    pipeline->drain();
    const auto follow = [&] {
        for (bool done = false; !done;) {
            try {
                pipeline->drain();
                done = true;
            } catch (const std::runtime_error&) {} // an attempt
        }
    };
    std::map<std::int64_t, std::vector<double>> written;
    double amount = 0;
    for (int step = 0; step < (test::is_night() ? 3000 : 150); ++step) {
        const auto id = static_cast<std::int64_t>(random() % 8);
        switch (random() % 8) {
            case 0: poison.insert(id); break;
            case 1: poison.erase(id); break;
            case 2: pipeline->release(id); break;
            case 3: pipeline = open(); break;
            case 4: follow(); break;
            default:
                for (std::size_t i = random() % 4 + 1; i > 0; --i) {
                    ++amount;
                    if (written[id].empty()) {
                        shop.transaction([&](Tx& tx) { tx.insert(Order{id, "ada", amount}); });
                    } else {
                        change_order(shop, id, amount);
                    }
                    written[id].push_back(amount);
                }
        }
    }
    poison.clear();
    follow();
    pipeline->release();
    follow();
    CHECK(pipeline->dead_letters().empty());
    std::map<std::int64_t, std::vector<double>> heard;
    for (const auto& one : shop.query(
             at::type<letters::Heard>, "SELECT number, id, amount FROM heard ORDER BY number")) {
        heard[one.id].push_back(one.amount);
    }
    CHECK(heard == written);
}

TEST_CASE("F3: a record whose first letter fails again keeps the others behind it, however many") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    at::Options options = parking();
    options.batch_size = 1;
    Texts handled;
    bool broken = true;
    ImagePipeline pipeline{at::source<Order>().images(),
        [&](const at::Batch<Order>& batch, Tx&) {
            for (const at::Change<Order>& change : batch.changes()) {
                if (broken && change.operation() == Operation::inserted) {
                    throw std::runtime_error{"no new ones"};
                }
                handled.push_back(text_of(change));
            }
        },
        shop, options};
    pipeline.drain();
    add_order(shop, 2);
    change_order(shop, 2, 20);
    change_order(shop, 2, 21);
    pipeline.drain();
    pipeline.release();
    pipeline.drain();
    CHECK(handled.empty());
    CHECK(records(pipeline.dead_letters()) == Texts{"inserted 2 2!", "updated 2 0", "updated 2 0"});
    broken = false;
    pipeline.release();
    pipeline.drain();
    CHECK(handled == Texts{"I2", "U2", "U2"});
}

TEST_CASE("F3: what a DBA releases or discards counts at once") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Picky target{{2}};
    SECTION("released, before a change of the same record: with images, both are handed over") {
        ImagePipeline pipeline{at::source<Order>().images(), target.handler(), shop, parking()};
        pipeline.drain();
        add_order(shop, 2);
        pipeline.drain();
        REQUIRE(pipeline.dead_letters().size() == 1);
        target.refused.clear();
        shop.execute("UPDATE " + fixture::own_table("dead_letter") +
                     " SET released = TRUE WHERE pipeline = 'copy' AND record = '2'");
        change_order(shop, 2, 20);
        pipeline.drain();
        pipeline.drain();
        CHECK(target.handled == Texts{"I2:2", "U2:20"});
        CHECK(pipeline.dead_letters().empty());
    }
    SECTION(
        "released in part, the second of a record's changes alone: all of them come, in order") {
        ImagePipeline pipeline{at::source<Order>().images(), target.handler(), shop, parking()};
        pipeline.drain();
        add_order(shop, 2);
        change_order(shop, 2, 20);
        change_order(shop, 2, 21);
        pipeline.drain();
        target.refused.clear();
        shop.execute(
            "UPDATE " + fixture::own_table("dead_letter") + " SET released = TRUE WHERE id = $1",
            pipeline.dead_letters()[1].id);
        pipeline.release(3); // nothing, but it looks
        pipeline.drain();
        CHECK(target.handled == Texts{"I2:2", "U2:20", "U2:21"});
        CHECK(pipeline.dead_letters().empty());
    }
    SECTION("discarded, before a change that fails too: that one is set aside") {
        Pipeline pipeline{at::source<Order>(), target.handler(), shop, parking()};
        pipeline.drain();
        add_order(shop, 2);
        pipeline.drain();
        shop.execute("DELETE FROM " + fixture::own_table("dead_letter"));
        change_order(shop, 2, 20);
        pipeline.drain();
        CHECK(records(pipeline.dead_letters()) == Texts{"updated 2 1!"});
    }
}

TEST_CASE("F3: no record is set aside before its own attempts are used up") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    int failures = 0;
    ImagePipeline pipeline{at::source<Order>().images(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            for (const std::int64_t id : batch.ids()) {
                if (id == 2 || (id == 3 && failures-- > 0)) { throw std::runtime_error{"no"}; }
            }
        },
        shop, parking(3)};
    pipeline.drain();
    add_order(shop, 2);
    CHECK_THROWS(pipeline.drain());
    CHECK_THROWS(pipeline.drain());
    pipeline.drain();
    REQUIRE(records(pipeline.dead_letters()) == Texts{"inserted 2 3!"});
    failures = 1;
    change_order(shop, 2, 20); // which waits, so that the batch is handed over in parts
    add_order(shop, 3);
    CHECK_THROWS(pipeline.drain());
    pipeline.drain();
    CHECK(records(pipeline.dead_letters()) == Texts{"inserted 2 3!", "updated 2 0"});
    CHECK(copies(shop).size() == 1);
}

TEST_CASE("F3: a rebuild that begins right behind the batch discards its letters too") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    bool broken = true;
    at::Pipeline pipeline{at::source<Order>().images(),
        at::handle(
            at::on_rebuild_started([](std::int64_t, Tx& tx) { tx.execute("DELETE FROM copy"); }),
            at::on_batch([&](const at::Batch<Order>& batch, Tx& tx) {
                copy_rows(batch, tx);
                if (broken) { throw std::runtime_error{"no"}; }
            })),
        shop, parking()};
    pipeline.drain();
    add_order(shop, 1);
    CHECK(pipeline.run_once());
    broken = false;
    pipeline.rebuild();
    pipeline.drain();
    CHECK(pipeline.dead_letters().empty());
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("F3: a key of any type has its letters: a text, a day") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    bool broken = true;
    std::set<std::string> keys;
    const auto hear = [&](const auto& batch, Tx&) {
        for (const auto& change : batch.changes()) { keys.insert(change.idempotency_key()); }
        if (broken && !batch.ids().empty()) { throw std::runtime_error{"no"}; }
    };
    SECTION("a text") {
        shop.create_table<letters::Page>();
        shop.transaction([&](Tx& tx) {
            tx.insert(letters::Page{"", 1});
            tx.insert(letters::Page{"a, b", 1});
        });
        at::Pipeline pipeline{at::source<letters::Page>(), hear, shop, parking()};
        pipeline.drain();
        CHECK(pipeline.dead_letters().size() == 2);
        broken = false;
        CHECK(pipeline.release(std::string{"a, b"}) == 1);
        CHECK(pipeline.release(std::string{}) == 1);
        pipeline.drain();
        CHECK(pipeline.dead_letters().empty());
        CHECK(keys.size() == 2); // of rows that a rebuild handed over, too
    }
    SECTION("a day, of a rebuild's row that fails again") {
        shop.create_table<letters::Day>();
        shop.transaction([&](Tx& tx) {
            tx.insert(letters::Day{std::chrono::sys_days{std::chrono::days{20'000}}, 1});
            tx.insert(letters::Day{std::chrono::sys_days{std::chrono::days{20'001}}, 1});
        });
        at::Pipeline pipeline{at::source<letters::Day>().images(), hear, shop, parking()};
        pipeline.drain();
        shop.execute("UPDATE day SET amount = 2");
        pipeline.drain();
        CHECK(pipeline.release() == 4);
        pipeline.drain();
        CHECK(records(pipeline.dead_letters()) ==
              Texts{"present 2024-10-04 2!", "present 2024-10-05 2!", "updated 2024-10-04 0",
                  "updated 2024-10-05 0"});
        broken = false;
        pipeline.release();
        pipeline.drain();
        CHECK(pipeline.dead_letters().empty());
        CHECK(keys.size() == 4);
    }
}

TEST_CASE("F3: records that can't be copied are set aside and handled like others") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    shop.create_table<letters::Note>();
    shop.execute("INSERT INTO note VALUES (1, 'a'), (2, 'b'), (3, 'c')");
    std::string read;
    at::Pipeline pipeline{at::source<letters::Note>(),
        [&](const at::Batch<letters::Note>& batch, Tx&) {
            for (const letters::Note& note : batch.records()) {
                if (note.id == 2) { throw std::runtime_error{"no"}; }
            }
            for (const letters::Note& note : batch.records()) { read += *note.text; }
        },
        shop, parking()};
    pipeline.drain();
    CHECK(read == "ac");
    CHECK(records(pipeline.dead_letters()) == Texts{"touched 2 1!"});
}

TEST_CASE("F3: no record is set aside since memory or the disk is full") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    const bool memory = GENERATE(true, false);
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx&) {
            if (batch.ids().empty()) { return; }
            if (memory) { throw std::bad_alloc{}; }
            throw at::Error{at::Errc::disk_full, "no space"};
        },
        shop, parking()};
    pipeline.drain();
    add_order(shop, 1);
    CHECK_THROWS(pipeline.drain());
    CHECK(pipeline.dead_letters().empty());
    CHECK(pipeline.errors().size() == 1);
}

TEST_CASE("F3: a letter of a source that had other columns is refused, and can be discarded") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Picky target{{2}};
    {
        ImagePipeline pipeline{at::source<Order>().images(), target.handler(), shop, parking()};
        pipeline.drain();
        add_order(shop, 2);
        pipeline.drain();
    }
    ImagePipeline pipeline{at::source<Order>().images().exclude<&Order::customer>(),
        target.handler(), shop, parking()};
    pipeline.drain();
    pipeline.release();
    CHECK_THROWS_SAYING(pipeline.drain(), at::Error, "discard it");
    pipeline.discard(pipeline.dead_letters().front());
    target.refused.clear();
    pipeline.drain();
    CHECK(target.handled == Texts{"P2:2"});
    CHECK(pipeline.dead_letters().empty());
}

TEST_CASE("F3: what fails since the pipeline is stopped isn't set aside", "[threads]") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    std::atomic<bool> inside{false};
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            if (batch.ids().empty()) { return; }
            inside = true;
            try {
                static_cast<void>(tx.query(at::type<std::int64_t>,
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                    "2000000000) SELECT count(*) FROM n"));
            } catch (const at::Error&) { throw std::runtime_error{"an error of its own"}; }
        },
        shop, parking()};
    pipeline.drain();
    add_orders(shop, 1, 2);
    pipeline.start();
    while (!inside) { std::this_thread::sleep_for(1ms); }
    pipeline.stop(10ms);
    CHECK(pipeline.dead_letters().empty());
    CHECK(pipeline.errors().empty());
}

TEST_CASE("F2: one record at fault among 100,000 costs the halving of one batch") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    create_tables(shop);
    int calls = 0;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx&) {
            ++calls;
            if (std::ranges::count(batch.ids(), 77'777) != 0) { throw std::runtime_error{"no"}; }
        },
        shop, parking()};
    pipeline.drain();
    shop.execute("INSERT INTO \"order\" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                 "FROM n WHERE i < 100000) SELECT i, 'ada', i FROM n");
    const std::size_t batches = pipeline.drain();
    CHECK(records(pipeline.dead_letters()) == Texts{"inserted 77777 1!"});
    CHECK(batches < 220);
    CHECK(calls <= static_cast<int>(batches) + 2 * 9);
}

TEST_CASE("C7: an older installation gets its table of dead letters with the next start, and no "
          "rebuild") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    Diary diary;
    Pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")}.drain();
    shop.execute("DROP TABLE " + fixture::own_table("dead_letter"));
    add_order(shop, 2);
    diary.clear();
    Pipeline pipeline{at::source<Order>(), diary.handler(), shop, quiet("copy")};
    pipeline.drain();
    CHECK(diary.changes() == Texts{"I2"});
    CHECK(pipeline.dead_letters().empty());
}
