// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <support/catch.hpp>

#include <aftertouch/detail/digits.hpp>

namespace detail = aftertouch::detail;

TEST_CASE("digits: every byte has two digits and comes back") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) { all += static_cast<char>(byte); }
    const std::string digits = detail::hex_of(all);
    CHECK(digits.size() == 512);
    CHECK(digits.substr(0, 6) == "000102");
    CHECK(digits.substr(506) == "fdfeff");
    CHECK(detail::bytes_from_hex(digits) == all);
    CHECK(detail::hex_of("").empty());
    CHECK(detail::bytes_from_hex("") == "");
}

TEST_CASE("digits: what isn't pairs of lower-case digits is nothing") {
    for (const std::string_view text : {"0", "0g", "g0", "AB", "0x", " 0", "00 ", "000"}) {
        CHECK_FALSE(detail::bytes_from_hex(text).has_value());
    }
}

TEST_CASE("digits: integers come back from both ends") {
    using Limits = std::numeric_limits<std::int64_t>;
    for (const std::int64_t number : {Limits::min(), Limits::min() + 1, std::int64_t{-1},
             std::int64_t{0}, std::int64_t{7}, Limits::max()}) {
        CHECK(detail::integer_from(std::to_string(number)) == number);
    }
}

TEST_CASE("digits: an integer has one spelling") {
    for (const std::string_view text : {"", "-", "+1", "-0", "00", "01", "-01", " 1", "1 ", "1a",
             "0x1", "1.0", "1e3", "9223372036854775808", "-9223372036854775809"}) {
        CHECK_FALSE(detail::integer_from(text).has_value());
    }
}
