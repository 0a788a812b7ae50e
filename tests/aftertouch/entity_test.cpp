// SPDX-License-Identifier: MIT
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/entity.hpp>

namespace at = aftertouch;

namespace entity_test {

// --- entities ------------------------------------------------------------------------------------

/// Everything is the default.
struct Order {
    std::int64_t id{};
    std::string customer;
    double amount = 0.0;
};

/// Everything is said.
struct OrderLine {
    std::int64_t order_id{};
    int number{};
    std::optional<std::string> sku;
};

struct Base {
    std::int64_t id = 0;
};
/// Can't be reflected: a base class, a constructor, a member that is no column.
class Legacy : public Base {
public:
    Legacy() : text{"made"} {}
    std::string text;
    std::shared_ptr<int> cache;
};

/// Members that only a friend may name.
class Secret {
public:
    explicit Secret(int id = 0) : id_{id} {}
    [[nodiscard]] int id() const { return id_; }

private:
    friend aftertouch::EntityTraits<Secret>;
    int id_;
};

struct Hundred {
    int f00, f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12, f13, f14, f15, f16, f17,
        f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
        f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52, f53,
        f54, f55, f56, f57, f58, f59, f60, f61, f62, f63, f64, f65, f66, f67, f68, f69, f70, f71,
        f72, f73, f74, f75, f76, f77, f78, f79, f80, f81, f82, f83, f84, f85, f86, f87, f88, f89,
        f90, f91, f92, f93, f94, f95, f96, f97, f98, f99;
};

template <class T>
struct Versioned {
    int id;
    T value;
};

struct ByTime {
    std::chrono::sys_days day;
    std::string place;
    bool rain;
};

struct OnlyKey {
    std::string id;
};

/// A renamed id is still the key.
struct RenamedId {
    int id;
    int other;
};

/// Two fields swap their columns.
struct Swapped {
    int id;
    int a;
    int b;
};

// --- no entities
// -----------------------------------------------------------------------------------

struct NoKey {
    int number;
    std::string text;
};
struct DoubleId {
    double id;
};
struct OptionalId {
    std::optional<int> id;
};
struct BoolId {
    bool id;
};
struct Derived : Order {
    int more;
};
struct Constructed {
    Constructed() {}
    int id = 0;
};
struct NeedsArgument {
    explicit NeedsArgument(int) {}
};
struct NoDefault {
    int id;
    NeedsArgument must;
    std::string a, b, c, d, e;
};
struct Reference {
    int id;
    int& reference;
};
struct CArray {
    int id;
    char text[16];
};
struct Constant {
    int id = 1;
    const int version = 2;
};
struct WithPointer {
    int id;
    std::shared_ptr<int> pointer;
};
struct Empty {};
struct HundredAndOne {
    int id, f00, f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12, f13, f14, f15, f16,
        f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34,
        f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52,
        f53, f54, f55, f56, f57, f58, f59, f60, f61, f62, f63, f64, f65, f66, f67, f68, f69, f70,
        f71, f72, f73, f74, f75, f76, f77, f78, f79, f80, f81, f82, f83, f84, f85, f86, f87, f88,
        f89, f90, f91, f92, f93, f94, f95, f96, f97, f98, f99;
};
struct SameColumns {
    int id;
    int value;
    int VALUE;
};
struct RenamedOnto {
    int id;
    int a;
    int b;
};
struct NamelessColumn {
    int id;
    int a;
};
struct ForeignKey {
    int id;
};
struct HiddenKey {
    int id;
    int a;
};
struct TwiceKey {
    int id;
};
struct EmptyKey {
    int id;
};
struct ForeignRename {
    int id;
};
struct ForeignField {
    int id;
};
struct TypesAsTraits {
    int id;
    int number;
};
struct KeyIsNumber {
    int id;
};
struct FieldsIsNumber {
    int id;
};
struct ColumnsIsNumber {
    int id;
};
struct NamelessTable {
    int id;
};

} // namespace entity_test

using namespace entity_test;

template <>
struct aftertouch::EntityTraits<OrderLine> {
    static constexpr auto table = "lines of \"orders\"";
    static constexpr auto schema = "shop";
    static constexpr auto key = at::key<&OrderLine::number, &OrderLine::order_id>;
    static constexpr auto columns = at::columns(at::name<&OrderLine::sku>("article"));
};
template <>
struct aftertouch::EntityTraits<Legacy> {
    static constexpr auto fields = at::fields<&Legacy::text, &Legacy::id>;
};
template <>
struct aftertouch::EntityTraits<Secret> {
    static constexpr auto fields = at::fields<&Secret::id_>;
    static constexpr auto key = at::key<&Secret::id_>;
};
template <>
struct aftertouch::EntityTraits<Hundred> {
    static constexpr auto key = at::key<&Hundred::f99>;
};
template <>
struct aftertouch::EntityTraits<ByTime> {
    static constexpr auto key = at::key<&ByTime::day, &ByTime::place>;
};
template <>
struct aftertouch::EntityTraits<RenamedId> {
    static constexpr auto columns = at::columns(at::name<&RenamedId::id>("renamed_id_id"));
};
template <>
struct aftertouch::EntityTraits<Swapped> {
    static constexpr auto columns =
        at::columns(at::name<&Swapped::a>("b"), at::name<&Swapped::b>("a"));
};
template <>
struct aftertouch::EntityTraits<RenamedOnto> {
    static constexpr auto columns = at::columns(at::name<&RenamedOnto::a>("B"));
};
template <>
struct aftertouch::EntityTraits<NamelessColumn> {
    static constexpr auto columns = at::columns(at::name<&NamelessColumn::a>(""));
};
template <>
struct aftertouch::EntityTraits<ForeignKey> {
    static constexpr auto key = at::key<&Order::id>;
};
template <>
struct aftertouch::EntityTraits<HiddenKey> {
    static constexpr auto fields = at::fields<&HiddenKey::a>;
    static constexpr auto key = at::key<&HiddenKey::id>;
};
template <>
struct aftertouch::EntityTraits<TwiceKey> {
    static constexpr auto key = at::key<&TwiceKey::id, &TwiceKey::id>;
};
template <>
struct aftertouch::EntityTraits<EmptyKey> {
    static constexpr auto key = at::key<>;
};
template <>
struct aftertouch::EntityTraits<ForeignRename> {
    static constexpr auto columns = at::columns(at::name<&Order::customer>("customer_name"));
};
template <>
struct aftertouch::EntityTraits<ForeignField> {
    static constexpr auto fields = at::fields<&ForeignField::id, &Order::customer>;
};
template <>
struct aftertouch::EntityTraits<TypesAsTraits> {
    using key = at::key_t<&TypesAsTraits::number>;
};
template <>
struct aftertouch::EntityTraits<KeyIsNumber> {
    static constexpr int key = 1;
};
template <>
struct aftertouch::EntityTraits<FieldsIsNumber> {
    static constexpr int fields = 1;
};
template <>
struct aftertouch::EntityTraits<ColumnsIsNumber> {
    static constexpr int columns = 1;
};
template <>
struct aftertouch::EntityTraits<NamelessTable> {
    static constexpr auto table = "";
};

// --- the concept, from both sides
// ------------------------------------------------------------------

static_assert(at::Entity<Order>);
static_assert(at::Entity<OrderLine>);
static_assert(at::Entity<Legacy>);
static_assert(at::Entity<Secret>);
static_assert(at::Entity<Hundred>);
static_assert(at::Entity<Versioned<std::string>>);
static_assert(at::Entity<ByTime>);
static_assert(at::Entity<OnlyKey>);
static_assert(at::Entity<RenamedId>);
static_assert(at::Entity<Swapped>);

template <class T>
constexpr bool is_refused(at::detail::Problem problem) {
    return !at::Entity<T> && at::detail::entity_problem<T>() == problem;
}

using at::detail::Problem;
static_assert(is_refused<int>(Problem::not_plain));
static_assert(is_refused<const Order>(Problem::not_plain));
static_assert(is_refused<std::string>(Problem::not_plain));
static_assert(is_refused<Constructed>(Problem::not_plain));
static_assert(is_refused<Derived>(Problem::has_base));
static_assert(is_refused<NoDefault>(Problem::not_default_constructible));
static_assert(is_refused<Reference>(Problem::not_default_constructible));
static_assert(is_refused<HundredAndOne>(Problem::too_many_fields) || at::detail::pfr_limit > 101);
static_assert(is_refused<CArray>(Problem::c_array));
static_assert(is_refused<Constant>(Problem::const_field));
static_assert(is_refused<WithPointer>(Problem::unmapped));
static_assert(is_refused<Empty>(Problem::no_fields));
static_assert(is_refused<NoKey>(Problem::no_key));
static_assert(is_refused<DoubleId>(Problem::key_part));
static_assert(is_refused<OptionalId>(Problem::key_part));
static_assert(is_refused<BoolId>(Problem::key_part));
static_assert(is_refused<SameColumns>(Problem::column_names));
static_assert(is_refused<RenamedOnto>(Problem::column_names));
static_assert(is_refused<NamelessColumn>(Problem::column_names));
static_assert(is_refused<ForeignKey>(Problem::key_of_another));
static_assert(is_refused<HiddenKey>(Problem::key_of_another));
static_assert(is_refused<TwiceKey>(Problem::key_twice));
static_assert(is_refused<EmptyKey>(Problem::not_a_key));
static_assert(is_refused<KeyIsNumber>(Problem::not_a_key));
static_assert(is_refused<ForeignRename>(Problem::foreign_rename));
static_assert(is_refused<ColumnsIsNumber>(Problem::not_a_rename));
static_assert(is_refused<ForeignField>(Problem::foreign_field));
static_assert(is_refused<FieldsIsNumber>(Problem::not_a_field_list));
static_assert(is_refused<TypesAsTraits>(Problem::traits_are_types));
static_assert(is_refused<NamelessTable>(Problem::no_table_name));

// --- what is known while compiling
// -----------------------------------------------------------------

template <at::Entity T, class... Names>
constexpr bool has_columns(Names... names) {
    return at::column_names<T>() ==
           std::array<std::string_view, sizeof...(Names)>{std::string_view{names}...};
}

static_assert(has_columns<Order>("id", "customer", "amount"));
static_assert(has_columns<OrderLine>("order_id", "number", "article"));
static_assert(has_columns<Legacy>("text", "id"));
static_assert(has_columns<Secret>("id_"));
static_assert(has_columns<Swapped>("id", "b", "a"));
static_assert(has_columns<RenamedId>("renamed_id_id", "other"));

static_assert(at::field_count<Order> == 3);
static_assert(at::field_count<Legacy> == 2);
static_assert(at::field_count<Hundred> == 100);
static_assert(std::same_as<at::field_type<Order, 2>, double>);
static_assert(std::same_as<at::field_type<Legacy, 0>, std::string>);

static_assert(at::field_index<&Order::id> == 0);
static_assert(at::field_index<&Order::amount> == 2);
static_assert(at::field_index<&Hundred::f57> == 57);
static_assert(at::field_index<&Legacy::text> == 0);
static_assert(at::field_index<&Legacy::id, Legacy> == 1, "declared in the base class");

static_assert(at::key_indices<Order> == std::array<std::size_t, 1>{0});
static_assert(at::key_indices<OrderLine> == std::array<std::size_t, 2>{1, 0}, "the key's order");
static_assert(at::key_indices<Legacy> == std::array<std::size_t, 1>{1});
static_assert(at::key_indices<Hundred> == std::array<std::size_t, 1>{99});

static_assert(std::same_as<at::Key<Order>, std::int64_t>);
static_assert(std::same_as<at::Key<OnlyKey>, std::string>);
static_assert(std::same_as<at::Key<OrderLine>, std::tuple<int, std::int64_t>>);
static_assert(std::same_as<at::Key<ByTime>, std::tuple<std::chrono::sys_days, std::string>>);

// The tags are values without content.
static_assert(std::same_as<decltype(at::column<&Order::id>), const at::column_t<&Order::id>>);
static_assert(std::same_as<decltype(at::type<Order>), const at::type_t<Order>>);
static_assert(std::is_empty_v<at::key_t<&Order::id>>);

TEST_CASE("entity: fields are reached by index, to read and to write") {
    Order order{7, "ada", 9.5};
    at::field<1>(order) = "bob";
    CHECK(order.customer == "bob");
    const Order& constant = order;
    CHECK(&at::field<2>(constant) == &order.amount);
    static_assert(std::same_as<decltype(at::field<0>(constant)), const std::int64_t&>);
    static_assert(std::same_as<decltype(at::field<0>(order)), std::int64_t&>);

    Legacy legacy;
    at::field<1>(legacy) = 5;
    CHECK(legacy.id == 5);
    CHECK(at::field<0>(legacy) == "made");

    Secret secret;
    at::field<0>(secret) = 6;
    CHECK(secret.id() == 6);

    Hundred hundred{};
    at::field<99>(hundred) = 3;
    CHECK(hundred.f99 == 3);
}

TEST_CASE("entity: a key of one part is the part, of several a tuple in the key's order") {
    CHECK(at::key_of(Order{7, "ada", 9.5}) == 7);
    CHECK(at::key_of(OrderLine{7, 2, {}}) == std::tuple{2, std::int64_t{7}});
    CHECK(at::key_of(OnlyKey{"k"}) == "k");
    CHECK(at::key_of(Secret{4}) == 4);
}

TEST_CASE("entity: the parts of a key are visited in order and may be changed") {
    std::vector<std::int64_t> seen;
    const auto see = [&](const auto& part) { seen.push_back(part); };
    at::for_each_key_part(at::key_of(OrderLine{7, 2, {}}), see);
    const std::int64_t single = 9;
    at::for_each_key_part(single, see);
    CHECK(seen == std::vector<std::int64_t>{2, 7, 9});

    at::Key<OrderLine> key{};
    std::int64_t next = 5;
    at::for_each_key_part(key, [&](auto& part) { at::decode(at::Cell::integer(next++), part); });
    CHECK(key == std::tuple{5, std::int64_t{6}});
}

TEST_CASE("entity: a table is called as its class in snake case, or as it says") {
    CHECK(at::table_name<Order>() == at::TableName{"", "order"});
    CHECK(at::table_name<Order>().quoted() == "\"order\"");
    CHECK(at::table_name<OnlyKey>().name == "only_key");
    CHECK(at::table_name<Versioned<std::string>>().name == "versioned");
    CHECK(at::table_name<OrderLine>() == at::TableName{"shop", "lines of \"orders\""});
    CHECK(at::table_name<OrderLine>().quoted() == R"("shop"."lines of ""orders""")");
    struct LocalThing {
        int id;
    };
    CHECK(at::table_name<LocalThing>().name == "local_thing");
}

TEST_CASE("entity: our short names don't get in the way of anybody's variables") {
    using namespace aftertouch;
    const int key = 1;
    const int fields = 2;
    const int column = 3;
    const int columns = 4;
    const int type = 5;
    const int name = 6;
    CHECK(key + fields + column + columns + type + name == 21);
}
