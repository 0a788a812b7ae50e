// SPDX-License-Identifier: MIT
// Keys: two have one form if and only if SQLite calls them equal (C5).
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <aftertouch/key.hpp>
#include <aftertouch/sqlite/prepared.hpp>

#include "fuzz.hpp"

namespace at = aftertouch;

namespace {

struct Fold {
    at::KeyFold fold;
    std::string_view collation;
};
constexpr Fold folds[] = {{at::KeyFold::exact, "BINARY"}, {at::KeyFold::ascii_case, "NOCASE"},
    {at::KeyFold::trailing_spaces, "RTRIM"}};

template <class Number>
Number number(fuzz::Input& input) {
    Number made{};
    std::memcpy(&made, input.bytes(sizeof made).data(), sizeof made);
    return made;
}

at::Value any_value(fuzz::Input& input) {
    switch (input.below(6)) {
        case 0: return at::Value{at::Cell::null()};
        case 1: return at::Value{at::Cell::integer(number<std::int64_t>(input))};
        case 2: return at::Value{at::Cell::integer(static_cast<std::int64_t>(input.below(3)) - 1)};
        case 3: {
            const double real = number<double>(input);
            return at::Value{at::Cell::real(std::isnan(real) ? 0.5 : real)};
        }
        case 4: {
            const std::string bytes = input.text(12);
            return at::Value{at::Cell::blob(std::as_bytes(std::span{bytes}))};
        }
        default: return at::Value{at::Cell::text(input.text(12))};
    }
}

bool are_equal(const std::vector<at::Value>& two, std::string_view collation) {
    static at::sqlite::Connection database{":memory:"};
    bool equal = false;
    database.each("SELECT $1 IS $2 COLLATE " + std::string{collation}, two, [&](const auto& row) {
        equal = row[0].as_integer() != 0;
        return false;
    });
    return equal;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    const Fold& fold = folds[input.below(3)];
    at::KeyIndex index;
    const auto insert = [&](at::Cell key) {
        return index.insert(std::span{&key, 1}, std::span{&fold.fold, 1}).first;
    };
    std::vector<at::Value> values;
    std::vector<std::string> forms;
    while (!input.empty() && values.size() < 12) {
        values.push_back(any_value(input));
        at::append_key_form(forms.emplace_back(), values.back(), fold.fold);
        insert(values.back());
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        fuzz::require(index.form(insert(values[i])) == forms[i], "an index finds what it has");
        for (std::size_t j = 0; j < i; ++j) {
            fuzz::require(
                (forms[i] == forms[j]) == are_equal({values[i], values[j]}, fold.collation),
                "two keys have one form if the database calls them equal");
        }
    }
    return 0;
}
