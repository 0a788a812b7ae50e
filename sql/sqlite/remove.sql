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

-- It was the last capture.
DROP TABLE "main"."aftertouch_meta";

-- It was the last capture.
DROP TABLE "main"."aftertouch_log";

-- It was the last capture.
DROP TABLE "main"."aftertouch_capture";

-- It was the last capture.
DROP TABLE "main"."aftertouch_checkpoint";

-- It was the last capture.
DROP TABLE "main"."aftertouch_dead_letter";

-- It was the last capture.
DROP TABLE "main"."aftertouch_lease";

COMMIT;

