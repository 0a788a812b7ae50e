// bench_postgres [prefix of a metric's name]: a line a metric on standard output.
#include <cstdio>
#include <string_view>

#include <postgres/benches.hpp>

namespace {

struct Bench {
    std::string_view name;
    void (*run)();
};
constexpr Bench benches[]{{"capture", bench_capture}, {"drain", bench_drain}, {"pods", bench_pods},
    {"rebuild", bench_rebuild}, {"handler", bench_handler}, {"enrichment", bench_enrichment},
    {"window", bench_windows}, {"open_transaction", bench_open_transaction},
    {"writers", bench_writers}, {"lanes", bench_lanes}};

} // namespace

int main(int count, char** arguments) {
    const std::string_view first = count > 1 ? arguments[1] : "";
    for (const Bench& bench : benches) {
        if (!bench.name.starts_with(first.substr(0, first.find('.')))) { continue; }
        std::fprintf(stderr, "bench: %s\n", bench.name.data());
        bench.run();
    }
}
