-- Rendered by Aftertouch 0.1.0 from backends/sqlite; approve a change with: cmake --build build --target sql

-- Run with: sqlite3 -bail FILE < this; then it runs whole or not at all.
BEGIN IMMEDIATE;

-- Declares capture account_low.
INSERT INTO "main"."aftertouch_capture" (id, name, definition, incarnation) VALUES (2, 'account_low', 'table "account" key "id" operations insert,update,delete low priority', lower(hex(randomblob(8))));

-- Marks what a transaction changes as of low priority, between
-- INSERT INTO aftertouch_low_priority SELECT coalesce(max(seq), 0) FROM aftertouch_log and
-- DELETE FROM aftertouch_low_priority. Undo: DROP TABLE, without captures that heed it.
CREATE TABLE "aftertouch_low_priority" (since INTEGER NOT NULL);

-- Touches the rows that REPLACE may remove, for which no trigger runs. Costs a look-up in each
-- unique index. Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_low_insert_guard" BEFORE INSERT ON "account"
WHEN EXISTS (SELECT 1 FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner"
      AND ("id" IS NOT NEW."id" OR NEW."id" = -1))
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1)
    SELECT 2, 'T', julianday('now'), "id" FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner"
      AND ("id" IS NOT NEW."id" OR NEW."id" = -1);
END;

-- Touches the rows that REPLACE may remove, for which no trigger runs. Costs a look-up in each
-- unique index. Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_low_update_guard" BEFORE UPDATE OF "owner" ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1)
    SELECT 2, 'T', julianday('now'), "id" FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner"
      AND ("id" IS NOT OLD."id");
END;

-- Captures every insert.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_low_insert" AFTER INSERT ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'I', julianday('now'), NEW."id");
END;

-- Captures every update.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_low_update" AFTER UPDATE ON "account"
WHEN OLD."id" IS NEW."id"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'U', julianday('now'), NEW."id");
END;

-- An update that changes the key: deleted under the old, inserted under the new.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_low_rekey" AFTER UPDATE ON "account"
WHEN NOT (OLD."id" IS NEW."id")
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'D', julianday('now'), OLD."id");
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'I', julianday('now'), NEW."id");
END;

-- Captures every delete.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_low_delete" AFTER DELETE ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'D', julianday('now'), OLD."id");
END;

-- Gives changes that were marked as of low priority their own place in the log.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_low_low" AFTER DELETE ON "aftertouch_low_priority"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, origin, k1) SELECT -2, operation, at, origin, k1 FROM "aftertouch_log" WHERE seq > max(OLD.since, coalesce((SELECT max(since) FROM "aftertouch_low_priority"), 0)) AND capture = 2 ORDER BY seq;
  DELETE FROM "aftertouch_log" WHERE seq > max(OLD.since, coalesce((SELECT max(since) FROM "aftertouch_low_priority"), 0)) AND capture = 2;
END;

COMMIT;

