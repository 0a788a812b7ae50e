// Three ways in which rows come: all of them (a rebuild), what the log holds (a replay), and live
// changes.
//
// Run with: examples/run 04_rebuild
//
// Expect: batches of at most 500; after changes that no trigger saw, a rebuild whose sweep finds
// them.
//
// expect: rebuilt 500, rebuilt 500, rebuilt 200, swept 0
// expect: followed 1
// expect: replayed 2
// expect: stale entries: 150
// expect: rebuilt 500, rebuilt 500, rebuilt 50, swept 150
// expect: stale entries: 0
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <cstdint>
#include <iostream>
#include <string>
namespace at = aftertouch;

struct Article {
    std::int64_t id;
    std::string title;
};
struct Entry {
    std::int64_t id;
    std::string title;
    std::int64_t generation; // of the rebuild that wrote it, or of the last one before its change
};

struct KeepEntries {
    void operator()(const at::Batch<Article>& batch, auto& tx) const {
        std::cout << (batch.rebuilt()     ? "rebuilt "
                         : batch.replay() ? "replayed "
                                          : "followed ")
                  << batch.changes().size() << (batch.rebuilt() ? ", " : "\n");
        for (const Article& now : batch.records()) {
            tx.upsert(Entry{now.id, now.title, batch.generation()});
        }
        for (const auto gone : batch.missing()) { tx.erase(at::type<Entry>, gone); }
    }
    // Behind the last row, in its transaction: what this rebuild didn't write has no article any
    // more.
    void rebuild_finished(std::int64_t generation, auto& tx) const {
        std::cout << "swept " << tx.execute("DELETE FROM entry WHERE generation <> $1", generation)
                  << '\n';
    }
};

void print_stale(at::sqlite::Database& shop) {
    const char* const sql = "SELECT count(*) FROM entry WHERE id NOT IN (SELECT id FROM article)";
    std::cout << "stale entries: " << shop.query(at::type<int>, sql).front() << '\n';
}

int main() {
    at::sqlite::Database shop{":memory:"};
    shop.create_table<Article>();
    shop.create_table<Entry>();
    shop.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) "
                 "INSERT INTO article SELECT i, 'article ' || i FROM n");

    at::Pipeline entries{at::source<Article>(), KeepEntries{}, shop, {.name = "entries"}};
    entries.start(); // there is no checkpoint yet
    entries.await_idle();
    shop.execute("UPDATE article SET title = 'new' WHERE id = 7");
    entries.await_idle();

    entries.stop();
    shop.execute("DELETE FROM article WHERE id = 7; INSERT INTO article VALUES (2000, 'newer')");
    entries.start();
    entries.await_idle();

    shop.transaction([](auto& tx) { // a connection without triggers: nobody is told
        sqlite3_db_config(tx.native(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
        tx.execute("DELETE FROM article WHERE id BETWEEN 1001 AND 1150");
        sqlite3_db_config(tx.native(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);
    });
    print_stale(shop);
    entries.rebuild();
    entries.await_idle();
    print_stale(shop);
}
