// SPDX-License-Identifier: MIT
// K1: what a handler derives, the checkpoint and the fencing check are one transaction.
#include <cstdint>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include "shop.hpp"

template class aftertouch::Pipeline<contract::Touches, contract::OnBatch, contract::Database>;
template class aftertouch::Pipeline<contract::Images, contract::OnBatch, contract::Database>;

using namespace contract;

TEST_CASE("K1: effects and checkpoint land together") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Pipeline pipeline{at::source<Order>(), OnBatch{copy_rows}, shop, quiet("copy")};
    pipeline.drain();
    const std::string before = fixture::checkpoint(shop, "copy");

    add_orders(shop, 1, 3);
    CHECK(pipeline.drain() == 1);
    CHECK(copies(shop) == orders(shop));
    CHECK(fixture::checkpoint(shop, "copy") != before);
    CHECK(pipeline.drain() == 0);
}

TEST_CASE("K1: a handler that throws leaves nothing behind") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    bool broken = false;
    Diary diary;
    Pipeline pipeline{at::source<Order>(),
        diary.handler([&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            if (broken) { throw std::runtime_error{"no"}; }
        }),
        shop, quiet("copy")};
    pipeline.drain();
    const std::string before = fixture::checkpoint(shop, "copy");

    add_orders(shop, 1, 3);
    broken = true;
    CHECK_THROWS_AS(pipeline.run_once(), std::runtime_error);
    CHECK(copies(shop).empty());
    CHECK(fixture::checkpoint(shop, "copy") == before);

    broken = false;
    diary.clear();
    CHECK(pipeline.drain() == 1);
    CHECK(diary.changes() == Texts{"I1", "I2", "I3"});
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("K1: another program sees a batch's effects with its checkpoint or not at all") {
    const Kind kind = GENERATE(from_range(fixture::shared_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    Database other{place.open()};
    std::int64_t seen_inside = -1;
    std::string checkpoint_inside;
    bool look = false;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx& tx) {
            copy_rows(batch, tx);
            if (!look) { return; }
            seen_inside = count(other, "copy");
            checkpoint_inside = fixture::checkpoint(other, "copy");
        },
        shop, quiet("copy")};
    pipeline.drain();
    const std::string before = fixture::checkpoint(other, "copy");
    add_order(shop, 1);
    look = true;
    pipeline.drain();
    CHECK(seen_inside == 0);
    CHECK(checkpoint_inside == before);
    CHECK(count(other, "copy") == 1);
    CHECK(fixture::checkpoint(other, "copy") != before);
}

TEST_CASE(
    "K1: what rebuild_started writes lands with the rebuild's first checkpoint or not at all") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_order(shop, 1);
    bool broken = true;
    const auto started = [&](std::int64_t generation, Tx& tx) {
        tx.upsert(Copy{generation > 0 ? -1 : -2, "started", 0});
        if (broken) { throw std::runtime_error{"no"}; }
    };
    at::Pipeline pipeline{at::source<Order>(),
        at::handle(at::on_batch(OnBatch{copy_rows}), at::on_rebuild_started(started)), shop,
        quiet("copy")};
    CHECK_THROWS_AS(pipeline.run_once(), std::runtime_error);
    CHECK(copies(shop).empty());
    CHECK(fixture::checkpoint(shop, "copy").empty());

    broken = false;
    pipeline.drain();
    CHECK(copies(shop) == std::vector<Copy>{{-1, "started", 0}, {1, "ada", 1}});
}

TEST_CASE("K1: rows that are written together are written as by as many calls") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    // Text of ten kilobytes: more than goes at once. A key that comes twice keeps the last.
    const std::string customer(10'000, 'c');
    std::vector<Copy> rows;
    for (std::int64_t id = 1; id <= 500; ++id) { rows.push_back({id, customer, 1}); }
    rows.push_back({7, "ada", 2});
    shop.transaction([&](Tx& tx) {
        tx.upsert_all(rows);
        // What computes a row may use the transaction.
        tx.upsert_all(Ids{1, 7} | std::views::transform([&](std::int64_t id) {
            const auto now = tx.get(at::type<Copy>, id);
            return Copy{id, now->customer, now->amount + 1};
        }));
        tx.upsert_all(std::vector<Copy>{});
        CHECK(tx.erase_all(at::type<Copy>, Ids{3, 4, 5, 9999}) == 3);
        CHECK(tx.erase_all(at::type<Copy>, Ids{}) == 0);
    });
    rows.pop_back();
    rows[0].amount = 2;
    rows[6] = {7, "ada", 3};
    rows.erase(rows.begin() + 2, rows.begin() + 5);
    CHECK((copies(shop) == rows)); // too long to be shown
}

TEST_CASE("K1: one of many rows that can't be written fails its batch, and none of them stays") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    shop.execute("DROP TABLE copy");
    shop.execute("CREATE TABLE copy (id bigint PRIMARY KEY, customer text NOT NULL, amount double "
                 "precision NOT NULL CHECK (amount <> 300))");
    Pipeline pipeline{at::source<Order>(), OnBatch{[](const at::Batch<Order>& batch, Tx& tx) {
                          std::vector<Copy> rows;
                          for (const Order& order : batch.records()) {
                              rows.push_back({order.id, order.customer, order.amount});
                          }
                          tx.upsert_all(rows);
                      }},
        shop, quiet("copy")};
    pipeline.drain();
    add_orders(shop, 1, 400);
    try {
        pipeline.run_once();
        FAIL("no error");
    } catch (const at::Error& error) {
        CHECK(error.code() == at::Errc::constraint);
        CHECK(error.statement().find("INSERT INTO") != std::string::npos);
    }
    CHECK(copies(shop).empty());

    change_order(shop, 300, 1);
    pipeline.drain();
    CHECK(copies(shop) == orders(shop));
}

TEST_CASE("K1: a change has one idempotency key at every delivery, and no other change has it") {
    const Kind kind = GENERATE(from_range(fixture::all_kinds()));
    INFO(fixture::name(kind));
    const Place place{kind};
    Database shop{place.open()};
    create_tables(shop);
    add_orders(shop, 1, 2);
    std::vector<Texts> deliveries;
    bool broken = true;
    Pipeline pipeline{at::source<Order>(),
        [&](const at::Batch<Order>& batch, Tx&) {
            deliveries.emplace_back();
            for (const auto& change : batch.changes()) {
                deliveries.back().push_back(change.idempotency_key());
            }
            if (broken) { throw std::runtime_error{"no"}; }
        },
        shop, quiet("copy")};
    CHECK_THROWS(pipeline.drain());
    broken = false;
    pipeline.drain(); // the rebuild's rows again
    add_order(shop, 3);
    change_order(shop, 3, 8);
    broken = true;
    CHECK_THROWS(pipeline.drain());
    broken = false;
    pipeline.drain();
    pipeline.rebuild();
    pipeline.drain();

    REQUIRE(deliveries.size() == 5);
    CHECK(deliveries[0] == deliveries[1]);
    CHECK(deliveries[2] == deliveries[3]);
    Texts all = deliveries[1];
    all.insert(all.end(), deliveries[3].begin(), deliveries[3].end());
    all.insert(all.end(), deliveries[4].begin(), deliveries[4].end());
    REQUIRE(all.size() == 2 + 2 + 3);
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}
