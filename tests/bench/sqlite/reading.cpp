// What a pipeline costs: the library against a loop in C over the same rows, both in batches of 500
// with the checkpoint in the same transaction.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>

#include <measure.hpp>
#include <sqlite/benches.hpp>
#include <sqlite/item.hpp>

namespace at = aftertouch;

namespace {

constexpr int batch_size = 500;
constexpr std::int64_t row_count = 100'000;
constexpr int rounds = 16;

struct Derived {
    std::int64_t id;
    double total;
    std::string label;
};

/// The database that the library follows: items, and a log with the insertion of each.
class Ours {
public:
    template <class Handler>
    double drain(Handler handler) {
        at::Pipeline pipeline{at::source<bench::Item>(), std::move(handler), database_, options()};
        pipeline.run_once();
        pipeline.rewind("0");
        pipeline.run_once();
        return bench::cpu_of([&] { pipeline.drain(); });
    }

    template <class Handler>
    double rebuild(Handler handler) {
        at::Pipeline pipeline{at::source<bench::Item>(), std::move(handler), database_, options()};
        pipeline.rebuild();
        pipeline.run_once();
        return bench::cpu_of([&] { pipeline.drain(); });
    }

    Ours() {
        bench::create_items(db_);
        at::install(database_, at::source<bench::Item>());
        bench::insert_items(db_, 1, row_count);
        database_.create_table<Derived>();
    }

private:
    [[nodiscard]] static at::Options options() {
        return {.name = "bench", .begin = at::Begin::now, .batch_size = batch_size};
    }
    static void as_floor(sqlite3* handle) {
        sqlite3_exec(handle, "PRAGMA synchronous = normal", nullptr, nullptr, nullptr);
    }

    bench::File file_;
    bench::Plain db_{file_.path()};
    at::sqlite::Database database_{file_.path(), {.on_open = as_floor}};
};

/// The loop written by hand, with everything prepared once.
class Floor {
public:
    struct Change {
        std::int64_t seq;
        char operation;
        double at;
        std::int64_t key;
    };

    Floor() {
        bench::create_items(db_);
        bench::create_log(db_);
        bench::create_touch_triggers(db_);
        bench::insert_items(db_, 1, row_count);
        db_.run("CREATE TABLE derived (id INTEGER PRIMARY KEY NOT NULL, total REAL NOT NULL, label "
                "TEXT NOT NULL)");
        begin_ = db_.prepare("BEGIN IMMEDIATE");
        commit_ = db_.prepare("COMMIT");
        store_ = db_.prepare("UPDATE checkpoint SET position = ?1 WHERE pipeline = 'bench'");
        read_ =
            db_.prepare("SELECT seq, operation, at, key FROM log WHERE seq > ?1 AND capture = 1 "
                        "ORDER BY seq LIMIT 500");
        page_ = db_.prepare("SELECT id, customer, status, amount, price, note FROM item WHERE id > "
                            "?1 ORDER BY id LIMIT 500");
        look_up_ =
            db_.prepare("SELECT id, customer, status, amount, price, note FROM item WHERE id = ?1");
        upsert_ = db_.prepare("INSERT INTO derived (id, total, label) VALUES (?1, ?2, ?3) ON "
                              "CONFLICT (id) DO UPDATE SET total = excluded.total, label = "
                              "excluded.label");
    }

    template <class Handler>
    double drain(Handler handle) {
        return bench::cpu_of([&] {
            std::int64_t position = 0;
            do {
                db_.step(begin_);
                position = read(position);
                handle(std::as_const(changes_));
                store(position);
                db_.step(commit_);
            } while (changes_.size() == batch_size);
        });
    }

    template <class Handler>
    double rebuild(Handler handle) {
        return bench::cpu_of([&] {
            std::int64_t last = 0;
            std::size_t count = 0;
            do {
                db_.step(begin_);
                count = read_page(last);
                if (count != 0) { last = rows_[count - 1].id; }
                handle(std::as_const(rows_));
                store(last);
                db_.step(commit_);
            } while (count == batch_size);
        });
    }

    void upsert(std::int64_t id, double total, const std::string& label) {
        sqlite3_bind_int64(upsert_, 1, id);
        sqlite3_bind_double(upsert_, 2, total);
        sqlite3_bind_text(upsert_, 3, label.data(), static_cast<int>(label.size()), SQLITE_STATIC);
        db_.step(upsert_);
    }

    /// The rows of `changes`, the way that handlers want them: kept until all are read.
    [[nodiscard]] const std::vector<bench::Item>& look_up(const std::vector<Change>& changes) {
        rows_.resize(batch_size);
        std::size_t count = 0;
        for (const Change& change : changes) {
            sqlite3_bind_int64(look_up_, 1, change.key);
            if (sqlite3_step(look_up_) == SQLITE_ROW) { read_row(look_up_, rows_[count++]); }
            sqlite3_reset(look_up_);
        }
        return rows_;
    }

private:
    std::int64_t read(std::int64_t position) {
        changes_.clear();
        sqlite3_bind_int64(read_, 1, position);
        while (sqlite3_step(read_) == SQLITE_ROW) {
            changes_.push_back(
                {sqlite3_column_int64(read_, 0), static_cast<char>(*sqlite3_column_text(read_, 1)),
                    sqlite3_column_double(read_, 2), sqlite3_column_int64(read_, 3)});
        }
        sqlite3_reset(read_);
        return changes_.empty() ? position : changes_.back().seq;
    }

    std::size_t read_page(std::int64_t last) {
        rows_.resize(batch_size);
        std::size_t count = 0;
        sqlite3_bind_int64(page_, 1, last);
        while (sqlite3_step(page_) == SQLITE_ROW) { read_row(page_, rows_[count++]); }
        sqlite3_reset(page_);
        return count;
    }

    static void read_row(sqlite3_stmt* row, bench::Item& item) {
        const auto text = [row](int column, std::string& out) {
            const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
            out.assign(begin, static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
        };
        item.id = sqlite3_column_int64(row, 0);
        item.customer = sqlite3_column_int64(row, 1);
        text(2, item.status);
        item.amount = sqlite3_column_int64(row, 3);
        item.price = sqlite3_column_double(row, 4);
        text(5, item.note);
    }

    void store(std::int64_t position) {
        sqlite3_bind_int64(store_, 1, position);
        db_.step(store_);
    }

    bench::File file_;
    bench::Plain db_{file_.path()};
    sqlite3_stmt* begin_ = nullptr;
    sqlite3_stmt* commit_ = nullptr;
    sqlite3_stmt* store_ = nullptr;
    sqlite3_stmt* read_ = nullptr;
    sqlite3_stmt* page_ = nullptr;
    sqlite3_stmt* look_up_ = nullptr;
    sqlite3_stmt* upsert_ = nullptr;
    std::vector<Change> changes_;
    std::vector<bench::Item> rows_;
};

constexpr auto nothing = [](const auto&, auto&) {};
constexpr auto nothing_by_hand = [](const auto&) {};

template <class OurSide, class FloorSide>
void measure(const char* name, OurSide our_side, FloorSide floor_side) {
    Ours ours;
    Floor floor;
    bench::Duel duel;
    for (int round = 0; round < rounds; ++round) {
        duel.round([&] { return our_side(ours); }, [&] { return floor_side(floor); });
    }
    bench::report(name, duel.rate(), bench::at_least(0.8));
}

} // namespace

void bench_drain() {
    measure(
        "drain", [](Ours& ours) { return ours.drain(nothing); },
        [](Floor& floor) { return floor.drain(nothing_by_hand); });
}

void bench_rebuild() {
    measure(
        "rebuild", [](Ours& ours) { return ours.rebuild(nothing); },
        [](Floor& floor) { return floor.rebuild(nothing_by_hand); });
}

void bench_handler() {
    static const std::string label = "derived";
    measure(
        "handler.upserts",
        [](Ours& ours) {
            return ours.drain([](const auto& batch, auto& tx) {
                for (const std::int64_t id : batch.ids()) { tx.upsert(Derived{id, 12.5, label}); }
            });
        },
        [](Floor& floor) {
            return floor.drain([&](const std::vector<Floor::Change>& changes) {
                for (const auto& change : changes) { floor.upsert(change.key, 12.5, label); }
            });
        });
}

void bench_enrichment() {
    static volatile double sum = 0;
    measure(
        "enrichment",
        [](Ours& ours) {
            return ours.drain([](const auto& batch, auto&) {
                for (const bench::Item& item : batch.records()) { sum = sum + item.price; }
            });
        },
        [](Floor& floor) {
            return floor.drain([&](const std::vector<Floor::Change>& changes) {
                for (const bench::Item& item : floor.look_up(changes)) { sum = sum + item.price; }
            });
        });
}
