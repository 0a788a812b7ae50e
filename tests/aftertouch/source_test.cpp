// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/source.hpp>

namespace at = aftertouch;

namespace sources {

struct Order {
    std::int64_t id = 0;
    std::string customer;
    std::string secret;
};
struct Line {
    std::int64_t number = 0;
    std::int64_t tenant = 0;
};

} // namespace sources

template <>
struct aftertouch::EntityTraits<sources::Line> {
    static constexpr auto key = at::key<&sources::Line::number, &sources::Line::tenant>;
};

namespace sources {

static_assert(at::ChangeSource<at::Source<Order>>);
static_assert(at::ChangeSource<decltype(at::source<Order>().images())>);
static_assert(!at::ChangeSource<Order>);
static_assert(at::Source<Order>::mode == at::CaptureMode::touch);
static_assert(decltype(at::source<Order>().images())::mode == at::CaptureMode::images);

TEST_CASE("source: by default it touches every change of the struct's table") {
    const at::Capture capture = at::source<Order>().capture();
    CHECK(capture.name == "order");
    CHECK(capture.table.name == at::table_name<Order>());
    CHECK(capture.operations == at::Operations::all());
    CHECK(!capture.images);
    CHECK(capture.imaged.empty());
}

TEST_CASE("source: images have all columns but those that are excluded (TE6)") {
    CHECK(at::source<Order>().images().capture().imaged == std::vector<std::size_t>{0, 1, 2});
    const auto without = at::source<Order>().images().exclude<&Order::secret>();
    CHECK(without.capture().imaged == std::vector<std::size_t>{0, 1});
    CHECK(without.capture().definition().find("secret") == std::string::npos);
}

TEST_CASE("C7: declarations that differ never get one name by themselves") {
    const auto plain = at::source<Order>();
    const std::vector<std::string> names{plain.capture().name, plain.images().capture().name,
        plain.operations(at::inserts).capture().name,
        plain.operations(at::inserts | at::deletes).capture().name, plain.always().capture().name,
        plain.per_row().capture().name, plain.always().images().capture().name,
        plain.images().exclude<&Order::secret>().capture().name};
    for (std::size_t i = 0; i < names.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) { CHECK(names[i] != names[j]); }
    }
    CHECK(plain.operations(at::inserts).capture().name ==
          plain.operations(at::inserts).capture().name);
    CHECK(plain.named("mine").images().capture().name == "mine");
}

TEST_CASE("source: each call gives another one, what was set stays") {
    const auto plain = at::source<Order>();
    const auto filtered = plain.filter([](const at::Change<Order>&) { return false; })
                              .always()
                              .per_row()
                              .rebuild_by<&Order::customer>()
                              .images();
    CHECK(!plain.filter());
    CHECK(plain.order().empty());
    CHECK(filtered.filter());
    CHECK(filtered.order() == std::vector<std::size_t>{1});
    CHECK(filtered.capture().always);
    CHECK(filtered.capture().per_row);
    CHECK(!plain.capture().always);
}

TEST_CASE("L2: a shard is told by members of the key, in the key's own order or another") {
    CHECK(at::source<Line>().lane_rule().text().empty());
    CHECK(at::source<Line>().shard<&Line::tenant>().lane_rule().text() == "1");
    CHECK(at::source<Line>().shard<&Line::tenant, &Line::number>().images().lane_rule().text() ==
          "1.0");
    // It is the program's own: pipelines that differ in it share a capture.
    CHECK(at::source<Line>().shard<&Line::tenant>().capture().definition() ==
          at::source<Line>().capture().definition());
}

} // namespace sources

TEST_CASE("PT10: a source that heeds priorities has a capture of its own") {
    const at::Capture capture = at::source<sources::Line>().low_priority().capture();
    CHECK(capture.low_priority);
    CHECK(capture.name != at::source<sources::Line>().capture().name);
    CHECK(capture.definition() ==
          at::source<sources::Line>().capture().definition() + " low priority");
}
