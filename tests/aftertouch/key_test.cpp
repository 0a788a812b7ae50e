// SPDX-License-Identifier: MIT
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/key.hpp>

namespace at = aftertouch;
using at::Cell;
using at::KeyFold;
using namespace std::string_literals;

namespace {

std::string form(Cell cell, KeyFold fold = KeyFold::exact) {
    std::string text;
    at::append_key_form(text, cell, fold);
    return text;
}

std::string form(const std::vector<at::Value>& key) {
    std::string text;
    for (const at::Value& part : key) { at::append_key_form(text, part); }
    return text;
}

Cell blob(const std::string& bytes) { return Cell::blob(std::as_bytes(std::span{bytes})); }

std::pair<std::size_t, bool> insert(at::KeyIndex& index, const std::vector<Cell>& key) {
    return index.insert(key, std::vector<KeyFold>(key.size()));
}

} // namespace

TEST_CASE("C5: a key's form is injective over kinds and values") {
    const std::string sixteen = "0123456789abcdef";
    std::vector<at::Value> parts{at::Value{}};
    for (const std::int64_t number : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
             std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 53, (std::int64_t{1} << 53) + 1,
             std::numeric_limits<std::int64_t>::max()}) {
        parts.emplace_back(Cell::integer(number));
    }
    for (const double real :
        {0.5, -0.5, 1e300, -1e300, 9223372036854775808.0, std::numeric_limits<double>::infinity(),
            std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::denorm_min()}) {
        parts.emplace_back(Cell::real(real));
    }
    for (const std::string& text :
        {""s, "\0"s, "a"s, "A"s, "a "s, " a"s, "a\0b"s, "i1"s, sixteen}) {
        parts.emplace_back(Cell::text(text));
        parts.emplace_back(blob(text));
    }
    parts.emplace_back(Cell::uuid(std::as_bytes(std::span{sixteen}).first<16>()));

    std::set<std::string> forms;
    for (const at::Value& part : parts) { forms.insert(form(part)); }
    CHECK(forms.size() == parts.size());

    // Parts one behind the other can't be mistaken for others: each has a kind and a length.
    forms.clear();
    for (const at::Value& first : parts) {
        for (const at::Value& second : parts) { forms.insert(form({first, second})); }
    }
    CHECK(forms.size() == parts.size() * parts.size());
    CHECK(form({at::Value{Cell::text("ab")}, at::Value{Cell::text("c")}}) !=
          form({at::Value{Cell::text("a")}, at::Value{Cell::text("bc")}}));
}

TEST_CASE("C5: numbers that a database calls equal have one form") {
    for (const std::int64_t number : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-7},
             std::int64_t{1} << 53, std::numeric_limits<std::int64_t>::min()}) {
        CHECK(form(Cell::integer(number)) == form(Cell::real(static_cast<double>(number))));
    }
    CHECK(form(Cell::real(-0.0)) == form(Cell::integer(0)));
    CHECK(form(Cell::boolean(true)) == form(Cell::integer(1)));
    // 2^63 as a real is no integer; the nearest real of the largest integer is not it.
    CHECK(form(Cell::real(9223372036854775808.0)) !=
          form(Cell::integer(std::numeric_limits<std::int64_t>::max())));
    CHECK(form(Cell::integer((std::int64_t{1} << 53) + 1)) !=
          form(Cell::real(static_cast<double>(std::int64_t{1} << 53))));
}

TEST_CASE("C5: texts have one form where their collation calls them equal, and only there") {
    const auto same = [](const std::string& a, const std::string& b, KeyFold fold) {
        return form(Cell::text(a), fold) == form(Cell::text(b), fold);
    };
    CHECK(!same("Ada", "ada", KeyFold::exact));
    CHECK(same("Ada", "aDA", KeyFold::ascii_case));
    CHECK(!same("\xc3\x84", "\xc3\xa4", KeyFold::ascii_case)); // NOCASE knows ASCII alone
    CHECK(!same("[", "{", KeyFold::ascii_case));               // beside Z and z
    CHECK(!same("@", "`", KeyFold::ascii_case));               // beside A and a
    CHECK(!same("ada", "ada ", KeyFold::ascii_case));
    CHECK(same("ada", "ada   ", KeyFold::trailing_spaces));
    CHECK(same("", "   ", KeyFold::trailing_spaces));
    CHECK(!same("ada", "ada\t", KeyFold::trailing_spaces));
    CHECK(!same(" ada", "ada", KeyFold::trailing_spaces));
    CHECK(!same("Ada", "ada", KeyFold::trailing_spaces));
    // Bytes are no text.
    CHECK(form(blob("Ada"), KeyFold::ascii_case) != form(blob("ada"), KeyFold::ascii_case));
    CHECK(form(blob("a "), KeyFold::trailing_spaces) != form(blob("a"), KeyFold::trailing_spaces));
}

TEST_CASE("KeyIndex: numbers each key once, in the order in which they came") {
    at::KeyIndex index;
    CHECK(index.size() == 0);
    CHECK(insert(index, {Cell::text("b")}) == std::pair<std::size_t, bool>{0, true});
    CHECK(insert(index, {}) == std::pair<std::size_t, bool>{1, true});
    CHECK(
        insert(index, {Cell::text("a"), Cell::text("b")}) == std::pair<std::size_t, bool>{2, true});
    CHECK(insert(index, {Cell::text("b")}) == std::pair<std::size_t, bool>{0, false});
    CHECK(insert(index, {}) == std::pair<std::size_t, bool>{1, false});
    CHECK(index.size() == 3);
    CHECK(index.form(0) == form(Cell::text("b")));
    CHECK(index.form(1).empty());
    CHECK(index.form(2) == form(Cell::text("a")) + form(Cell::text("b")));
    index.clear();
    CHECK(index.size() == 0);
    CHECK(insert(index, {Cell::text("a")}) == std::pair<std::size_t, bool>{0, true});
}

TEST_CASE("KeyIndex: knows keys that fold to the same form") {
    at::KeyIndex index;
    const std::vector<KeyFold> folds{KeyFold::ascii_case};
    CHECK(index.insert(std::vector<Cell>{Cell::text("Ada")}, folds).second);
    CHECK(!index.insert(std::vector<Cell>{Cell::text("aDA")}, folds).second);
}

TEST_CASE("KeyIndex: agrees with a map, however many forms there are") {
    const unsigned seed = GENERATE(1U, 2U, 3U);
    std::mt19937 random{seed};
    at::KeyIndex index;
    for (int round = 0; round < 3; ++round) {
        std::unordered_map<std::string, std::size_t> map;
        const auto distinct = 1U + random() % 4000U; // beyond the first slots too
        for (int i = 0; i < 5000; ++i) {
            const Cell key = Cell::integer(static_cast<std::int64_t>(random() % distinct));
            const auto [at, is_new] = map.emplace(form(key), map.size());
            REQUIRE(insert(index, {key}) == std::pair<std::size_t, bool>{at->second, is_new});
        }
        for (const auto& [key, number] : map) { REQUIRE(index.form(number) == key); }
        CHECK(index.size() == map.size());
        index.clear();
    }
}
