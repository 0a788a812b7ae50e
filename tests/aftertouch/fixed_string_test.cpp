// SPDX-License-Identifier: MIT
#include <string_view>
#include <type_traits>

#include <support/catch.hpp>

#include <aftertouch/fixed_string.hpp>

namespace at = aftertouch;

namespace {

template <at::fixed_string Text>
struct Holder {
    static constexpr std::string_view text = Text.view();
};

template <class T>
concept Small = sizeof(T) <= 2 || at::unmet<"a small type has at most two bytes">();

} // namespace

static_assert(Holder<"order">::text == "order");
static_assert(Holder<"">::text.empty());
static_assert(Holder<"a\0b">::text.size() == 3, "a NUL is a character like any other");
static_assert(std::is_same_v<Holder<"same">, Holder<"same">>);
static_assert(!std::is_same_v<Holder<"same">, Holder<"other">>);

static_assert(Small<char>);
static_assert(!Small<long long>);

TEST_CASE("fixed_string: text that was a template argument can be used at run time") {
    const std::string_view text = Holder<"an entity needs a key">::text;
    CHECK(text == "an entity needs a key");
}
