// Allocations in the read path: how many a change costs when storage is warm. SQLite's own aren't
// counted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

#include <measure.hpp>
#include <sqlite/benches.hpp>
#include <sqlite/item.hpp>

namespace at = aftertouch;

namespace {

thread_local std::size_t allocations = 0;

void* counted(std::size_t size) {
    ++allocations;
    void* found = std::malloc(size == 0 ? 1 : size);
    if (found == nullptr) { throw std::bad_alloc{}; }
    return found;
}

} // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

constexpr std::int64_t changes = 20'000;

struct Derived {
    std::int64_t id;
    double price;
};

template <class Source, class Handler>
class Reading {
public:
    Reading(Source source, Handler handler)
        : source_{std::move(source)}, handler_{std::move(handler)} {
        bench::create_items(db_);
        at::install(database_, source_);
        bench::insert_items(db_, 1, changes);
        database_.create_table<Derived>();
    }

    /// Allocations of a whole drain, or of a rebuild, when the storage is there.
    [[nodiscard]] double drain(std::size_t batch_size, bool rebuild) {
        at::Pipeline pipeline{source_, handler_, database_,
            {.name = "bench", .begin = at::Begin::now, .batch_size = batch_size}};
        pipeline.run_once();
        double count = 0;
        for (int pass = 0; pass < 2; ++pass) {
            rebuild ? pipeline.rebuild() : pipeline.rewind("0");
            pipeline.run_once();
            const std::size_t before = allocations;
            pipeline.drain();
            count = static_cast<double>(allocations - before);
        }
        return count;
    }

private:
    bench::File file_;
    bench::Plain db_{file_.path()};
    at::sqlite::Database database_{file_.path()};
    Source source_;
    Handler handler_;
};

/// What belongs to a change and what to a batch: a drain in batches half as large has the same
/// changes and twice the batches.
template <class Source, class Handler>
void measure(const std::string& what, Source source, Handler handler, bool rebuild = false) {
    Reading reading{std::move(source), std::move(handler)};
    const double large = reading.drain(500, rebuild);
    const double small = reading.drain(250, rebuild);
    const double a_batch = (small - large) / (changes / 500.0);
    const double a_change = (large - a_batch * (changes / 500.0)) / changes;
    bench::report("allocations.change." + what, a_change < 0.001 ? 0 : a_change, bench::at_most(0));
    bench::report("allocations.batch." + what, a_batch, bench::at_most(10));
}

} // namespace

void bench_allocations() {
    const auto source = at::source<bench::Item>();
    const auto nothing = [](const auto&, auto&) {};
    measure("touches", source, nothing);
    measure("images", source.images(), nothing);
    measure("records", source, [](const auto& batch, auto&) { (void)batch.records().size(); });
    measure("rebuild", source, nothing, true);
    measure("upserts", source, [](const auto& batch, auto& tx) {
        for (const bench::Item& item : batch.records()) { tx.upsert(Derived{item.id, item.price}); }
    });
}
