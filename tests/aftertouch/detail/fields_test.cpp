// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <string_view>
#include <type_traits>

#include <support/catch.hpp>

#include <aftertouch/detail/fields.hpp>

namespace at = aftertouch;
namespace detail = aftertouch::detail;

namespace {

struct Reflected {
    int a = 1;
    int b = 2;
    std::string c = "three";
};

struct Base {
    int id = 1;
};
struct Listed : Base {
    std::string text = "two";
    int hidden = 0;
    double real = 3.0;
};

struct Renamed {
    int a = 0;
    int b = 0;
    int c = 0;
};

} // namespace

template <>
struct aftertouch::EntityTraits<Listed> {
    static constexpr auto fields = at::fields<&Listed::real, &Listed::id, &Listed::text>;
};

template <>
struct aftertouch::EntityTraits<Renamed> {
    static constexpr auto columns =
        at::columns(at::name<&Renamed::c>("sea"), at::name<&Renamed::a>("b"));
};

static_assert(detail::FieldsOf<Reflected>::count == 3);
static_assert(detail::index_in<Reflected, &Reflected::a> == 0);
static_assert(detail::index_in<Reflected, &Reflected::b> == 1, "told apart by place, not by type");
static_assert(detail::index_in<Reflected, &Reflected::c> == 2);

static_assert(detail::FieldsOf<Listed>::count == 3);
static_assert(std::is_same_v<detail::FieldType<Listed, 0>, double>);
static_assert(std::is_same_v<detail::FieldType<Listed, 2>, std::string>);
static_assert(detail::index_in<Listed, &Listed::id> == 1);
static_assert(detail::index_in<Listed, &Listed::hidden> == detail::not_found);
static_assert(
    detail::column_names_of<Listed> == std::array<std::string_view, 3>{"real", "id", "text"});
static_assert(detail::column_names_of<Renamed> == std::array<std::string_view, 3>{"b", "b", "sea"},
    "renaming doesn't check; whoever asks for an entity does");

TEST_CASE("fields: reflected and listed ones are read and written the same way") {
    Reflected reflected;
    detail::FieldsOf<Reflected>::get<1>(reflected) = 20;
    CHECK(reflected.b == 20);
    const Reflected& constant = reflected;
    CHECK(&detail::FieldsOf<Reflected>::get<2>(constant) == &constant.c);

    Listed listed;
    detail::FieldsOf<Listed>::get<1>(listed) = 10;
    CHECK(listed.id == 10);
    const Listed& constant_listed = listed;
    CHECK(&detail::FieldsOf<Listed>::get<0>(constant_listed) == &constant_listed.real);
}
