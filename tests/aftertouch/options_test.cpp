// SPDX-License-Identifier: MIT
#include <chrono>

#include <support/catch.hpp>

#include <aftertouch/options.hpp>

namespace at = aftertouch;

TEST_CASE("TE13: options have the defaults that are documented") {
    const at::Options options{.name = "totals"};
    CHECK(options.name == "totals");
    CHECK(options.schema == at::Schema::automatic);
    CHECK(options.begin == at::Begin::rebuild);
    CHECK(options.batch_size == 500);
    CHECK(options.batch_bytes == 16U * 1024U * 1024U);
    CHECK(options.poll_interval == std::chrono::milliseconds{50});
    CHECK(!options.skip_own_changes);
    CHECK(options.observer); // failures are told unless somebody says otherwise
}
