// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/batch_writer.hpp>
#include <aftertouch/handler.hpp>

namespace at = aftertouch;

namespace {

struct Item {
    std::int64_t id = 0;
    std::int64_t n = 0;
};

struct Tx {
    std::vector<std::string> calls;
};

// A batch over items: those that exist now are told, changes are added one by one.
class Given {
public:
    explicit Given(std::vector<Item> now = {}) : now_{std::move(now)} {
        const auto load = [this](std::span<const at::Value> keys, const at::detail::RowSink& sink) {
            for (std::size_t i = 0; i < keys.size(); ++i) {
                for (const Item& item : now_) {
                    if (item.id != keys[i].cell().as_integer()) { continue; }
                    sink(i, std::vector<at::Cell>{
                                at::Cell::integer(item.id), at::Cell::integer(item.n)});
                }
            }
        };
        writer_.prepare({0, 1}, {at::KeyFold::exact}, load, {});
        writer_.clear("log");
    }

    Given& change(at::Operation operation, std::int64_t id, std::int64_t before = -1,
        std::int64_t after = -1) {
        const at::Cell key = at::Cell::integer(id);
        const std::vector<at::Cell> old_row{key, at::Cell::integer(before)};
        const std::vector<at::Cell> new_row{key, at::Cell::integer(after)};
        at::LogRow row{{++seq_, 0}, operation, {}, {&key, 1}, {}, {}};
        if (before >= 0) { row.before = old_row; }
        if (after >= 0) { row.after = new_row; }
        writer_.add_change(row);
        return *this;
    }
    Given& present(std::int64_t id, std::int64_t n) {
        writer_.add_present(
            std::vector<at::Cell>{at::Cell::integer(id), at::Cell::integer(n)}, 1, {});
        return *this;
    }

    template <at::CaptureMode Mode, class H>
    std::vector<std::string> calls(H handler) {
        Tx tx;
        at::detail::hand_over<Mode>(handler, writer_.seal({.event_id = "log:1"}), tx);
        return tx.calls;
    }
    template <class H>
    std::vector<std::string> touched(H handler) {
        return calls<at::CaptureMode::touch>(handler);
    }
    template <class H>
    std::vector<std::string> imaged(H handler) {
        return calls<at::CaptureMode::images>(handler);
    }

private:
    std::vector<Item> now_;
    at::detail::BatchWriter<Item> writer_;
    std::int64_t seq_ = 0;
};

std::string text(const char* what, std::int64_t id) { return what + std::to_string(id); }

using Calls = std::vector<std::string>;

struct Object {
    template <class AnyTx>
    void on_inserted(const Item& now, AnyTx& tx) {
        tx.calls.push_back(text("I", now.id));
    }
    void on_deleted(std::int64_t id, Tx& tx) { tx.calls.push_back(text("D", id)); }
    void on_updated(const Item&, Tx&) {}
};

const auto note_inserted =
    at::on_inserted([](const Item& now, Tx& tx) { tx.calls.push_back(text("I", now.id)); });
const auto note_updated =
    at::on_updated([](const Item& now, Tx& tx) { tx.calls.push_back(text("U", now.id)); });
const auto note_deleted =
    at::on_deleted([](std::int64_t id, Tx& tx) { tx.calls.push_back(text("D", id)); });

} // namespace

TEST_CASE(
    "handler: a batch goes to who takes one, named or generic, with a transaction or without") {
    Given given;
    given.change(at::Operation::inserted, 7);
    CHECK(given.touched([](const at::Batch<Item>& batch, Tx& tx) {
        tx.calls.push_back(text("batch", batch.ids()[0]));
    }) == Calls{"batch7"});
    CHECK(given.touched([](const auto& batch, auto& tx) {
        tx.calls.push_back(text("batch", batch.ids()[0]));
    }) == Calls{"batch7"});
    int without = 0;
    CHECK(given.touched([&](const at::Batch<Item>&) { ++without; }).empty());
    CHECK(without == 1);
}

TEST_CASE("handler: changes go one by one, in order") {
    Given given;
    given.change(at::Operation::inserted, 1)
        .change(at::Operation::deleted, 1)
        .change(at::Operation::inserted, 2);
    CHECK(given.touched([](const at::Change<Item>& change, Tx& tx) {
        tx.calls.push_back(
            text(change.operation() == at::Operation::deleted ? "D" : "I", change.key()));
    }) == Calls{"I1", "D1", "I2"});
}

TEST_CASE("handler: with images each part gets its change, with before") {
    Given given;
    given.change(at::Operation::inserted, 1, -1, 5)
        .change(at::Operation::updated, 1, 5, 6)
        .change(at::Operation::deleted, 1, 6);
    const auto parts =
        at::handle(note_inserted, at::on_updated([](const Item& now, const Item& before, Tx& tx) {
            tx.calls.push_back(text("U", now.n * 10 + before.n));
        }),
            at::on_deleted([](std::int64_t, const Item& before, Tx& tx) {
                tx.calls.push_back(text("D", before.n));
            }),
            at::on_present([](const Item&) {}));
    CHECK(given.imaged(parts) == Calls{"I1", "U65", "D6"});
}

TEST_CASE(
    "handler: touches of a key are joined by what the row is now and what the batch began with") {
    const auto all = at::handle(note_inserted, note_updated, note_deleted);
    const std::vector<Item> there{{1, 0}};
    using enum at::Operation;
    CHECK(Given{there}.change(inserted, 1).change(updated, 1).touched(all) == Calls{"I1"});
    CHECK(Given{there}.change(updated, 1).change(updated, 1).touched(all) == Calls{"U1"});
    CHECK(Given{there}.change(deleted, 1).change(inserted, 1).touched(all) == Calls{"U1"});
    CHECK(Given{there}.change(touched, 1).touched(all) == Calls{"U1"});
    CHECK(Given{}.change(inserted, 1).change(deleted, 1).touched(all) == Calls{"D1"});
    CHECK(Given{}.change(touched, 1).touched(all) == Calls{"D1"});
    // Who hasn't asked for updates is told of the insertion, and not of nothing.
    const auto no_updates = at::handle(note_inserted, note_deleted);
    CHECK(Given{there}.change(deleted, 1).change(inserted, 1).touched(no_updates) == Calls{"I1"});
    CHECK(Given{there}.change(updated, 1).touched(no_updates).empty());
    CHECK(Given{there}.change(inserted, 1).change(updated, 1).touched(at::handle(note_updated)) ==
          Calls{"U1"});
}

TEST_CASE("handler: rows of a rebuild go to on_present, else to on_updated, behind the changes") {
    using enum at::Operation;
    CHECK(Given{{{1, 0}}}.change(updated, 1).present(2, 0).touched(at::handle(note_updated)) ==
          Calls{"U1", "U2"});
    const auto with_present = at::handle(note_updated,
        at::on_present([](const Item& now, Tx& tx) { tx.calls.push_back(text("P", now.id)); }));
    CHECK(Given{}.present(2, 0).touched(with_present) == Calls{"P2"});
    CHECK(Given{}.present(2, 0).touched(at::handle(note_deleted)).empty());
}

TEST_CASE("handler: a touch goes to on_touched where there is one") {
    const auto parts = at::handle(note_updated,
        at::on_touched([](std::int64_t id, Tx& tx) { tx.calls.push_back(text("T", id)); }));
    CHECK(Given{{{1, 0}}}.change(at::Operation::touched, 1).touched(parts) == Calls{"T1"});
}

TEST_CASE(
    "handler: a displaced row without an image stops a handler that can't take it, in words") {
    const auto parts = at::handle(
        at::on_updated([](const Item&, const Item&) {}), at::on_present([](const Item&) {}));
    Given given{{{1, 0}}};
    given.change(at::Operation::touched, 1);
    CHECK_THROWS_WITH(given.imaged(parts), Catch::Matchers::Contains("on_touched"));
}

TEST_CASE("handler: an object's members are parts too, overloaded or templates") {
    CHECK(Given{{{1, 0}}}
              .change(at::Operation::inserted, 1)
              .change(at::Operation::deleted, 2)
              .touched(Object{}) == Calls{"I1", "D2"});
}

TEST_CASE("TE8: a sequence calls its handlers in order, and ends with the first that throws") {
    const auto first = [](const at::Batch<Item>&, Tx& tx) { tx.calls.emplace_back("first"); };
    const auto second = [](const at::Batch<Item>&, Tx& tx) { tx.calls.emplace_back("second"); };
    Given given;
    given.change(at::Operation::inserted, 1);
    CHECK(given.touched(at::sequence(first, second)) == Calls{"first", "second"});
    int later = 0;
    const auto fails = [](const at::Batch<Item>&) { throw 1; };
    const auto counts = [&](const at::Batch<Item>&) { ++later; };
    CHECK_THROWS_AS(given.touched(at::sequence(fails, counts)), int);
    CHECK(later == 0);
}

TEST_CASE("handler: who wants to is told of a rebuild, in a sequence too") {
    Tx tx;
    auto handler = at::sequence([](const at::Batch<Item>&) {},
        at::handle(at::on_batch([](const at::Batch<Item>&) {}),
            at::on_rebuild_started(
                [](std::int64_t n, Tx& t) { t.calls.push_back(text("start", n)); }),
            at::on_rebuild_finished(
                [](std::int64_t n, Tx& t) { t.calls.push_back(text("end", n)); })));
    at::detail::tell_rebuild_started<Item>(handler, 3, tx);
    at::detail::tell_rebuild_finished<Item>(handler, 3, tx);
    CHECK(tx.calls == Calls{"start3", "end3"});
}
