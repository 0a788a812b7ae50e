// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <support/catch.hpp>

#include "sample.hpp"

namespace {

const std::filesystem::path folder = std::filesystem::path{AFTERTOUCH_SOURCE_DIR} / "sql/sqlite";

std::string content(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

// AFTERTOUCH_APPROVE=1 writes the files instead: the difference is for a person to read.
TEST_CASE("O4: sql/sqlite is byte for byte what the backend would run") {
    const bool approve = std::getenv("AFTERTOUCH_APPROVE") != nullptr;
    std::set<std::string> expected;
    for (const auto& [name, text] : sample::rendered()) {
        expected.insert(name);
        if (approve) { std::ofstream{folder / name, std::ios::binary} << text; }
        INFO(name);
        CHECK(content(folder / name) == text);
    }
    std::set<std::string> there;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        there.insert(entry.path().filename().string());
    }
    CHECK(there == expected);
}
