-- Rendered by Aftertouch 0.1.0 from backends/sqlite; approve a change with: cmake --build build --target sql

-- Run with: sqlite3 -bail FILE < this; then it runs whole or not at all.
BEGIN IMMEDIATE;

-- Captures no more.
DROP TRIGGER "main"."aftertouch_account_insert_guard";

-- Captures no more.
DROP TRIGGER "main"."aftertouch_account_update_guard";

-- Captures no more.
DROP TRIGGER "main"."aftertouch_account_insert";

-- Captures no more.
DROP TRIGGER "main"."aftertouch_account_update";

-- Captures no more.
DROP TRIGGER "main"."aftertouch_account_rekey";

-- Captures no more.
DROP TRIGGER "main"."aftertouch_account_delete";

-- Its changes, but for the row with the highest number, from which SQLite counts on.
DELETE FROM "main"."aftertouch_log" WHERE capture IN (1, -1) AND seq < (SELECT max(seq) FROM "main"."aftertouch_log");

-- That one, if it is of this capture, keeps its number alone.
UPDATE "main"."aftertouch_log" SET capture = NULL, k1 = NULL, k2 = NULL, k3 = NULL, k4 = NULL WHERE capture IN (1, -1);

-- The dead letters of its pipelines.
DELETE FROM "main"."aftertouch_dead_letter" WHERE pipeline IN (SELECT pipeline FROM "main"."aftertouch_checkpoint" WHERE substr(checkpoint, 5, instr(substr(checkpoint, 5), ' ') - 1) = (SELECT m.log_id || '.' || c.incarnation FROM "main"."aftertouch_meta" AS m, "main"."aftertouch_capture" AS c WHERE c.id = 1));

-- The leases of its pipelines.
DELETE FROM "main"."aftertouch_lease" WHERE pipeline IN (SELECT pipeline FROM "main"."aftertouch_checkpoint" WHERE substr(checkpoint, 5, instr(substr(checkpoint, 5), ' ') - 1) = (SELECT m.log_id || '.' || c.incarnation FROM "main"."aftertouch_meta" AS m, "main"."aftertouch_capture" AS c WHERE c.id = 1));

-- The checkpoints of its pipelines.
DELETE FROM "main"."aftertouch_checkpoint" WHERE substr(checkpoint, 5, instr(substr(checkpoint, 5), ' ') - 1) = (SELECT m.log_id || '.' || c.incarnation FROM "main"."aftertouch_meta" AS m, "main"."aftertouch_capture" AS c WHERE c.id = 1);

-- Its declaration.
DELETE FROM "main"."aftertouch_capture" WHERE id = 1;

COMMIT;

