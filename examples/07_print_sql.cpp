// The scripts that a database administrator runs where a program may not create triggers itself.
//
// Run with: examples/run 07_print_sql install shop.db | sqlite3 -bail shop.db (or status, or
// remove)
//
// Expect: SQL with its reasons in comments; without a database all three scripts, for a sample.
//
// expect: CREATE TABLE "aftertouch_log"
// expect: CREATE TRIGGER "aftertouch_sale_images_insert"
// expect: Each pipeline, how far it has come
// expect: DROP TRIGGER "main"\."aftertouch_sale_images_insert"
#include <aftertouch/aftertouch.hpp>
#include <aftertouch/sqlite.hpp>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
namespace at = aftertouch;

struct Sale {
    std::int64_t id;
    std::string customer;
    std::int64_t cents;
};

void print(const std::string& part, at::sqlite::Database& shop) {
    const auto sales = at::source<Sale>().images(); // what the program's pipelines follow
    if (part == "install") { std::cout << at::install_script(shop, sales); }
    if (part == "status") { std::cout << at::status_script(shop); }
    if (part == "remove") { std::cout << at::remove_script(shop, sales); }
}

int main(int count, char** arguments) {
    try {
        if (count == 3) {
            at::sqlite::Database shop{arguments[2], {.read_only = true}};
            print(arguments[1], shop);
            return 0;
        }
        at::sqlite::Database sample{":memory:"};
        sample.create_table<Sale>();
        print("install", sample);
        at::install(sample, at::source<Sale>().images());
        print("status", sample);
        print("remove", sample);
        // A program starts its pipelines with {.schema = at::Schema::verify} then: it compares, and
        // says in words what the script hasn't done.
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
