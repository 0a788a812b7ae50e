// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/error.hpp>
#include <aftertouch/uuid.hpp>

namespace at = aftertouch;
using boost::uuids::uuid;

static_assert(at::KeyPart<uuid>);
static_assert(at::Mapped<std::optional<uuid>>);
static_assert(at::column_type<uuid> == at::ColumnType::uuid);

namespace {

uuid counting() {
    uuid out{};
    std::uint8_t next = 0xf0;
    std::generate(out.begin(), out.end(), [&] { return next++; });
    return out;
}

} // namespace

TEST_CASE("uuid: sixteen bytes, seen where they lie") {
    const uuid id = counting();
    at::with_cell(id, [&](at::Cell cell) {
        CHECK(cell.kind() == at::Kind::uuid);
        CHECK(static_cast<const void*>(cell.bytes().data()) == &*id.begin());
        CHECK(cell.size() == 16);
    });
    uuid back{};
    at::decode(at::to_value(id), back);
    CHECK(back == id);
    CHECK(at::to_text(at::to_value(id)) == "uf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
}

TEST_CASE("uuid: it is read from a blob of sixteen bytes, as SQLite keeps it") {
    const uuid id = counting();
    const std::vector<std::uint8_t> blob(id.begin(), id.end());
    uuid back{};
    at::decode(at::to_value(blob), back);
    CHECK(back == id);
}

TEST_CASE("uuid: it is read from the text that an engine without uuids keeps") {
    uuid back{};
    at::decode(at::Cell::text("f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff"), back);
    CHECK(back == counting());
}

TEST_CASE("uuid: nothing else is one") {
    uuid id = counting();
    const std::string capitals = "F0F1F2F3-F4F5-F6F7-F8F9-FAFBFCFDFEFF";
    const std::vector<std::uint8_t> fifteen(15);
    CHECK_THROWS_SAYING(
        at::decode(at::to_value(capitals), id), at::Error, "holds text that isn't a uuid");
    CHECK_THROWS_SAYING(
        at::decode(at::to_value(fifteen), id), at::Error, "holds a blob that isn't a uuid");
    CHECK_THROWS_SAYING(at::decode(at::Cell::null(), id), at::Error, "holds null where a uuid");
    CHECK_THROWS_SAYING(
        at::decode(at::Cell::integer(1), id), at::Error, "holds an integer where a uuid");
    CHECK(id == counting());
}
