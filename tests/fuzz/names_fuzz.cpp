// SPDX-License-Identifier: MIT
// Names: what is quoted is exactly that name to SQLite, or is refused (C8).
#include <string>
#include <vector>

#include <aftertouch/error.hpp>
#include <aftertouch/identifier.hpp>
#include <aftertouch/sqlite/prepared.hpp>

#include "fuzz.hpp"

namespace at = aftertouch;

namespace {

at::sqlite::Connection& database() {
    static at::sqlite::Connection connection{":memory:"};
    return connection;
}

bool is_refused(const std::string& name) {
    try {
        static_cast<void>(at::quoted(name));
        return false;
    } catch (const at::Error& error) {
        fuzz::require(error.code() == at::Errc::invalid_argument, "a refusal says whose fault");
        return true;
    }
}

void look_at_sql(const std::string& name) {
    const at::sqlite::Statement as_name =
        database().prepare("SELECT 1 AS " + at::quoted(name) + ", 2 AS last");
    fuzz::require(as_name.size() == 2, "a name stays one name");
    at::sqlite::Statement as_text = database().prepare("SELECT " + at::quoted_text(name) + ", 2");
    fuzz::require(as_text.step() && as_text.size() == 2, "a text stays one text");
    fuzz::require(as_text[0].bytes() == name, "a text stays as it is");
    database().run_all(
        "SAVEPOINT s; CREATE TABLE " + at::quoted(name) + " (" + at::quoted(name) + ")");
    std::string found;
    database().each("SELECT t.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS t WHERE "
                    "s.name = $1 AND t.name = $1",
        std::vector<at::Value>{at::Value{at::Cell::text(name)}}, [&](const auto& row) {
            found = std::string{row[0].bytes()};
            return false;
        });
    database().run_all("ROLLBACK TO s; RELEASE s");
    fuzz::require(found == name, "a table and its column have that name");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string name{reinterpret_cast<const char*>(data), size};
    const bool fits = !name.empty() && name.find('\0') == std::string::npos && at::valid_utf8(name);
    fuzz::require(is_refused(name) != fits, "what SQL text can't carry is refused, no more");
    const std::string snake = at::snake_case(name);
    fuzz::require(at::snake_case(snake) == snake, "snake case comes back as it was");
    const std::string object = at::object_name("aftertouch", name);
    fuzz::require(object.size() <= 63, "an object's name fits");
    if (!fits) { return 0; }
    fuzz::require(at::valid_utf8(object), "a name is cut between characters");
    std::string lower = name;
    for (char& c : lower) { c = at::detail::to_lower(c); }
    if (!lower.starts_with("sqlite_")) { look_at_sql(name); } // which SQLite keeps for itself
    return 0;
}
