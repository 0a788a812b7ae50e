// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <support/catch.hpp>

#include <aftertouch/identifier.hpp>

namespace at = aftertouch;
using namespace std::string_literals;

static_assert(at::valid_utf8("caf\u00e9"));

// As headers call it: with <iomanip>, std::quoted is found too, for its arguments are of std.
namespace aftertouch {
template <class Text>
using Quoted = decltype(quoted(std::declval<Text>()));
static_assert(std::is_same_v<Quoted<std::string&>, std::string>);
static_assert(std::is_same_v<Quoted<const std::string&>, std::string>);
static_assert(std::is_same_v<Quoted<std::string>, std::string>);
static_assert(std::is_same_v<Quoted<std::string_view>, std::string>);
} // namespace aftertouch

TEST_CASE("identifier: snake case of class names") {
    const auto [name, expected] = GENERATE(table<std::string, std::string>({
        {"Order", "order"},
        {"OrderLine", "order_line"},
        {"HTTPServer", "http_server"},
        {"ServerHTTP", "server_http"},
        {"Order2Line", "order2_line"},
        {"Order2line", "order2line"},
        {"already_snake", "already_snake"},
        {"Mixed_Snake", "mixed_snake"},
        {"UPPER_CASE", "upper_case"},
        {"A", "a"},
        {"AB", "ab"},
        {"ABc", "a_bc"},
        {"iPhone", "i_phone"},
        {"_Leading", "_leading"},
        {"Trailing_", "trailing_"},
        {"", ""},
        {"Caf\u00e9Table",
            "caf\u00e9table"}, // only A to Z are known here: no word ends behind \u00e9
        {"\u6570\u91cf", "\u6570\u91cf"},
    }));
    CHECK(at::snake_case(name) == expected);
    CHECK(at::snake_case(expected) == expected);
}

TEST_CASE("identifier: UTF-8 is checked as Unicode defines it") {
    for (const std::string_view good :
        {"", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
            "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"}) {
        CHECK(at::valid_utf8(good));
    }
    for (const std::string_view bad :
        {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x80\x80", "\xe0\x9f\xbf",
            "\xe2\x82", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",
            "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "ok\xfe"}) {
        CHECK_FALSE(at::valid_utf8(bad));
    }
}

TEST_CASE("identifier: quoting names the text exactly") {
    CHECK(at::quoted("order") == R"("order")");
    CHECK(at::quoted("SELECT") == R"("SELECT")"); // reserved words need nothing more
    CHECK(at::quoted(R"(a"b)") == R"("a""b")");
    CHECK(at::quoted(R"(")") == R"("""")");
    CHECK(at::quoted("a'b") == R"("a'b")");
    CHECK(at::quoted("two words; --") == R"("two words; --")");
    CHECK(at::quoted("caf\u00e9") == "\"caf\u00e9\"");
    CHECK(at::quoted("back\\slash") == R"("back\slash")");
}

TEST_CASE("identifier: quoting text doubles single quotes and nothing else") {
    CHECK(at::quoted_text("") == "''");
    CHECK(at::quoted_text("it's") == "'it''s'");
    CHECK(at::quoted_text("''") == "''''''");
    CHECK(at::quoted_text(R"(say "hi")") == R"('say "hi"')");
    CHECK(at::quoted_text("a\nb") == "'a\nb'");
}

TEST_CASE("identifier: what SQL text can't carry is refused in a sentence") {
    CHECK_THROWS_SAYING(at::quoted(""), at::Error, "an SQL identifier is empty");
    CHECK_THROWS_SAYING(at::quoted("a\0b"s), at::Error, "an SQL identifier holds a NUL byte");
    CHECK_THROWS_SAYING(at::quoted("a\xff"), at::Error, "an SQL identifier isn't valid UTF-8");
    CHECK_THROWS_SAYING(at::quoted_text("\0"s), at::Error, "an SQL text literal holds a NUL byte");
    CHECK_THROWS_SAYING(
        at::quoted_text("\xc3"), at::Error, "an SQL text literal isn't valid UTF-8");
    try {
        static_cast<void>(at::quoted("secret\xff"));
        FAIL("nothing was thrown");
    } catch (const at::Error& error) {
        CHECK(error.code() == at::Errc::invalid_argument);
        CHECK(std::string{error.what()}.find("secret") == std::string::npos);
    }
}

TEST_CASE("identifier: a table's name, with a schema and without") {
    const at::TableName plain{"", "order"};
    const at::TableName in_schema{"my shop", "or\"der"};
    CHECK(plain.quoted() == R"("order")");
    CHECK(plain.text() == "order");
    CHECK(in_schema.quoted() == R"("my shop"."or""der")");
    CHECK(in_schema.text() == "my shop.or\"der");
    CHECK_THROWS_AS((at::TableName{"shop", ""}.quoted()), at::Error);
    CHECK(plain == at::TableName{"", "order"});
    CHECK(plain < in_schema);
}

TEST_CASE("C8: an object's name is readable as long as it fits") {
    CHECK(at::object_name("at", "order_totals") == "at_order_totals");
    CHECK(at::object_name("at", "") == "at_");
    const std::string fits(60, 'x');
    CHECK(at::object_name("at", fits) == "at_" + fits);
    CHECK(at::object_name("at", fits).size() == 63);
}

TEST_CASE("C8: a long name is cut to the limit and told apart by its hash") {
    const std::string same_start(80, 'x');
    std::set<std::string> names;
    for (int i = 0; i < 1000; ++i) {
        const std::string name = at::object_name("at", same_start + std::to_string(i));
        CHECK(name.size() == 63);
        CHECK(name.starts_with("at_xxx"));
        names.insert(name);
    }
    CHECK(names.size() == 1000);
}

TEST_CASE("C8: names never change") {
    const std::string long_name =
        "insert_of_a_table_whose_name_is_longer_than_any_database_allows_it";
    CHECK(at::object_name("aftertouch", long_name) ==
          "aftertouch_insert_of_a_table_whose_name_is_lon_94fdebbde1a4be6d");
}

TEST_CASE("C8: a name is cut between characters, wherever the limit falls") {
    const std::string text =
        "\u00e9\u6570\U0001F600a\u00e9\u6570\U0001F600a\u00e9\u6570\U0001F600a";
    for (std::size_t limit = 20; limit <= 60; ++limit) {
        const std::string name = at::object_name("p", text, limit);
        CHECK(name.size() <= limit);
        CHECK(
            name.size() + 4 > std::min(limit, text.size() + 2)); // at most one character too short
        CHECK(at::valid_utf8(name));
    }
}

TEST_CASE("C8: a prefix that leaves no room is refused") {
    CHECK_THROWS_SAYING(
        at::object_name("a_prefix", "a_readable_name_of_something", 25), at::Error, "shorten it");
    CHECK(at::object_name("a_prefi", "a_readable_name_of_something", 25).size() == 25);
}
