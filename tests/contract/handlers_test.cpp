// SPDX-License-Identifier: MIT
// Every shape of a handler, over touches and over images.
#include <stdexcept>

#include "shop.hpp"

using namespace contract;

namespace {

std::string number(double amount) { return std::to_string(static_cast<int>(amount)); }

/// What happens to the source in every test here; each line is a batch of its own.
template <class P>
void live(Database& shop, P& pipeline) {
    add_orders(shop, 1, 2); // before the first start: a rebuild
    pipeline.drain();
    add_order(shop, 3);
    pipeline.drain();
    change_order(shop, 2, 20);
    pipeline.drain();
    remove_order(shop, 1);
    pipeline.drain();
}

/// An object with the members of a handler.
struct Listener {
    Texts* told;
    void on_inserted(const Order& now) { told->push_back("I" + std::to_string(now.id)); }
    void on_updated(const Order& now, const Order& before) {
        told->push_back(
            "U" + std::to_string(now.id) + ":" + number(before.amount) + ">" + number(now.amount));
    }
    void on_deleted(const Order& before, Tx& tx) {
        told->push_back("D" + std::to_string(before.id));
        tx.upsert(Copy{before.id, "was here", 0});
    }
    void on_present(const Order& now) { told->push_back("P" + std::to_string(now.id)); }
    void rebuild_started(std::int64_t generation) {
        told->push_back(generation > 0 ? "started" : "");
    }
    void rebuild_finished(std::int64_t generation, Tx&) {
        told->push_back(generation > 0 ? "finished" : "");
    }
};

} // namespace

TEST_CASE("handlers: generic lambdas get the batch, with and without the transaction") {
    const Place place{fixture::all_kinds().front()};
    Database shop{place.open()};
    create_tables(shop);
    Ids with;
    Ids without;
    at::Pipeline two{at::source<Order>(),
        [&](const auto& batch, auto& tx) {
            for (const auto& order : batch.records()) {
                with.push_back(order.id);
                tx.upsert(Copy{order.id, order.customer, order.amount});
                static_cast<void>(tx.get(at::type<Copy>, order.id));
            }
        },
        shop, quiet("two")};
    at::Pipeline one{at::source<Order>(),
        [&](const at::Batch<Order>& batch) {
            without.insert(without.end(), batch.ids().begin(), batch.ids().end());
        },
        shop, quiet("one")};
    add_orders(shop, 1, 2);
    two.drain();
    one.drain();
    CHECK(with == Ids{1, 2});
    CHECK(without == Ids{1, 2});
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("handlers: one change at a time") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Texts told;
    at::Pipeline pipeline{at::source<Order>().images(),
        [&](const at::Change<Order>& change, Tx& tx) {
            std::string text = text_of(change);
            if (change.before() != nullptr) { text += "-" + number(change.before()->amount); }
            if (change.after() != nullptr) { text += "+" + number(change.after()->amount); }
            told.push_back(text);
            tx.upsert(Copy{change.key(), "seen", 0});
        },
        shop, quiet("changes")};
    live(shop, pipeline);
    CHECK(told == Texts{"P1+1", "P2+2", "I3+3", "U2-2+20", "D1-1"});
    CHECK(copies(shop).size() == 3);
}

TEST_CASE("TE4: handlers: a set over images gets each change, with the row before it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Texts told;
    at::Pipeline pipeline{at::source<Order>().images(), Listener{&told}, shop, quiet("listener")};
    live(shop, pipeline);
    CHECK(told == Texts{"started", "P1", "P2", "finished", "I3", "U2:2>20", "D1"});
    CHECK(copies(shop) == std::vector<Copy>{{1, "was here", 0}});

    // Each change on its own, in order, where they come in one batch.
    told.clear();
    shop.transaction([](Tx& tx) {
        tx.insert(Order{9, "ada", 1});
        tx.execute("UPDATE \"order\" SET amount = 2 WHERE id = 9");
        tx.execute("UPDATE \"order\" SET amount = 3 WHERE id = 9");
        tx.execute("DELETE FROM \"order\" WHERE id = 9");
    });
    CHECK(pipeline.drain() == 1);
    CHECK(told == Texts{"I9", "U9:1>2", "U9:2>3", "D9"});
}

TEST_CASE("TE4: handlers: a set over touches gets each key once, by the row that it has now") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Texts told;
    at::Pipeline pipeline{at::source<Order>(),
        at::handle(at::on_inserted(
                       [&](const Order& now) { told.push_back("I" + std::to_string(now.id)); }),
            at::on_updated([&](const Order& now, auto& tx) {
                told.push_back("U" + std::to_string(now.id) + "=" + number(now.amount));
                tx.upsert(Copy{now.id, now.customer, now.amount});
            }),
            at::on_deleted([&](std::int64_t id) { told.push_back("D" + std::to_string(id)); })),
        shop, quiet("set")};
    live(shop, pipeline);
    CHECK(told == Texts{"U1=1", "U2=2", "I3", "U2=20", "D1"});

    told.clear();
    shop.transaction([](Tx& tx) {
        tx.insert(Order{9, "ada", 1}); // new, and changed twice
        tx.execute("UPDATE \"order\" SET amount = 2 WHERE id = 9");
        tx.execute("UPDATE \"order\" SET amount = 5 WHERE id = 2"); // changed twice
        tx.execute("UPDATE \"order\" SET amount = 6 WHERE id = 2");
        tx.insert(Order{8, "ada", 1}); // gone again
        tx.execute("DELETE FROM \"order\" WHERE id = 8");
        tx.execute("DELETE FROM \"order\" WHERE id = 3"); // gone, and there again
        tx.insert(Order{3, "ada", 33});
    });
    CHECK(pipeline.drain() == 1);
    CHECK(told == Texts{"I9", "U2=6", "D8", "U3=33"});
}

TEST_CASE(
    "handlers: a set that isn't asked for updates still learns of a row that is there again") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    at::Options options = quiet("set");
    options.begin = at::Begin::now;
    Texts told;
    at::Pipeline pipeline{at::source<Order>(),
        at::handle(at::on_inserted(
                       [&](const Order& now) { told.push_back("I" + std::to_string(now.id)); }),
            at::on_deleted([&](std::int64_t id) { told.push_back("D" + std::to_string(id)); })),
        shop, options};
    pipeline.drain();
    shop.transaction([](Tx& tx) {
        tx.execute("DELETE FROM \"order\" WHERE id = 1");
        tx.insert(Order{1, "bob", 2});
    });
    pipeline.drain();
    REQUIRE(!told.empty());
    CHECK(told.back() == "I1");
}

TEST_CASE("TE8: handlers in a sequence are called in their order, in one transaction, and fail "
          "together") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Texts told;
    bool broken = true;
    at::Pipeline pipeline{at::source<Order>().images(),
        at::sequence(
            [&](const at::Batch<Order>& batch, Tx& tx) {
                told.emplace_back("first");
                copy_rows(batch, tx);
            },
            [&](const at::Change<Order>& change) {
                told.push_back("second " + text_of(change));
                if (broken) { throw std::runtime_error{"no"}; }
            },
            Listener{&told}),
        shop, quiet("sequence")};
    add_order(shop, 1);
    CHECK_THROWS_AS(pipeline.drain(), std::runtime_error);
    CHECK(told == Texts{"started", "first", "second P1"});
    CHECK(copies(shop).empty());
    broken = false;
    told.clear();
    pipeline.drain();
    CHECK(told == Texts{"first", "second P1", "P1", "finished"});
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("TE6: columns that are excluded aren't in the images, and records() still reads them") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Texts told;
    ImagePipeline pipeline{at::source<Order>().images().exclude<&Order::customer>(),
        [&](const at::Batch<Order>& batch, Tx&) {
            for (const auto& change : batch.changes()) {
                told.push_back(change.after()->customer + "|" + number(change.after()->amount));
            }
            for (const Order& order : batch.records()) { told.push_back(order.customer); }
        },
        shop, quiet("secret")};
    pipeline.drain();
    add_order(shop, 7);
    pipeline.drain();
    CHECK(told == Texts{"|7", "ada"});

    // A rebuild shows the same, alone and together with changes.
    told.clear();
    pipeline.rebuild();
    pipeline.drain();
    CHECK(told == Texts{"|7", "ada"});
    told.clear();
    change_order(shop, 7, 8);
    add_order(shop, 9);
    pipeline.rebuild();
    pipeline.drain();
    CHECK(told == Texts{"|8", "|9", "|8", "|9", "ada", "ada"});
}

TEST_CASE("TE6: a filter and a set of parts see a rebuild's rows without excluded columns too") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 3);
    Texts told;
    at::Pipeline pipeline{at::source<Order>().images().exclude<&Order::customer>().filter(
                              [](const at::Change<Order>& change) {
                                  return change.after()->customer.empty() && change.key() != 2;
                              }),
        at::on_updated([&](const Order& now, Tx& tx) {
            told.push_back(now.customer + "|" + tx.get(at::type<Order>, now.id)->customer);
        }),
        shop, quiet("secret")};
    pipeline.drain();
    CHECK(told == Texts{"|ada", "|ada"});
}

TEST_CASE("TE7: operations, filters and changed columns choose what is handed over; they combine") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary removals;
    Diary raises;
    Pipeline of_removals{
        at::source<Order>().operations(at::deletes), removals.handler(), shop, quiet("removals")};
    ImagePipeline of_raises{at::source<Order>()
                                .images()
                                .operations(at::updates | at::inserts)
                                .filter([](const at::Change<Order>& change) {
                                    return change.operation() == Operation::updated &&
                                           change.has_changed(at::column<&Order::amount>) &&
                                           change.after()->amount > change.before()->amount;
                                }),
        raises.handler(), shop, quiet("raises")};
    of_removals.drain();
    of_raises.drain();
    add_orders(shop, 1, 3);
    change_order(shop, 1, 50);
    change_order(shop, 2, 1);
    shop.execute("UPDATE \"order\" SET customer = 'bob' WHERE id = 3");
    remove_order(shop, 1);
    of_removals.drain();
    of_raises.drain();
    CHECK(removals.changes() == Texts{"D1"});
    CHECK(raises.changes() == Texts{"U1"});
}

TEST_CASE("TE13: named captures stand beside each other") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Diary first;
    Diary second;
    Pipeline one{at::source<Order>().named("one"), first.handler(), shop, quiet("p1")};
    Pipeline two{at::source<Order>().named("two \"2\""), second.handler(), shop, quiet("p2")};
    one.drain();
    two.drain();
    const std::int64_t before = fixture::log_size(shop);
    add_order(shop, 1);
    CHECK(fixture::log_size(shop) == before + 2);
    one.drain();
    two.drain();
    CHECK(first.changes() == Texts{"I1"});
    CHECK(second.changes() == Texts{"I1"});
    at::remove(shop, at::source<Order>().named("one"));
    add_order(shop, 2);
    two.drain();
    CHECK(second.changes() == Texts{"I1", "I2"});
    CHECK(at::verify(shop, at::source<Order>().named("two \"2\"")).empty());
}

TEST_CASE("O1: status tells place, lag, counts and a rebuild's progress") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 25);
    at::Options options = quiet("copy");
    options.batch_size = 10;
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, options};
    CHECK(pipeline.status().state == at::State::stopped);
    CHECK(pipeline.status().name == "copy");
    CHECK(!pipeline.status().lag);
    pipeline.run_once();
    REQUIRE(pipeline.status().rebuild); // known before the first page
    CHECK(pipeline.status().rebuild->total == 25);
    pipeline.run_once();
    const at::Status halfway = pipeline.status();
    CHECK(halfway.state == at::State::rebuilding);
    REQUIRE(halfway.rebuild);
    CHECK(halfway.rebuild->done == 10);
    CHECK(halfway.rebuild->total == 25);
    CHECK(halfway.rebuild->generation > 0);
    CHECK(halfway.rebuilt == 10);
    pipeline.drain();
    const at::Status done = pipeline.status();
    CHECK(done.state == at::State::following);
    CHECK(!done.rebuild);
    CHECK(done.rebuilt == 25);
    CHECK(done.changes == 0);
    REQUIRE(done.lag);
    CHECK(done.lag->records == 0);

    add_orders(shop, 101, 103);
    const at::Status behind = pipeline.status();
    REQUIRE(behind.lag);
    CHECK(behind.lag->records == 3);
    CHECK(behind.lag->age >= std::chrono::microseconds{0});
    CHECK(behind.lag->age < std::chrono::hours{1});
    pipeline.drain();
    CHECK(pipeline.status().lag->records == 0);
    CHECK(pipeline.status().changes == 3);
}

TEST_CASE("O1: the observer is told what happened, in order, and never a value of a row") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    shop.transaction([](Tx& tx) { tx.insert(Order{424242, "Secret Customer", 171717}); });
    Told told;
    at::Options options = quiet("copy");
    options.observer = told.observer();
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, options};
    pipeline.start();
    pipeline.await_idle(std::chrono::seconds{30});
    pipeline.stop();
    Texts names;
    for (const std::string& line : told.lines()) {
        names.push_back(line.substr(0, line.find(' ')));
        CHECK(line.find("Secret") == std::string::npos);
        CHECK(line.find("424242") == std::string::npos);
        CHECK(line.find("171717") == std::string::npos);
    }
    CHECK(
        names == Texts{"pipeline.installed", "pipeline.rebuild.started", "pipeline.started",
                     "pipeline.batch.committed", "pipeline.rebuild.finished", "pipeline.stopped"});
}
