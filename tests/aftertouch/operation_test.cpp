// SPDX-License-Identifier: MIT
#include <optional>
#include <string>
#include <string_view>

#include <support/catch.hpp>

#include <aftertouch/operation.hpp>

namespace at = aftertouch;
using at::Operation;
using at::Operations;

namespace {

constexpr Operation all_operations[] = {Operation::inserted, Operation::updated, Operation::deleted,
    Operation::truncated, Operation::touched, Operation::present};

} // namespace

static_assert(at::operation_from('I') == Operation::inserted);
static_assert(!at::operation_from('i'));
static_assert((at::inserts | at::updates | at::deletes) == Operations::all());
static_assert(!(at::inserts | at::deletes).contains(Operation::updated));

TEST_CASE("operation: the letters of the change log are fixed and come back") {
    std::string letters;
    std::string names;
    for (const Operation operation : all_operations) {
        letters += static_cast<char>(operation);
        names.append(at::name(operation)).append(" ");
        CHECK(at::operation_from(static_cast<char>(operation)) == operation);
    }
    CHECK(letters == "IUDXTP");
    CHECK(names == "inserted updated deleted truncated touched present ");
}

TEST_CASE("operation: no other letter is an operation") {
    for (int c = -128; c < 128; ++c) {
        const auto letter = static_cast<char>(c);
        const bool known = std::string_view{"IUDXTP"}.find(letter) != std::string_view::npos;
        CHECK(at::operation_from(letter).has_value() == known);
    }
}

TEST_CASE("operations: a set says its words in one order") {
    CHECK(Operations{}.text().empty());
    CHECK(Operations{}.empty());
    CHECK(at::inserts.text() == "insert");
    CHECK((at::deletes | at::inserts).text() == "insert,delete");
    CHECK((at::updates | at::updates).text() == "update");
    CHECK(Operations::all().text() == "insert,update,delete");
}

TEST_CASE("operations: what triggers can't be asked for is in no set") {
    for (const Operation operation :
        {Operation::truncated, Operation::touched, Operation::present}) {
        CHECK(Operations{operation} == Operations{});
        CHECK_FALSE(Operations::all().contains(operation));
    }
}
