// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <support/catch.hpp>

#include <aftertouch/detail/names.hpp>

namespace detail = aftertouch::detail;

namespace names_test {

struct Money {
    std::int64_t cents;
    std::string currency;
};
struct Order {
    std::int64_t id{};
    std::string customer;
    std::optional<std::string> note;
    Money price;
    std::optional<Money> discount;
};
struct MoveOnly {
    std::int64_t id;
    std::unique_ptr<int> p;
};
struct Immovable {
    std::atomic<int> counter;
};
struct ConstField {
    const std::int64_t id;
    const std::string s;
};
template <auto... C>
struct Odd {
    int a;
    int b;
    struct Inner {
        int c;
    };
};
struct Unicode {
    int caf\u00e9;
    int \u6570\u91cf;
};
struct \u8ba2\u5355 {
    int id;
};
inline namespace v1 {
struct Versioned {
    int id;
};
} // namespace v1
struct Outer {
    struct Inner {
        int deep;
    };
};
enum class Enum { one };
struct Base {
    int inherited;
};
struct Derived : Base {
    int own;
};
struct A {
    int _;
    int x1;
};
using Alias = Order;

namespace {

struct Unnamed {
    int a;
    std::string b;
};

template <class T, class... Names>
constexpr bool has_names(Names... names) {
    const std::array<std::string_view, sizeof...(Names)> expected{std::string_view{names}...};
    if (detail::pfr_count<T> != expected.size()) { return false; }
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return ((detail::pfr_name<T, I>() == expected[I]) && ...);
    }(std::make_index_sequence<sizeof...(Names)>{});
}

} // namespace

static_assert(has_names<Order>("id", "customer", "note", "price", "discount"));
static_assert(has_names<MoveOnly>("id", "p"));
static_assert(has_names<Immovable>("counter"));
static_assert(has_names<ConstField>("id", "s"));
static_assert(has_names<Odd<'.', ':', '}', ')', ']', ';', '"', '<', '>'>>("a", "b"));
static_assert(has_names<Odd<'\'', '\\', '\0'>>("a", "b"));
static_assert(has_names<Unicode>("caf\u00e9", "\u6570\u91cf"));
static_assert(has_names<Unnamed>("a", "b"));
static_assert(has_names<Outer::Inner>("deep"));
static_assert(has_names<A>("_", "x1"));

static_assert(detail::member_name<&Order::customer>() == "customer");
static_assert(detail::member_name<&Unicode::caf\u00e9>() == "caf\u00e9");
static_assert(detail::member_name<&Odd<']', ')', '}'>::b>() == "b");
static_assert(detail::member_name<&Odd<Enum::one, 5, nullptr>::b>() == "b");
static_assert(detail::member_name<&Unnamed::b>() == "b");
static_assert(detail::member_name<&Derived::inherited>() == "inherited");
static_assert(detail::member_name<&ConstField::s>() == "s");

static_assert(std::is_same_v<detail::OwnerOf<&Derived::inherited>, Base>);
static_assert(std::is_same_v<detail::OwnerOf<&Derived::own>, Derived>);
static_assert(std::is_same_v<detail::MemberType<&Order::note>, std::optional<std::string>>);

static_assert(detail::class_name<Order>() == "Order");
static_assert(detail::class_name<Alias>() == "Order");
static_assert(detail::class_name<\u8ba2\u5355>() == "\u8ba2\u5355");
static_assert(detail::class_name<Unnamed>() == "Unnamed");
static_assert(detail::class_name<Versioned>() == "Versioned");
static_assert(detail::class_name<Outer::Inner>() == "Inner");
static_assert(detail::class_name<Odd<1, 2>>() == "Odd");
static_assert(detail::class_name<Odd<>>() == "Odd");
static_assert(detail::class_name<Odd<1>::Inner>() == "Inner");
static_assert(detail::class_name<Odd<'.', ':', '}', ')', ']', ';', '"', '<', '>'>>() == "Odd");
static_assert(detail::class_name<Odd<'\'', '\\', '\0', '>', '<'>::Inner>() == "Inner");
static_assert(detail::class_name<Odd<Enum::one, 5, &Order::note>>() == "Odd");

TEST_CASE("names: types local to a function have names, too") {
    struct Local {
        int a;
        std::string b;
    };
    static_assert(has_names<Local>("a", "b"));
    static_assert(detail::class_name<Local>() == "Local");
    static_assert(detail::member_name<&Local::b>() == "b");
    CHECK(detail::pfr_name<Local, 1>() == "b");
}

TEST_CASE("names: in a lambda and in a template, a class has its name as well") {
    const auto name_in_lambda = [](auto value) {
        struct InLambda {
            decltype(value) id;
        };
        return detail::class_name<InLambda>();
    };
    CHECK(name_in_lambda(1) == "InLambda");
    CHECK(name_in_lambda("text") == "InLambda");
}

TEST_CASE("names: they are plain text at run time") {
    CHECK(std::string{detail::pfr_name<Order, 4>()} == "discount");
    CHECK(std::string{detail::member_name<&Order::note>()} == "note");
    CHECK(std::string{detail::class_name<Order>()} == "Order");
}

} // namespace names_test
