// SPDX-License-Identifier: MIT
#include <thread>

#include <support/catch.hpp>

#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/error.hpp>

using aftertouch::detail::HandlerScope;

TEST_CASE("handler_scope: knows the databases whose handlers run on this thread") {
    const int shop = 0;
    const int archive = 0;
    CHECK(!HandlerScope::inside(&shop));
    {
        const HandlerScope outer{&shop};
        {
            const HandlerScope inner{&archive};
            CHECK(HandlerScope::inside(&shop));
            CHECK(HandlerScope::inside(&archive));
        }
        CHECK(HandlerScope::inside(&shop));
        CHECK(!HandlerScope::inside(&archive));
        bool elsewhere = true;
        std::thread{[&] { elsewhere = HandlerScope::inside(&shop); }}.join();
        CHECK(!elsewhere);
    }
    CHECK(!HandlerScope::inside(&shop));
}

TEST_CASE("handler_scope: refuses with the call's name and what to do") {
    const int shop = 0;
    CHECK_NOTHROW(HandlerScope::refuse(&shop, "Database::execute"));
    const HandlerScope scope{&shop};
    try {
        HandlerScope::refuse(&shop, "Database::execute");
        FAIL("not refused");
    } catch (const aftertouch::Error& error) {
        CHECK(error.code() == aftertouch::Errc::wrong_thread);
        CHECK_THAT(error.what(), Catch::Matchers::Contains("Database::execute"));
        CHECK_THAT(error.what(), Catch::Matchers::Contains("the transaction that is at hand"));
    }
}
