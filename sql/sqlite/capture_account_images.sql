-- Rendered by Aftertouch 0.1.0 from backends/sqlite; approve a change with: cmake --build build --target sql

-- Run with: sqlite3 -bail FILE < this; then it runs whole or not at all.
BEGIN IMMEDIATE;

-- Declares capture account_images.
INSERT INTO "main"."aftertouch_capture" (id, name, definition, incarnation) VALUES (2, 'account_images', 'table "account" key "id" operations insert,update,delete images "id" "owner" "balance"', lower(hex(randomblob(8))));

-- Images of account_images: before (b) and after (a) of the log row with the same seq.
CREATE TABLE "aftertouch_image_2" (seq INTEGER PRIMARY KEY, b1, b2, b3, a1, a2, a3);

-- Touches the rows that REPLACE may remove, for which no trigger runs. Costs a look-up in each
-- unique index. Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_images_insert_guard" BEFORE INSERT ON "account"
WHEN EXISTS (SELECT 1 FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner")
  OR EXISTS (SELECT 1 FROM "account" AS aftertouch_row
    WHERE "id" = NEW."id")
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1)
    SELECT 2, 'T', julianday('now'), "id" FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner";
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, b1, b2, b3)
    SELECT last_insert_rowid(), "id", "owner", "balance" FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner";
  INSERT INTO "aftertouch_log" (capture, operation, at, k1)
    SELECT 2, 'T', julianday('now'), "id" FROM "account" AS aftertouch_row
    WHERE "id" = NEW."id";
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, b1, b2, b3)
    SELECT last_insert_rowid(), "id", "owner", "balance" FROM "account" AS aftertouch_row
    WHERE "id" = NEW."id";
END;

-- Touches the rows that REPLACE may remove, for which no trigger runs. Costs a look-up in each
-- unique index. Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_images_update_guard" BEFORE UPDATE OF "owner" ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1)
    SELECT 2, 'T', julianday('now'), "id" FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner"
      AND ("id" IS NOT OLD."id");
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, b1, b2, b3)
    SELECT last_insert_rowid(), "id", "owner", "balance" FROM "account" AS aftertouch_row
    WHERE ("owner") COLLATE "NOCASE" = NEW."owner"
      AND ("id" IS NOT OLD."id");
END;

-- Touches the rows that REPLACE may remove, for which no trigger runs. Costs a look-up in each
-- unique index. Writes aftertouch_log. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_images_rowid_guard" BEFORE UPDATE ON "account"
WHEN OLD."id" IS NOT NEW."id"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1)
    SELECT 2, 'T', julianday('now'), "id" FROM "account" AS aftertouch_row
    WHERE "id" = NEW."id"
      AND ("id" IS NOT OLD."id");
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, b1, b2, b3)
    SELECT last_insert_rowid(), "id", "owner", "balance" FROM "account" AS aftertouch_row
    WHERE "id" = NEW."id"
      AND ("id" IS NOT OLD."id");
END;

-- Captures every insert.
-- Writes aftertouch_log and aftertouch_image_2. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_images_insert" AFTER INSERT ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'I', julianday('now'), NEW."id");
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, a1, a2, a3) VALUES (last_insert_rowid(), NEW."id", NEW."owner", NEW."balance");
END;

-- Captures every update.
-- Writes aftertouch_log and aftertouch_image_2. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_images_update" AFTER UPDATE ON "account"
WHEN OLD."id" IS NEW."id"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'U', julianday('now'), NEW."id");
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, b1, b2, b3, a1, a2, a3) VALUES (last_insert_rowid(), OLD."id", OLD."owner", OLD."balance", NEW."id", NEW."owner", NEW."balance");
END;

-- An update that changes the key: deleted under the old, inserted under the new.
-- Writes aftertouch_log and aftertouch_image_2. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_images_rekey" AFTER UPDATE ON "account"
WHEN NOT (OLD."id" IS NEW."id")
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'D', julianday('now'), OLD."id");
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, b1, b2, b3) VALUES (last_insert_rowid(), OLD."id", OLD."owner", OLD."balance");
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'I', julianday('now'), NEW."id");
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, a1, a2, a3) VALUES (last_insert_rowid(), NEW."id", NEW."owner", NEW."balance");
END;

-- Captures every delete.
-- Writes aftertouch_log and aftertouch_image_2. Undo: DROP TRIGGER.
CREATE TRIGGER "aftertouch_account_images_delete" AFTER DELETE ON "account"
BEGIN
  INSERT INTO "aftertouch_log" (capture, operation, at, k1) VALUES (2, 'D', julianday('now'), OLD."id");
  INSERT OR REPLACE INTO "aftertouch_image_2" (seq, b1, b2, b3) VALUES (last_insert_rowid(), OLD."id", OLD."owner", OLD."balance");
END;

COMMIT;

