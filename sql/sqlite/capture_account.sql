-- Rendered by Aftertouch 0.1.0 from backends/sqlite; approve a change with: cmake --build build --target sql

-- Run with: sqlite3 -bail FILE < this; then it runs whole or not at all.
BEGIN IMMEDIATE;

-- Declares capture account.
INSERT INTO "main"."aftertouch_capture" (id, name, definition, incarnation) VALUES (1, 'account', 'table "account" key "id" operations insert,update,delete', lower(hex(randomblob(8))));

-- Touches the rows that REPLACE may remove, for which no trigger runs. Costs a look-up in each
-- unique index. Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_insert_guard" BEFORE INSERT ON "account"
WHEN EXISTS (SELECT 1 FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner"
      AND ("id" IS NOT NEW."id" OR NEW."id" = -1))
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1)
    SELECT 1, 'T', julianday('now'), "id" FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner"
      AND ("id" IS NOT NEW."id" OR NEW."id" = -1);
END;

-- Touches the rows that REPLACE may remove, for which no trigger runs. Costs a look-up in each
-- unique index. Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_update_guard" BEFORE UPDATE OF "owner" ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1)
    SELECT 1, 'T', julianday('now'), "id" FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner"
      AND ("id" IS NOT OLD."id");
END;

-- Captures every insert.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_insert" AFTER INSERT ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (1, 'I', julianday('now'), NEW."id");
END;

-- Captures every update.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_update" AFTER UPDATE ON "account"
WHEN OLD."id" IS NEW."id"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (1, 'U', julianday('now'), NEW."id");
END;

-- An update that changes the key: deleted under the old, inserted under the new.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_rekey" AFTER UPDATE ON "account"
WHEN NOT (OLD."id" IS NEW."id")
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (1, 'D', julianday('now'), OLD."id");
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (1, 'I', julianday('now'), NEW."id");
END;

-- Captures every delete.
-- Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_delete" AFTER DELETE ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (1, 'D', julianday('now'), OLD."id");
END;

COMMIT;

