// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Catch2, version 2 or 3, under the spelling of version 3; every test includes this and nothing
/// else of Catch2.

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#if __has_include(<catch2/catch_all.hpp>)

#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>

#else

#include <catch2/catch.hpp>

namespace Catch::Matchers {

using Impl::MatcherBase;

inline auto ContainsSubstring(const std::string& text) { return Contains(text); }

} // namespace Catch::Matchers

#endif

/// Checks that an expression throws `type` and that its message contains `text`.
#define CHECK_THROWS_SAYING(expression, type, text)                                                \
    CHECK_THROWS_MATCHES(expression, type, ::test::says(text))

namespace test {

/// Matches an exception whose `what()` contains `text`.
class SaysMatcher : public Catch::Matchers::MatcherBase<std::exception> {
public:
    explicit SaysMatcher(std::string text) : text_(std::move(text)) {}

    bool match(const std::exception& error) const override {
        return std::string_view(error.what()).find(text_) != std::string_view::npos;
    }

    std::string describe() const override { return "says \"" + text_ + '"'; }

private:
    std::string text_;
};

inline SaysMatcher says(std::string text) { return SaysMatcher(std::move(text)); }

} // namespace test
