// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include <support/catch.hpp>

#include <aftertouch/version.hpp>

namespace at = aftertouch;

TEST_CASE("the version is three numbers with dots between, as the build reads it") {
    const std::string_view version = at::version;
    CHECK(version.find_first_not_of("0123456789.") == std::string_view::npos);
    CHECK(std::count(version.begin(), version.end(), '.') == 2);
    CHECK(version.front() != '.');
    CHECK(version.back() != '.');
}
