-- Rendered by Aftertouch 0.1.0 from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R 'postgres.O4'

-- Run with: psql -v ON_ERROR_STOP=1 -f this; then it runs whole or not at all.
BEGIN;

-- Captures no more.
DROP TRIGGER IF EXISTS "!aftertouch_1_delete" ON public.account;

-- Captures no more.
DROP TRIGGER IF EXISTS "!aftertouch_1_insert" ON public.account;

-- Captures no more.
DROP TRIGGER IF EXISTS "!aftertouch_1_truncate" ON public.account;

-- Captures no more.
DROP TRIGGER IF EXISTS "!aftertouch_1_update" ON public.account;

DROP FUNCTION aftertouch.capture_1_insert();

DROP FUNCTION aftertouch.capture_1_update();

DROP FUNCTION aftertouch.capture_1_delete();

DROP FUNCTION aftertouch.capture_1_truncate();

-- It was the last capture.
DROP TABLE aftertouch.meta;

-- It was the last capture.
DROP TABLE aftertouch.log;

-- It was the last capture.
DROP TABLE aftertouch.capture;

-- It was the last capture.
DROP TABLE aftertouch.checkpoint;

-- It was the last capture.
DROP TABLE aftertouch.dead_letter;

-- It was the last capture.
DROP TABLE aftertouch.lease;

-- It was the last capture.
DROP TABLE aftertouch.lane;

-- It was the last capture.
DROP TABLE aftertouch.standby;

-- It was the last capture.
DROP TABLE aftertouch.own_change;

DROP FUNCTION aftertouch.log_is_pruned_by_delete();

DROP SCHEMA aftertouch;

COMMIT;

