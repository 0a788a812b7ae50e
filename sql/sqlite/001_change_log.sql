-- Rendered by Aftertouch 0.1.0 from backends/sqlite; approve a change with: cmake --build build --target sql

-- Run with: sqlite3 -bail FILE < this; then it runs whole or not at all.
BEGIN IMMEDIATE;

-- One row: which log this is, and how far it has been pruned.
-- Undo: DROP TABLE, together with the other five.
CREATE TABLE "aftertouch_meta" (log_id TEXT NOT NULL, layout INTEGER NOT NULL, pruned_through INTEGER NOT NULL);

-- The change log: triggers append to it. Columns have no type, so that keys keep their
-- storage class; there is no constraint, so that no writer can fail on it; AUTOINCREMENT,
-- so that no number is given out twice. Put no trigger and no index that is unique on it.
CREATE TABLE "aftertouch_log" (seq INTEGER PRIMARY KEY AUTOINCREMENT, capture, operation, at, origin, k1, k2, k3, k4);

-- What is captured, as the program that installed it declared it.
CREATE TABLE "aftertouch_capture" (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL, incarnation TEXT NOT NULL);

-- How far each pipeline has come; written in the transaction of what its handler derives.
CREATE TABLE "aftertouch_checkpoint" (pipeline TEXT PRIMARY KEY NOT NULL, checkpoint TEXT NOT NULL, version INTEGER NOT NULL, attempts INTEGER NOT NULL, at REAL NOT NULL);

-- Changes that a pipeline has set aside since its handler failed on them. To have them
-- handed over again: UPDATE ... SET released = 1 WHERE pipeline = ... AND record = ...;
-- to give them up: DELETE. With all letters of a record alike, its changes stay in order.
CREATE TABLE "aftertouch_dead_letter" (id INTEGER PRIMARY KEY AUTOINCREMENT, pipeline TEXT NOT NULL, record TEXT NOT NULL, "key" TEXT NOT NULL, operation TEXT NOT NULL, change TEXT NOT NULL, error TEXT NOT NULL, attempts INTEGER NOT NULL, parked_at TEXT NOT NULL, released INTEGER NOT NULL DEFAULT 0);

-- Which instance may run a pipeline, and until when, as julianday tells it, unless it
-- renews. To let another one in: DELETE its row. Pipelines without a lease have none.
CREATE TABLE "aftertouch_lease" (pipeline TEXT PRIMARY KEY NOT NULL, holder TEXT NOT NULL, until REAL NOT NULL);

-- A random name tells this log from any other.
INSERT INTO "main"."aftertouch_meta" (log_id, layout, pruned_through) VALUES (lower(hex(randomblob(8))), 1, 0);

COMMIT;

