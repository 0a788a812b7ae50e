// What a pipeline costs, client and server together: the library against a loop by hand over the
// same rows, both in batches of 500 with the checkpoint in the same transaction. The loop sends
// checkpoint, COMMIT, BEGIN and the next read in one go, and reads binary.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/aftertouch.hpp>
#include <aftertouch/postgres.hpp>

#include <measure.hpp>
#include <postgres/benches.hpp>
#include <postgres/item.hpp>

namespace at = aftertouch;

namespace {

constexpr int batch_size = 500;
constexpr std::int64_t row_count = 50'000;
constexpr int rounds = 8;

struct Derived {
    std::int64_t id;
    double total;
    std::string label;
};

enum class Log { rows, pods };

// One-row statements leave a row each, one statement for all leaves pods.
void fill(bench::Plain& db, const std::string& table, Log log, std::int64_t count) {
    if (log == Log::pods) {
        db.run(bench::insert_items(table, 1, count));
        return;
    }
    db.run("DO $$ BEGIN FOR i IN 1.." + std::to_string(count) + " LOOP INSERT INTO " + table +
           " VALUES (i, i % 1000, 'open', i % 50, i * 0.5, 'a note about it'); END LOOP; END $$");
}

/// The database that the library follows: items, and a log with the insertion of each.
class Ours {
public:
    explicit Ours(Log log, std::int64_t count = row_count) {
        bench::create_items(admin_);
        at::install(database_, at::source<bench::Item>());
        fill(admin_, "item", log, count);
        admin_.run("VACUUM ANALYZE item");
        admin_.run("VACUUM ANALYZE aftertouch.log");
        database_.create_table<Derived>();
    }
    ~Ours() { at::remove(database_, at::source<bench::Item>()); }
    Ours(const Ours&) = delete;
    Ours& operator=(const Ours&) = delete;

    /// Fills the log as `count` one-row updates would.
    void log_touches(std::int64_t count) {
        admin_.run("INSERT INTO aftertouch.log (capture, op, key) SELECT c.id, 'U', i::text FROM "
                   "aftertouch.capture AS c, generate_series(1, " +
                   std::to_string(count) + ") AS i");
        admin_.run("VACUUM ANALYZE aftertouch.log");
    }

    template <class Handler>
    double drain(Handler handler) {
        at::Pipeline pipeline{at::source<bench::Item>(), std::move(handler), database_, options()};
        pipeline.run_once();
        pipeline.rewind(at::Timestamp{});
        pipeline.run_once();
        return bench::cpu_with_server(admin_, "ours", [&] { pipeline.drain(); });
    }

    template <class Handler>
    double rebuild(Handler handler) {
        at::Pipeline pipeline{at::source<bench::Item>(), std::move(handler), database_, options()};
        pipeline.rebuild();
        pipeline.run_once();
        return bench::cpu_with_server(admin_, "ours", [&] { pipeline.drain(); });
    }

private:
    [[nodiscard]] static at::Options options() {
        return {.name = "bench", .begin = at::Begin::now, .batch_size = batch_size};
    }

    bench::Plain admin_;
    at::postgres::Database database_{"application_name=ours"};
};

/// The loop written by hand, with everything prepared once.
class Floor {
public:
    struct Change {
        std::int64_t seq;
        char operation;
        std::int64_t at;
        std::int64_t key;
    };

    explicit Floor(Log log, std::int64_t count = row_count) : pods_{log == Log::pods} {
        bench::create_items(db_, "item_floor");
        bench::create_log(db_, "log_floor");
        if (pods_) {
            bench::create_pod_triggers(db_, "item_floor", "log_floor");
        } else {
            bench::create_row_triggers(db_, "item_floor", "log_floor");
        }
        fill(db_, "item_floor", log, count);
        db_.run("VACUUM ANALYZE item_floor");
        db_.run("VACUUM ANALYZE log_floor");
        db_.run("DROP TABLE IF EXISTS derived_floor; CREATE TABLE derived_floor (id bigint PRIMARY "
                "KEY, total double precision NOT NULL, label text NOT NULL)");
        db_.run("DROP TABLE IF EXISTS checkpoint_floor; CREATE TABLE checkpoint_floor (pipeline "
                "text PRIMARY KEY, position bigint NOT NULL) WITH (fillfactor = 50); INSERT INTO "
                "checkpoint_floor VALUES ('bench', 0)");
        db_.prepare("begin", "BEGIN");
        db_.prepare("commit", "COMMIT");
        db_.prepare("store", "UPDATE checkpoint_floor SET position = $1 WHERE pipeline = 'bench'");
        db_.prepare("read", "SELECT seq, op, at, " + std::string{pods_ ? "pod" : "key"} +
                                " FROM log_floor WHERE seq > $1 AND seq <= $2 AND NOT "
                                "pg_visible_in_snapshot(xid, $3::pg_snapshot) AND "
                                "pg_visible_in_snapshot(xid, $4::pg_snapshot) ORDER BY seq LIMIT " +
                                (pods_ ? "1" : "500"));
        db_.prepare("page",
            "SELECT id, customer, status, amount, price, note FROM item_floor WHERE "
            "id > $1 ORDER BY id LIMIT 500");
        db_.prepare("look_up", "SELECT id, customer, status, amount, price, note FROM item_floor "
                               "WHERE id = ANY($1::bigint[])");
        db_.prepare("upsert", "INSERT INTO derived_floor (id, total, label) VALUES ($1::bigint, "
                              "$2::float8, $3) ON CONFLICT (id) DO UPDATE SET total = "
                              "excluded.total, label = excluded.label");
    }

    template <class Handler>
    double drain(Handler handle) {
        return cost([&] {
            const std::string until = db_.text("SELECT pg_current_snapshot()");
            const std::string last =
                db_.text("SELECT pg_sequence_last_value('log_floor_seq_seq'::regclass)");
            std::int64_t position = 0;
            const auto read = [&] {
                const std::string text = std::to_string(position);
                db_.send("read", {text.c_str(), last.c_str(), "1:1:", until.c_str()});
            };
            run_batches(
                read, [&](const PGresult* result) { return take(result, position); }, position,
                [&] { handle(std::as_const(changes_)); });
        });
    }

    template <class Handler>
    double rebuild(Handler handle) {
        return cost([&] {
            std::int64_t last = 0;
            const auto read = [&] {
                const std::string text = std::to_string(last);
                db_.send("page", {text.c_str()});
            };
            run_batches(
                read,
                [&](const PGresult* result) {
                    read_rows(result);
                    if (!rows_.empty()) { last = rows_.back().id; }
                    return rows_.size() == batch_size;
                },
                last, [&] { handle(std::as_const(rows_)); });
        });
    }

    /// Sends all, then looks at the answers.
    void upsert_all(const std::vector<Change>& changes) {
        for (const Change& change : changes) {
            const std::string key = std::to_string(change.key);
            db_.send("upsert", {key.c_str(), "12.5", "derived"});
        }
        db_.sync();
        for (std::size_t i = 0; i < changes.size(); ++i) { db_.next(); }
        db_.synced();
    }

    /// The rows of `changes`.
    [[nodiscard]] const std::vector<bench::Item>& look_up(const std::vector<Change>& changes) {
        rows_.clear();
        if (changes.empty()) { return rows_; }
        std::string keys = "{";
        for (const Change& change : changes) { keys += std::to_string(change.key) + ','; }
        keys.back() = '}';
        db_.send("look_up", {keys.c_str()});
        db_.sync();
        read_rows(db_.next().get());
        db_.synced();
        return rows_;
    }

private:
    template <class Work>
    double cost(Work work) {
        const double before = bench::cpu_seconds() + db_.cpu();
        work();
        return bench::cpu_seconds() + db_.cpu() - before;
    }

    // Transactions: `read` sends, `take` reads the answer and says whether there may be more.
    template <class Read, class Take, class Handle>
    void run_batches(Read read, Take take, const std::int64_t& position, Handle handle) {
        PQenterPipelineMode(db_.get());
        bool more = true;
        bool first = true;
        while (more) {
            if (!first) {
                const std::string text = std::to_string(position);
                db_.send("store", {text.c_str()});
                db_.send("commit");
            }
            db_.send("begin");
            read();
            db_.sync();
            for (int skipped = first ? 1 : 3; skipped > 0; --skipped) { db_.next(); }
            more = take(db_.next().get());
            db_.synced();
            handle();
            first = false;
        }
        db_.send("commit");
        db_.sync();
        db_.next();
        db_.synced();
        PQexitPipelineMode(db_.get());
    }

    bool take(const PGresult* result, std::int64_t& position) {
        changes_.clear();
        for (int row = 0; row < PQntuples(result); ++row) {
            Change change{bench::integer<std::int64_t>(result, row, 0), *PQgetvalue(result, row, 1),
                bench::integer<std::int64_t>(result, row, 2), 0};
            position = change.seq;
            if (!pods_) {
                change.key = bench::integer<std::int64_t>(result, row, 3);
                changes_.push_back(change);
                continue;
            }
            // An array: a header of 20 bytes, then a length of 4 and a key of 8 each.
            const char* bytes = PQgetvalue(result, row, 3) + 20;
            const char* const end = PQgetvalue(result, row, 3) + PQgetlength(result, row, 3);
            for (; bytes < end; bytes += 12) {
                std::uint64_t key = 0;
                for (int i = 4; i < 12; ++i) {
                    key = key << 8 | static_cast<unsigned char>(bytes[i]);
                }
                change.key = static_cast<std::int64_t>(key);
                changes_.push_back(change);
            }
        }
        return changes_.size() == batch_size;
    }

    void read_rows(const PGresult* result) {
        const auto count = static_cast<std::size_t>(PQntuples(result));
        rows_.resize(count);
        const auto text = [&](int row, int column) {
            return std::string_view{PQgetvalue(result, row, column),
                static_cast<std::size_t>(PQgetlength(result, row, column))};
        };
        for (int row = 0; row < PQntuples(result); ++row) {
            bench::Item& item = rows_[static_cast<std::size_t>(row)];
            item.id = bench::integer<std::int64_t>(result, row, 0);
            item.customer = bench::integer<std::int64_t>(result, row, 1);
            item.status = text(row, 2);
            item.amount = bench::integer<std::int64_t>(result, row, 3);
            item.price = std::bit_cast<double>(bench::integer<std::uint64_t>(result, row, 4));
            item.note = text(row, 5);
        }
    }

    bool pods_;
    bench::Plain db_;
    std::vector<Change> changes_;
    std::vector<bench::Item> rows_;
};

constexpr auto nothing = [](const auto&, auto&) {};
constexpr auto nothing_by_hand = [](const auto&) {};

template <class OurSide, class FloorSide>
[[nodiscard]] bench::Duel duel(Log log, OurSide our_side, FloorSide floor_side) {
    Ours ours{log};
    Floor floor{log};
    bench::Duel duel;
    for (int round = 0; round < rounds; ++round) {
        duel.round([&] { return our_side(ours); }, [&] { return floor_side(floor); });
    }
    return duel;
}

[[nodiscard]] bench::Duel drain(Log log) {
    return duel(
        log, [](Ours& ours) { return ours.drain(nothing); },
        [](Floor& floor) { return floor.drain(nothing_by_hand); });
}

} // namespace

void bench_drain() { bench::report("drain", drain(Log::rows).rate(), bench::at_least(0.8)); }

void bench_pods() { bench::report("pods", drain(Log::pods).rate(), bench::at_least(0.75)); }

void bench_rebuild() {
    const bench::Duel both = duel(
        Log::pods, [](Ours& ours) { return ours.rebuild(nothing); },
        [](Floor& floor) { return floor.rebuild(nothing_by_hand); });
    bench::report("rebuild", both.cost(), bench::at_most(1.25));
}

void bench_handler() {
    static const std::string label = "derived";
    const bench::Duel both = duel(
        Log::rows,
        [](Ours& ours) {
            std::vector<Derived> rows;
            return ours.drain([&](const auto& batch, auto& tx) {
                rows.clear();
                for (const std::int64_t id : batch.ids()) { rows.push_back({id, 12.5, label}); }
                tx.upsert_all(rows);
            });
        },
        [](Floor& floor) {
            return floor.drain(
                [&](const std::vector<Floor::Change>& changes) { floor.upsert_all(changes); });
        });
    bench::report("handler.upserts", both.rate(), bench::at_least(0.8));
}

void bench_enrichment() {
    static volatile double sum = 0;
    const bench::Duel both = duel(
        Log::rows,
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
    bench::report("enrichment", both.cost(), bench::at_most(1.15));
}

// A large backlog costs each of its batches what a small one does.
void bench_windows() {
    const auto cost_of = [](std::int64_t count, int times) {
        Ours ours{Log::rows, 1};
        ours.log_touches(count);
        std::vector<double> costs;
        for (int i = 0; i < times; ++i) { costs.push_back(ours.drain(nothing)); }
        return bench::median(costs) / static_cast<double>(count);
    };
    const double small = cost_of(row_count, rounds);
    bench::report("window.million", cost_of(1'000'000, 3) / small, bench::at_most(1.15));
    bench::report("window.ten_million", cost_of(10'000'000, 1) / small, bench::at_most(1.15));
}

void bench_open_transaction() {
    Ours ours{Log::rows};
    bench::Plain other{"other"};
    bench::Duel both;
    for (int round = 0; round < rounds; ++round) {
        both.round(
            [&] {
                other.run("BEGIN; SELECT pg_current_xact_id()");
                const double took = ours.drain(nothing);
                other.run("ROLLBACK");
                return took;
            },
            [&] { return ours.drain(nothing); });
    }
    bench::report("open_transaction", both.cost(), bench::at_most(1.3));
}
