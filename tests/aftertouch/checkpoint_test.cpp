// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include <aftertouch/checkpoint.hpp>

namespace at = aftertouch;
using at::Cell;
using at::Checkpoint;
using at::Value;

namespace {

std::string any_word(std::mt19937& random) {
    constexpr std::string_view alphabet = "0123456789abcdef.,:-_/Zé\x01\xff";
    std::string word;
    for (auto length = random() % 20U + 1U; length > 0; --length) {
        word += alphabet[random() % alphabet.size()];
    }
    return word;
}

Value any_value(std::mt19937& random) {
    const std::string bytes = any_word(random);
    const auto number = static_cast<std::int64_t>(random()) << (random() % 32U);
    switch (random() % 8U) {
        case 0: return Value{Cell::integer(-number)};
        case 1: return Value{Cell::real(static_cast<double>(number) / 3)};
        case 2: return Value{Cell::text(bytes)};
        case 3: return Value{Cell::blob(std::as_bytes(std::span{bytes}))};
        case 4: return Value{Cell::timestamp(number)};
        case 5: return Value{Cell::date(static_cast<std::int32_t>(random() % 100'000U))};
        case 6: return Value{Cell::text({})};
        default: return Value{Cell::uuid(std::as_bytes(std::span{"0123456789abcdef"}).first<16>())};
    }
}

Checkpoint any_checkpoint(std::mt19937& random) {
    Checkpoint checkpoint{any_word(random), any_word(random), {}};
    checkpoint.rebuild.generation = static_cast<std::int64_t>(random() % 1000U);
    checkpoint.rebuild.first = random() % 2U == 0;
    if (random() % 2U == 0) { checkpoint.low = any_word(random); }
    if (random() % 2U == 0) { return checkpoint; }
    checkpoint.rebuild.running = true;
    checkpoint.rebuild.done = static_cast<std::int64_t>(random());
    checkpoint.rebuild.total = static_cast<std::int64_t>(random()) << 20U;
    for (auto parts = random() % 4U; parts > 0; --parts) {
        checkpoint.rebuild.last.push_back(any_value(random));
    }
    return checkpoint;
}

} // namespace

TEST_CASE("P4: the text of a checkpoint is what is documented") {
    Checkpoint checkpoint{"log7.3", "42", {}};
    CHECK(to_text(checkpoint) == "at1 log7.3 42 g0");
    checkpoint.rebuild.generation = 2;
    checkpoint.rebuild.running = true;
    checkpoint.rebuild.done = 500;
    checkpoint.rebuild.total = 1200;
    CHECK(to_text(checkpoint) == "at1 log7.3 42 g2 r500/1200");
    checkpoint.rebuild.last = {Value{Cell::integer(-7)}, Value{Cell::text("Ada b")}};
    CHECK(to_text(checkpoint) == "at1 log7.3 42 g2 r500/1200 i-7 t4164612062");
    checkpoint.rebuild.running = false; // then it has no cursor
    CHECK(to_text(checkpoint) == "at1 log7.3 42 g2");
    checkpoint.rebuild.first = true;
    CHECK(to_text(checkpoint) == "at1 log7.3 42 G2");
    checkpoint.low = "40";
    CHECK(to_text(checkpoint) == "at1 log7.3 42 G2/40");
}

TEST_CASE("P4: every checkpoint is read as it was written") {
    std::mt19937 random{7};
    for (int i = 0; i < 5000; ++i) {
        const Checkpoint checkpoint = any_checkpoint(random);
        const std::string text = to_text(checkpoint);
        INFO(text);
        const auto read = at::checkpoint_from(text);
        REQUIRE(read);
        REQUIRE(*read == checkpoint);
    }
    Checkpoint largest{"l", "p", {}};
    largest.rebuild = {std::numeric_limits<std::int64_t>::max(), true, true,
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max(),
        {Value{Cell::integer(std::numeric_limits<std::int64_t>::min())}}};
    CHECK(at::checkpoint_from(to_text(largest)) == largest);
}

TEST_CASE(
    "P4: a text with one character changed, added or missing is refused or is another checkpoint") {
    std::mt19937 random{11};
    const auto look_at = [](const std::string& text, const Checkpoint& original) {
        INFO(text);
        const auto read = at::checkpoint_from(text);
        if (!read) { return; }
        // There is one text for each checkpoint, and so no second one for this.
        REQUIRE(*read != original);
        REQUIRE(to_text(*read) == text);
    };
    for (int i = 0; i < 20; ++i) {
        const Checkpoint checkpoint = any_checkpoint(random);
        const std::string text = to_text(checkpoint);
        for (std::size_t at = 0; at <= text.size(); ++at) {
            for (int byte = 0; byte < 256; ++byte) {
                const char letter = static_cast<char>(byte);
                look_at(std::string{text}.insert(at, 1, letter), checkpoint);
                if (at == text.size() || text[at] == letter) { continue; }
                std::string changed = text;
                changed[at] = letter;
                look_at(changed, checkpoint);
            }
            if (at < text.size()) { look_at(std::string{text}.erase(at, 1), checkpoint); }
        }
    }
}

TEST_CASE("P4: what no version writes is refused") {
    const std::string text = GENERATE(as<std::string>{}, "", " ", "at1", "at1 ", "at1 log",
        "at1 log 5", "at1 log 5 ", "at1 log 5 g", "at1 log 5 7", "at1 log 5 gx", "at1 log 5 g-1",
        "at1 log 5 g1 ", " at1 log 5 g1", "at1  log 5 g1", "at1 log  5 g1", "at1 log 5  g1",
        "at1 log 5 g1 x", "at2 log 5 g1", "AT1 log 5 g1", "at1 log 5 g1 r", "at1 log 5 g1 r5",
        "at1 log 5 g1 r5/", "at1 log 5 g1 r/5", "at1 log 5 g1 r-1/5", "at1 log 5 g1 r1/-5",
        "at1 log 5 g1 r1/5/6", "at1 log 5 g1 1/5", "at1 log 5 g1 r1/5 ", "at1 log 5 g1 r1/5  i7",
        "at1 log 5 g1 r1/5 i7 ", "at1 log 5 g1 r1/5 7", "at1 log 5 g1 r1/5 i",
        "at1 log 5 g1 r1/5 t4", "at1 log 5 g1 r1/5 t4G", "at1 log 5 g99999999999999999999",
        "at1 log 5 g1 r1/99999999999999999999", "at1 log 5 g1 r1/5 i99999999999999999999",
        "at1 log 5 g01", "at1 log 5 g+1", "at1 log 5 g-0", "at1 log 5 g1 r01/5",
        "at1 log 5 g1 r1/-0", "at1 log 5 g1\n", "at1\tlog\t5\tg1", "at1 log 5 g1 d",
        "at1 log 5 g1 d1", "at1 log 5 g1 d1/2/3", "at1 log 5 g1 d1/2/3/", "at1 log 5 g1 d1/2/3/9 ",
        "at1 log 5 g1 d1/2/3/9 r1/5", "at1 log 5 g1 r1/5 d1/2/3/9", "at1 log 5 g1 d0/2/3/9",
        "at1 log 5 g1 d1/0/3/9", "at1 log 5 g1 d1/65/3/9", "at1 log 5 g1 d1/2/0/9",
        "at1 log 5 g1 d01/2/3/9", "at1 log 5 g1 1/2/3/9", "at1 log 5 g1/", "at1 log 5 g/7",
        "at1 log 5 g01/7", "at1 log 5 g1/ 7");
    INFO("\"" << text << "\"");
    CHECK(!at::checkpoint_from(text));
}

TEST_CASE("P4: a checkpoint's size is bounded by the size of one key") {
    Checkpoint checkpoint{std::string(33, 'f'), "9223372036854775807", {}};
    checkpoint.rebuild.generation = std::numeric_limits<std::int64_t>::max();
    checkpoint.rebuild.running = true;
    checkpoint.rebuild.done = checkpoint.rebuild.total = std::numeric_limits<std::int64_t>::max();
    const std::size_t without_key = to_text(checkpoint).size();
    CHECK(without_key < 128);
    checkpoint.rebuild.last = {Value{Cell::text(std::string(1000, 'x'))}};
    CHECK(to_text(checkpoint).size() == without_key + 2 + 2000);
}

TEST_CASE(
    "P4, L2: what lanes were dealt stands in the checkpoint until all of them have handled it") {
    Checkpoint checkpoint{"log", "5", {}};
    checkpoint.rebuild.generation = 7;
    checkpoint.deal = at::Deal{1790000000000000, 64, 4000, "9"};
    CHECK(to_text(checkpoint) == "at1 log 5 g7 d1790000000000000/64/4000/9");
    CHECK(at::checkpoint_from(to_text(checkpoint)) == checkpoint);
    checkpoint.deal->leaves_own = true;
    CHECK(to_text(checkpoint) == "at1 log 5 g7 D1790000000000000/64/4000/9");
    CHECK(at::checkpoint_from(to_text(checkpoint)) == checkpoint);
    checkpoint.deal->instances = 3;
    CHECK(to_text(checkpoint) == "at1 log 5 g7 D1790000000000000/64x3/4000/9");
    CHECK(at::checkpoint_from(to_text(checkpoint)) == checkpoint);
    checkpoint.deal->by = "0.2";
    CHECK(to_text(checkpoint) == "at1 log 5 g7 D1790000000000000/64x3k0.2/4000/9");
    CHECK(at::checkpoint_from(to_text(checkpoint)) == checkpoint);
    checkpoint.deal->to = "x/ky"; // a backend's text is its own
    CHECK(at::checkpoint_from(to_text(checkpoint)) == checkpoint);
    checkpoint.deal->instances = 1;
    CHECK(at::checkpoint_from(to_text(checkpoint)) == checkpoint);
}
