// SPDX-License-Identifier: MIT
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <support/catch.hpp>

#include <aftertouch/error.hpp>

namespace at = aftertouch;
using at::Errc;

namespace {

constexpr Errc all_codes[] = {
    Errc::invalid_argument,
    Errc::schema_mismatch,
    Errc::capture_conflict,
    Errc::checkpoint_unreadable,
    Errc::value_mismatch,
    Errc::database,
    Errc::busy,
    Errc::read_only,
    Errc::not_a_database,
    Errc::connection_lost,
    Errc::constraint,
    Errc::interrupted,
    Errc::wrong_thread,
    Errc::transaction_lost,
    Errc::fenced,
    Errc::out_of_memory,
    Errc::disk_full,
    Errc::handler_failed,
};

} // namespace

static_assert(at::name(Errc::schema_mismatch) == "schema_mismatch");
static_assert(std::is_base_of_v<std::runtime_error, at::Error>);
// An exception is copied while another may be in flight.
static_assert(std::is_nothrow_copy_constructible_v<at::Error>);

TEST_CASE("error: every code has a name of its own") {
    std::set<std::string_view> names;
    for (const Errc code : all_codes) {
        CHECK(at::name(code) != "unknown");
        names.insert(at::name(code));
    }
    CHECK(names.size() == std::size(all_codes));
    CHECK(at::name(static_cast<Errc>(1000)) == "unknown");
}

TEST_CASE("error: only what may pass by itself is retryable") {
    for (const Errc code : all_codes) {
        const bool expected =
            code == Errc::busy || code == Errc::connection_lost || code == Errc::interrupted;
        CHECK(at::Error(code, "a sentence").retryable() == expected);
    }
}

TEST_CASE("error: without details the answers are empty") {
    const at::Error error{Errc::fenced, "pipeline totals has been taken over"};
    CHECK(error.code() == Errc::fenced);
    CHECK(std::string{error.what()} == "pipeline totals has been taken over");
    CHECK_FALSE(error.in_doubt());
    CHECK(error.native_code() == 0);
    CHECK(error.statement().empty());
    CHECK(error.where().empty());
}

TEST_CASE("error: the details come back, also from a copy") {
    at::Error copy{Errc::database, "nothing yet"};
    {
        const at::Error error{Errc::connection_lost,
            "the connection to shop.db is gone: open it again",
            {.native_code = 10,
                .statement = "UPDATE \"order\" SET \"note\" = $1",
                .where = "shop.db",
                .in_doubt = true}};
        copy = error;
    }
    CHECK(copy.code() == Errc::connection_lost);
    CHECK(copy.in_doubt());
    CHECK(copy.native_code() == 10);
    CHECK(copy.statement() == "UPDATE \"order\" SET \"note\" = $1");
    CHECK(copy.where() == "shop.db");
}
