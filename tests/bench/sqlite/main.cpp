// bench_sqlite [prefix of a metric's name]: a line a metric on standard output.
#include <cstdio>
#include <string_view>

#include <sqlite/benches.hpp>

namespace {

struct Bench {
    std::string_view name;
    void (*run)();
};
constexpr Bench benches[]{{"capture.touch", bench_capture}, {"capture.images", bench_images},
    {"drain", bench_drain}, {"rebuild", bench_rebuild}, {"handler", bench_handler},
    {"enrichment", bench_enrichment}, {"allocations", bench_allocations}, {"wake", bench_wake}};

} // namespace

int main(int count, char** arguments) {
    const std::string_view first = count > 1 ? arguments[1] : "";
    if (first == "--follow" && count > 2) {
        follow(arguments[2]);
        return 0;
    }
    for (const Bench& bench : benches) {
        if (!bench.name.starts_with(first)) { continue; }
        std::fprintf(stderr, "bench: %s\n", bench.name.data());
        bench.run();
    }
}
