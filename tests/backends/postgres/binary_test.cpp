// SPDX-License-Identifier: MIT
// C6, K3: what is read in binary, and how a source is read.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

#include "server.hpp"

using namespace test;

namespace paged {

struct Item {
    std::int64_t id = 0;
    std::string note;
};

using at::postgres::Answer;
using at::postgres::Format;

namespace {

struct Asking {
    fixture::Place place{fixture::Kind::server};
    at::postgres::Connection connection{place.parameters(), {}};

    Answer ask(std::string_view sql, Format format) { return connection.ask_own(sql, {}, format); }
};

constexpr std::string_view edges =
    "SELECT true, false, (-32768)::int2, 32767::int2, (-2147483648)::int4, 2147483647::int4, "
    "(-9223372036854775808)::int8, 9223372036854775807::int8, 0::int8, 0.1::float4, "
    "'Infinity'::float4, '-Infinity'::float8, 'NaN'::float8, 'NaN'::float4, ('Infinity'::float8 - "
    "'Infinity'::float8), '-0'::float8, 5e-324::float8, 1.7976931348623157e308::float8, ''::text, "
    "'a\"b\\c'::text, E'\\u20ac'::text, 'x'::char(5), 'varying'::varchar(9), 'name'::name, "
    "'{\"a\":1}'::json, ''::bytea, '\\x00ff'::bytea, '4713-01-01 00:00:00 BC'::timestamp, "
    "'1999-12-31 23:59:59.999999+00'::timestamptz, '2024-01-02 03:04:05.000006+01'::timestamptz, "
    "'294247-01-10 04:00:54.775807+00'::timestamptz, '4713-01-01 BC'::date, '1970-01-01'::date, "
    "'5874897-12-31'::date, '01234567-89ab-cdef-0123-456789abcdef'::uuid, NULL::bigint";

constexpr std::string_view beyond =
    "SELECT 'infinity'::timestamptz, '-infinity'::timestamp, 'infinity'::date, '-infinity'::date, "
    "'294247-01-10 04:00:54.775808+00'::timestamptz, '294276-12-31 23:59:59.999999'::timestamp";

// The rows of `paged_item` as a rebuild reads them, in the transaction of a batch.
class Pages {
public:
    explicit Pages(Shop& shop, std::size_t limit)
        : capture_{at::source<Item>().capture()},
          connection_{shop.place.parameters(), {}},
          limit_{limit} {
        at::install(shop.database, at::source<Item>());
        const at::postgres::TableFacts facts =
            at::postgres::Catalog{connection_}.table(capture_.table.name);
        log_.emplace(connection_, capture_, 1, facts, std::string{});
        rows_.emplace(connection_, capture_.table, capture_.table.key, facts);
        begin_ = log_->head();
    }

    /// The ids of the next page.
    std::vector<std::int64_t> next() {
        connection_.begin("BEGIN ISOLATION LEVEL READ COMMITTED");
        log_->begin_batch();
        at::postgres::Position position = begin_;
        news = rows_->read_page(*log_, position, last_, limit_);
        usable = log_->facts().usable && !log_->facts().log.empty();
        std::vector<std::int64_t> ids;
        is_last = rows_->hand_over(last_, limit_, [&](std::span<const at::Cell> row) {
            ids.push_back(row[0].as_integer());
            CHECK(row[1].bytes().size() != 0);
            return true;
        });
        connection_.roll_back();
        return ids;
    }

    bool news = false;
    bool usable = false;
    bool is_last = false;

private:
    at::Capture capture_;
    at::postgres::Connection connection_;
    std::size_t limit_;
    std::optional<at::postgres::ChangeLog> log_;
    std::optional<at::postgres::SourceRows> rows_;
    std::vector<at::Value> last_;
    at::postgres::Position begin_; // the log's end when this was made
};

using Ids = std::vector<std::int64_t>;

} // namespace

TEST_CASE("C6: a value is the same in binary as in text") {
    Asking asking;
    const Answer text = asking.ask(edges, Format::text);
    const Answer binary = asking.ask(edges, Format::binary);
    at::postgres::Room room;
    REQUIRE(binary.columns() == text.columns());
    for (std::size_t i = 0; i < text.columns(); ++i) {
        INFO("column " << i << ": " << text.text(0, i));
        CHECK(binary.cell(0, i, room) == text.cell(0, i, room));
    }
}

TEST_CASE("C6: what no field can hold is refused in binary as in text") {
    Asking asking;
    at::postgres::Room room;
    for (const Format format : {Format::text, Format::binary}) {
        const Answer answer = asking.ask(beyond, format);
        for (std::size_t i = 0; i < answer.columns(); ++i) {
            INFO("column " << i);
            CHECK_THROWS_AS(answer.cell(0, i, room), at::Error);
        }
    }
}

TEST_CASE("C6: a type that isn't read in binary is refused, not misread") {
    Asking asking;
    at::postgres::Room room;
    const Answer answer = asking.ask("SELECT 1.5::numeric AS exact", Format::binary);
    try {
        static_cast<void>(answer.cell(0, 0, room));
        FAIL("it was read");
    } catch (const at::Error& error) {
        CHECK(error.code() == at::Errc::interrupted);
        CHECK(std::string_view{error.what()}.find("exact") != std::string_view::npos);
    }
}

TEST_CASE("K3: a page of a rebuild ends where its rows would be too many or too large") {
    Shop shop;
    shop.database.execute("CREATE TABLE item (id bigint PRIMARY KEY, note text NOT NULL)");
    shop.database.execute("ALTER TABLE item ALTER note SET STORAGE EXTERNAL");
    const auto add = [&](int from, int to, int bytes) {
        shop.database.execute("INSERT INTO item SELECT i, repeat('x', $3) FROM generate_series($1::"
                              "integer, $2::integer) AS i",
            from, to, bytes);
    };
    add(1, 5, 100);
    Pages pages{shop, 4};
    CHECK(pages.next() == Ids{1, 2, 3, 4});
    CHECK_FALSE(pages.is_last);
    CHECK(pages.usable);
    CHECK_FALSE(pages.news);
    // From here on rows have values beside the table.
    add(6, 20, 3'000'000);
    CHECK(pages.next() == Ids{5, 6, 7, 8});
    Pages wide{shop, 100};
    Ids all;
    for (std::size_t largest = 0; !wide.is_last;) {
        const Ids ids = wide.next();
        largest = std::max(largest, ids.size());
        all.insert(all.end(), ids.begin(), ids.end());
        REQUIRE(largest <= 5U + 6U); // of 3 MB six are beyond 16 MB
    }
    CHECK(all == Ids{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
}

TEST_CASE("R2: a page tells whether the log has anything up to the state that it shows") {
    Shop shop;
    shop.database.execute("CREATE TABLE item (id bigint PRIMARY KEY, note text NOT NULL)");
    Pages pages{shop, 10};
    CHECK(pages.next().empty());
    CHECK(pages.is_last);
    CHECK_FALSE(pages.news);
    shop.database.execute("INSERT INTO item VALUES (1, 'one')");
    CHECK(pages.next() == Ids{1});
    CHECK(pages.is_last);
    CHECK(pages.news);
    shop.database.execute("DELETE FROM aftertouch.meta");
    static_cast<void>(pages.next());
    CHECK_FALSE(pages.usable);
}

TEST_CASE("C6: a rebuild goes on where a column gets a type that isn't read in binary") {
    Shop shop;
    shop.database.execute("CREATE TABLE item (id bigint PRIMARY KEY, note text NOT NULL)");
    shop.database.execute("INSERT INTO item SELECT i, i FROM generate_series(1, 30) AS i");
    std::vector<std::string> notes;
    at::Options options = named("notes", at::Begin::rebuild);
    options.batch_size = 10;
    at::Pipeline pipeline{at::source<Item>(),
        [&](const at::Batch<Item>& batch, Tx&) {
            for (const Item& item : batch.records()) { notes.push_back(item.note); }
        },
        shop.database, options};
    while (notes.size() < 10) { pipeline.run_once(); }
    shop.database.execute("ALTER TABLE item ALTER note TYPE numeric USING note::numeric + 0.50");
    pipeline.start();
    REQUIRE(pipeline.await_idle(std::chrono::seconds{60}) == at::Awaited::idle);
    pipeline.stop();
    REQUIRE(notes.size() == 30);
    CHECK(notes[9] == "10");
    CHECK(notes[10] == "11.50");
    CHECK(notes[29] == "30.50");
}

} // namespace paged
