// SPDX-License-Identifier: MIT
#include <random>
#include <string>
#include <string_view>

#include <support/catch.hpp>

#include <aftertouch/uuid_text.hpp>

namespace at = aftertouch;

TEST_CASE("uuid text: 36 characters in lower case") {
    const std::string_view bytes{
        "\x01\x23\x45\x67\x89\xab\xcd\xef\x00\x11\x22\x33\x44\x55\x66\xff", 16};
    CHECK(at::uuid_text(bytes) == "01234567-89ab-cdef-0011-2233445566ff");
}

TEST_CASE("uuid text: every uuid comes back") {
    std::mt19937 random{11};
    for (int i = 0; i < 200; ++i) {
        std::string bytes(16, '\0');
        for (char& byte : bytes) { byte = static_cast<char>(random()); }
        const auto back = at::uuid_from(at::uuid_text(bytes));
        REQUIRE(back.has_value());
        REQUIRE(std::string(back->begin(), back->end()) == bytes);
    }
}

TEST_CASE("uuid text: no other spelling is taken") {
    for (const std::string_view text : {"", "01234567-89ab-cdef-0011-2233445566f",
             "01234567-89ab-cdef-0011-2233445566fff", "01234567-89AB-cdef-0011-2233445566ff",
             "0123456789abcdef00112233445566ff", "01234567-89ab-cdef-0011-2233445566fg",
             "012345678-9ab-cdef-0011-2233445566ff", "01234567-89ab-cdef-0011--233445566ff",
             "{1234567-89ab-cdef-0011-2233445566f}", "------------------------------------"}) {
        CAPTURE(text);
        CHECK_FALSE(at::uuid_from(text).has_value());
    }
}
