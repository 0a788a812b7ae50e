// What writers pay: the library's triggers against none and against triggers written by hand, under
// the same writer. CPU of the server.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/postgres.hpp>

#include <measure.hpp>
#include <postgres/benches.hpp>
#include <postgres/item.hpp>

namespace at = aftertouch;

namespace {

constexpr std::array operations{"insert", "update", "delete", "copy"};
constexpr std::int64_t bulk_rows = 100'000;
constexpr int rounds = 8;

/// A program that writes items of one table. Each call answers CPU seconds of the server.
class Writer {
public:
    explicit Writer(std::string table) : table_{std::move(table)} {}

    [[nodiscard]] bench::Plain& db() noexcept { return db_; }

    /// To be called when the triggers are there.
    void prepare() {
        db_.prepare("insert",
            "INSERT INTO " + table_ + " VALUES ($1::bigint, 7, 'open', 3, 9.5, 'a note about it')");
        db_.prepare(
            "update", "UPDATE " + table_ + " SET amount = amount + 1 WHERE id = $1::bigint");
        db_.prepare("delete", "DELETE FROM " + table_ + " WHERE id = $1::bigint");
    }

    // 100 statements a transaction, in a pipeline.
    [[nodiscard]] double one_row(std::size_t operation) {
        constexpr std::int64_t count = 10'000;
        constexpr std::int64_t size = 100;
        const double before = db_.cpu();
        PQenterPipelineMode(db_.get());
        for (std::int64_t begin = 0; begin < count; begin += size) {
            for (std::int64_t id = begin + 1; id <= begin + size; ++id) {
                const std::string key = std::to_string(id);
                db_.send(operations[operation], {key.c_str()});
            }
            db_.sync();
            for (std::int64_t i = 0; i < size; ++i) { db_.next(); }
            db_.synced();
        }
        PQexitPipelineMode(db_.get());
        return db_.cpu() - before;
    }

    [[nodiscard]] double bulk(std::size_t operation) {
        const double before = db_.cpu();
        switch (operation) {
            case 0: db_.run(bench::insert_items(table_, 1, bulk_rows)); break;
            case 1: db_.run("UPDATE " + table_ + " SET amount = amount + 1"); break;
            case 2: db_.run("DELETE FROM " + table_); break;
            default: copy();
        }
        return db_.cpu() - before;
    }

    /// Nothing is left; outside of what is measured.
    void empty(const std::string& log) {
        db_.run("TRUNCATE " + table_);
        if (!log.empty()) { db_.run("DELETE FROM " + log); }
        db_.run("VACUUM " + table_);
        if (!log.empty()) { db_.run("VACUUM " + log); }
    }

private:
    void copy() {
        static const std::string lines = [] {
            std::string all;
            for (std::int64_t i = 1; i <= bulk_rows; ++i) {
                all += std::to_string(i) + "\t7\topen\t3\t9.5\ta note about it\n";
            }
            return all;
        }();
        db_.run("COPY " + table_ + " FROM STDIN");
        PQputCopyData(db_.get(), lines.data(), static_cast<int>(lines.size()));
        PQputCopyEnd(db_.get(), nullptr);
        db_.checked(PQgetResult(db_.get()));
        PQclear(PQgetResult(db_.get()));
    }

    std::string table_;
    bench::Plain db_;
};

using Ways = std::array<bench::Duel, operations.size()>;

void measure(Ways& ways, Writer& ours, Writer& floor, const std::string& floor_log,
    double (Writer::*write)(std::size_t), std::size_t count) {
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t operation = 0; operation < count; ++operation) {
            if (operation == 3) { // COPY into an empty table
                ours.empty("aftertouch.log");
                floor.empty(floor_log);
            }
            ways[operation].round([&] { return (ours.*write)(operation); },
                [&] { return (floor.*write)(operation); });
        }
        ours.empty("aftertouch.log");
        floor.empty(floor_log);
    }
}

void report(const std::string& prefix, const Ways& ways, const std::array<double, 4>& targets,
    std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        bench::report(prefix + '.' + operations[i], ways[i].cost(), bench::at_most(targets[i]));
    }
}

} // namespace

void bench_capture() {
    bench::Plain admin;
    for (const char* table : {"item", "item_none", "item_row", "item_pod"}) {
        bench::create_items(admin, table);
    }
    at::postgres::Database database{""};
    at::install(database, at::source<bench::Item>());
    bench::create_log(admin, "log_row");
    bench::create_row_triggers(admin, "item_row", "log_row");
    bench::create_log(admin, "log_pod");
    bench::create_pod_triggers(admin, "item_pod", "log_pod");
    Writer ours{"item"};
    Writer none{"item_none"};
    Writer row{"item_row"};
    Writer pod{"item_pod"};
    for (Writer* writer : {&ours, &none, &row, &pod}) { writer->prepare(); }

    Ways one;
    measure(one, ours, row, "log_row", &Writer::one_row, 3);
    report("capture.one_row", one, {1.25, 1.25, 1.25, 0}, 3);
    Ways bulk;
    measure(bulk, ours, none, "", &Writer::bulk, 4);
    report("capture.bulk", bulk, {1.75, 1.45, 2, 1.9}, 4);
    Ways pods;
    measure(pods, ours, pod, "log_pod", &Writer::bulk, 4);
    report("capture.bulk_over_pods", pods, {1.2, 1.2, 1.2, 1.2}, 4);

    const auto size = [&] {
        return std::stod(admin.text("SELECT pg_total_relation_size('aftertouch.log')"));
    };
    admin.run("VACUUM FULL aftertouch.log");
    const double before = size();
    static_cast<void>(ours.bulk(0));
    bench::report("capture.bytes_a_change", (size() - before) / bulk_rows, bench::at_most(6));
    at::remove(database, at::source<bench::Item>());
}
