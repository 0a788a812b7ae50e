// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/postgres/literals.hpp>

namespace at = aftertouch;

namespace literals {

using at::postgres::LiteralPart;
using at::postgres::LiteralReader;

namespace {

std::vector<std::string> texts(const std::vector<LiteralPart>& parts) {
    std::vector<std::string> all;
    for (const LiteralPart& part : parts) {
        all.push_back(part.null ? "<null>" : std::string{part.text});
    }
    return all;
}

std::vector<std::string> row(std::string_view text) {
    at::postgres::Room room;
    std::vector<LiteralPart> parts;
    LiteralReader reader{text, room};
    reader.read_row(parts);
    CHECK(reader.done());
    return texts(parts);
}

std::vector<std::string> array(std::string_view text) {
    at::postgres::Room room;
    std::vector<LiteralPart> parts;
    LiteralReader reader{text, room};
    reader.read_array(parts);
    CHECK(reader.done());
    return texts(parts);
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("C5: row literals are read as PostgreSQL writes them") {
    CHECK(row("(1,a)") == Texts{"1", "a"});
    CHECK(row("(1,)") == Texts{"1", "<null>"});
    CHECK(row("(\"\",\" \")") == Texts{"", " "});
    CHECK(row("(\"a,b\",\"(c)\",\"d\"\"e\",\"f\\\\g\")") == Texts{"a,b", "(c)", "d\"e", "f\\g"});
    CHECK(row("()") == Texts{"<null>"});
    CHECK(row("(NULL)") == Texts{"NULL"});
    CHECK(row("(\"\"\"\")") == Texts{"\""});
}

TEST_CASE("C6: two rows in one text are read one behind the other") {
    at::postgres::Room room;
    std::vector<LiteralPart> parts;
    LiteralReader reader{"(1,\"a)(b\")(2,)", room};
    reader.read_row(parts);
    CHECK(!reader.done());
    reader.read_row(parts);
    CHECK(reader.done());
    CHECK(texts(parts) == Texts{"1", "a)(b", "2", "<null>"});
}

TEST_CASE("C5: array literals are read as PostgreSQL writes them") {
    CHECK(array("{}").empty());
    CHECK(array("{1,2,3}") == Texts{"1", "2", "3"});
    CHECK(array("{\"a,b\",NULL,\"NULL\",\"\",\"c\\\"d\",\"e\\\\f\",\"{g}\"}") ==
          Texts{"a,b", "<null>", "NULL", "", "c\"d", "e\\f", "{g}"});
    CHECK(array("{\"(1,a)\",\"(2,\\\"b c\\\")\"}") == Texts{"(1,a)", "(2,\"b c\")"});
    CHECK(row(array("{\"(2,\\\"b \\\\\\\\ c\\\")\"}").front()) == Texts{"2", "b \\ c"});
}

TEST_CASE("C5: what no trigger writes is refused") {
    for (const char* text : {"", "1", "(", "(1", "(\"a", "(\"a\"x)", "(a\"b)"}) {
        INFO(text);
        CHECK_THROWS_SAYING(row(text), at::Error, "was the log changed by hand");
    }
}

TEST_CASE("C5: an array that is written is read back") {
    at::postgres::ArrayWriter writer;
    for (const char* text : {"a", "", "NULL", "c\"d", "e\\f", "{g}", "h,i"}) {
        writer.add(at::Cell::text(text));
    }
    writer.add(at::Cell::null());
    writer.add(at::Cell::integer(-5));
    CHECK(array(writer.take()) ==
          Texts{"a", "", "NULL", "c\"d", "e\\f", "{g}", "h,i", "<null>", "-5"});
    CHECK(writer.take() == "{}");
}

} // namespace literals
