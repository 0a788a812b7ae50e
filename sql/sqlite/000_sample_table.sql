-- Rendered by Aftertouch 0.1.0 from backends/sqlite; approve a change with: cmake --build build --target sql

-- The sample table that the other files are for.
CREATE TABLE "account" (id INTEGER PRIMARY KEY, owner TEXT NOT NULL COLLATE NOCASE UNIQUE, balance REAL NOT NULL, note TEXT);

