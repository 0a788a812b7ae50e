// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string_view>

#include <support/catch.hpp>

#include <aftertouch/hash.hpp>

namespace at = aftertouch;

// The published test vectors of FNV-1a, 64 bit. They are a format: names in databases depend on
// them.
static_assert(at::fnv1a("") == 0xcbf29ce484222325ULL);
static_assert(at::fnv1a("a") == 0xaf63dc4c8601ec8cULL);
static_assert(at::fnv1a("b") == 0xaf63df4c8601f1a5ULL);
static_assert(at::fnv1a("foobar") == 0x85944171f73967e8ULL);

TEST_CASE("hash: bytes above 127 count as unsigned, whatever char is") {
    CHECK(at::fnv1a("\xff") == ((0xcbf29ce484222325ULL ^ 0xffU) * 1099511628211ULL));
}

TEST_CASE("hash: a NUL byte counts") {
    CHECK(at::fnv1a(std::string_view{"a\0", 2}) != at::fnv1a("a"));
}

TEST_CASE("hash: hex is always sixteen lower-case digits") {
    CHECK(at::hex(0) == "0000000000000000");
    CHECK(at::hex(1) == "0000000000000001");
    CHECK(at::hex(0xfedcba9876543210ULL) == "fedcba9876543210");
    CHECK(at::hex(~std::uint64_t{0}) == "ffffffffffffffff");
}
