// SPDX-License-Identifier: MIT
#include <any>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/detail/pfr.hpp>

namespace detail = aftertouch::detail;

namespace {

// --- shapes that PFR can take
struct Everyday {
    long id{};
    std::string customer;
    std::optional<int> count;
    std::optional<std::string> note;
    std::vector<std::byte> blob;
    double amount = 0.0;
    std::chrono::system_clock::time_point at;
};
struct Nested {
    Everyday order;
    std::optional<Everyday> other;
    int a;
};
struct Rich {
    std::variant<int, std::string> variant;
    std::any any;
    std::function<void()> function;
    std::array<int, 4> array;
    std::map<int, std::string> map;
    std::string_view view;
    int* pointer;
};
struct MoveOnly {
    std::unique_ptr<int> pointer;
    std::string text;
    std::optional<int> count;
};
struct Immovable {
    std::atomic<int> counter;
    int a;
};
struct Initialised {
    const int a = 1;
    std::string b = "x";
};
struct OneString {
    std::string text;
};
struct OneOptional {
    std::optional<int> value;
};
struct Empty {};
struct Final final {
    int a;
};

// --- shapes that it can't
struct Derived : OneString {
    int a;
};
struct DerivedFromEmpty : Empty {
    int a;
};
struct DerivedOnly : OneString {};
struct HasDerivedMember {
    Derived derived;
    int a;
};
struct Constructed {
    Constructed() {}
    int a = 0;
};
class Private {
    [[maybe_unused]] int a_ = 0;

public:
    int b = 0;
};
struct Polymorphic {
    virtual void f() {}
    int a = 0;
};
union Union {
    int a;
    float b;
};
struct Text {
    int a;
    char text[16];
};
struct OnlyText {
    char text[1];
};
struct Numbers {
    std::unique_ptr<int> pointer;
    int numbers[3];
};

template <class... T>
constexpr bool all_plain = ((detail::PlainClass<T> && detail::WithoutBases<T>) && ...);
template <class... T>
constexpr bool none_with_arrays = (!detail::WithArrays<T> && ...);

} // namespace

static_assert(all_plain<Everyday, Nested, Rich, MoveOnly, Immovable, Initialised, OneString,
    OneOptional, Empty, Final, HasDerivedMember>);
static_assert(none_with_arrays<Everyday, Nested, Rich, MoveOnly, Immovable, Initialised, OneString,
    OneOptional, Empty, Final, HasDerivedMember>);

static_assert(detail::PlainClass<Derived> && !detail::WithoutBases<Derived>);
static_assert(!detail::WithoutBases<DerivedFromEmpty>);
static_assert(!detail::WithoutBases<DerivedOnly>);
static_assert(!detail::PlainClass<Constructed>);
static_assert(!detail::PlainClass<Private>);
static_assert(!detail::PlainClass<Polymorphic>);
static_assert(!detail::PlainClass<Union>);
static_assert(!detail::PlainClass<int>);
static_assert(!detail::PlainClass<std::string>);
static_assert(!detail::PlainClass<volatile Everyday>);

static_assert(detail::WithArrays<Text>);
static_assert(detail::WithArrays<OnlyText>);
static_assert(detail::WithArrays<Numbers>);

static_assert(detail::pfr_count<Empty> == 0);
static_assert(detail::pfr_count<Everyday> == 7);
static_assert(detail::pfr_count<Nested> == 3, "a nested struct stays one field");
static_assert(std::is_same_v<detail::PfrField<Everyday, 3>, std::optional<std::string>>);
static_assert(detail::pfr_limit >= 100);

TEST_CASE("pfr: the struct is asked before PFR is, so that a bad one costs nothing") {
    // Everything above is a static_assert; that this file compiles in a second is the test.
    SUCCEED();
}
