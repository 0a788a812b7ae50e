// What writers pay: the library's triggers against triggers written by hand, under the same
// writer.
#include <array>
#include <cstdint>
#include <string>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

#include <measure.hpp>
#include <sqlite/benches.hpp>
#include <sqlite/item.hpp>

namespace at = aftertouch;

namespace {

constexpr std::array operations{"insert", "update", "delete"};

/// A program that writes items, in three ways. Each answers its CPU time.
class Writer {
public:
    Writer() : db_{file_.path()} {
        bench::create_items(db_);
        db_.run("PRAGMA wal_autocheckpoint = 0");
    }

    [[nodiscard]] bench::Plain& db() noexcept { return db_; }
    [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

    /// To be called when the triggers are there.
    void prepare() {
        statements_ = {
            db_.prepare("INSERT INTO item VALUES (?1, 7, 'open', 3, 9.5, 'a note about it')"),
            db_.prepare("UPDATE item SET amount = amount + 1 WHERE id = ?1"),
            db_.prepare("DELETE FROM item WHERE id = ?1")};
    }

    [[nodiscard]] double autocommit(std::size_t operation) {
        constexpr std::int64_t count = 1000;
        return bench::cpu_of([&] {
            for (std::int64_t id = 1; id <= count; ++id) { one(operation, id); }
        });
    }

    [[nodiscard]] double transactions(std::size_t operation) {
        constexpr std::int64_t count = 20'000;
        constexpr std::int64_t size = 1000;
        return bench::cpu_of([&] {
            for (std::int64_t begin = 0; begin < count; begin += size) {
                db_.run("BEGIN");
                for (std::int64_t id = begin + 1; id <= begin + size; ++id) { one(operation, id); }
                db_.run("COMMIT");
            }
        });
    }

    [[nodiscard]] double bulk(std::size_t operation) {
        constexpr std::int64_t count = 50'000;
        return bench::cpu_of([&] {
            switch (operation) {
                case 0: bench::insert_items(db_, 1, count); break;
                case 1: db_.run("UPDATE item SET amount = amount + 1"); break;
                default: db_.run("DELETE FROM item WHERE id > 0");
            }
        });
    }

private:
    void one(std::size_t operation, std::int64_t id) {
        sqlite3_bind_int64(statements_[operation], 1, id);
        db_.step(statements_[operation]);
    }

    bench::File file_;
    bench::Plain db_;
    std::array<sqlite3_stmt*, 3> statements_{};
};

struct Way {
    const char* name;
    double (Writer::*write)(std::size_t operation);
    bench::Duel duels[3];
};

void measure(const std::string& prefix, Writer& ours, Writer& floor, const std::string& empty_ours,
    const std::string& empty_floor) {
    std::array ways{Way{"autocommit", &Writer::autocommit, {}},
        Way{"transactions", &Writer::transactions, {}}, Way{"bulk", &Writer::bulk, {}}};
    ours.prepare();
    floor.prepare();
    for (int round = 0; round < 10; ++round) {
        for (Way& way : ways) {
            for (std::size_t operation = 0; operation < operations.size(); ++operation) {
                way.duels[operation].round([&] { return (ours.*way.write)(operation); },
                    [&] { return (floor.*way.write)(operation); });
                ours.db().tidy();
                floor.db().tidy();
            }
            ours.db().run(empty_ours);
            floor.db().run(empty_floor);
        }
    }
    for (const Way& way : ways) {
        for (std::size_t operation = 0; operation < operations.size(); ++operation) {
            bench::report(prefix + '.' + way.name + '.' + operations[operation],
                way.duels[operation].cost(), bench::at_most(1.1));
        }
    }
}

} // namespace

void bench_capture() {
    Writer ours;
    at::sqlite::Database database{ours.path()};
    at::install(database, at::source<bench::Item>());
    Writer floor;
    bench::create_log(floor.db());
    bench::create_touch_triggers(floor.db());
    measure("capture.touch", ours, floor, "DELETE FROM aftertouch_log", "DELETE FROM log");
}

void bench_images() {
    Writer ours;
    at::sqlite::Database database{ours.path()};
    at::install(database, at::source<bench::Item>().images());
    Writer floor;
    bench::create_log(floor.db());
    bench::create_image_triggers(floor.db());
    measure("capture.images", ours, floor,
        "DELETE FROM aftertouch_log; DELETE FROM aftertouch_image_1",
        "DELETE FROM log; DELETE FROM image");
}
