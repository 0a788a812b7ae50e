// SPDX-License-Identifier: MIT
// A target without libFuzzer: runs what lies in a folder, then changes of it that a seed repeats.
//
//   replay FOLDER [ROUNDS]     AFTERTOUCH_SEED=n repeats a run; AFTERTOUCH_SOAK=night goes 50 times
//   as long
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <support/soak.hpp>

#include "fuzz.hpp"

namespace {

using Random = std::mt19937_64;

std::vector<std::string> corpus(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end()); // the same order for the same seed everywhere
    std::vector<std::string> inputs;
    for (const auto& file : files) {
        std::ifstream in{file, std::ios::binary};
        inputs.emplace_back(std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{});
    }
    return inputs;
}

std::string changed(const std::vector<std::string>& inputs, Random& random) {
    std::string input = inputs[random() % inputs.size()];
    for (auto edits = random() % 8 + 1; edits > 0; --edits) {
        const std::size_t at = random() % (input.size() + 1);
        switch (random() % 5) {
            case 0: input.insert(at, 1, static_cast<char>(random() % 256)); break;
            case 1: input.erase(at, random() % 4); break;
            case 2: {
                if (at < input.size()) { input[at] = static_cast<char>(random() % 256); }
                break;
            }
            case 3: input.insert(at, input.substr(at / 2, random() % 16)); break;
            default: {
                const std::string& other = inputs[random() % inputs.size()];
                input = input.substr(0, at) + other.substr(std::min(at, other.size()));
            }
        }
    }
    return input;
}

void run(const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

} // namespace

int main(int count, char** words) {
    if (count < 2) { return 2; }
    const std::vector<std::string> inputs = corpus(words[1]);
    if (inputs.empty()) { return 2; }
    const std::uint64_t seed = test::chosen_seed();
    std::fprintf(stderr, "AFTERTOUCH_SEED=%llu\n", static_cast<unsigned long long>(seed));
    for (const std::string& input : inputs) { run(input); }
    Random random{seed};
    const long by_day = count < 3 ? 0 : std::atol(words[2]);
    for (long rounds = test::is_night() ? 50 * by_day : by_day; rounds > 0; --rounds) {
        run(changed(inputs, random));
    }
}
