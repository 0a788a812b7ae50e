-- Rendered by Aftertouch 0.1.0 from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R 'postgres.O4'

-- Run with: psql -v ON_ERROR_STOP=1 -f this; then it runs whole or not at all.
BEGIN;

-- Captures no more.
DROP TRIGGER IF EXISTS "!aftertouch_2_delete" ON public.account;

-- Captures no more.
DROP TRIGGER IF EXISTS "!aftertouch_2_insert" ON public.account;

-- Captures no more.
DROP TRIGGER IF EXISTS "!aftertouch_2_truncate" ON public.account;

-- Captures no more.
DROP TRIGGER IF EXISTS "!aftertouch_2_update" ON public.account;

DROP FUNCTION aftertouch.capture_2_insert();

DROP FUNCTION aftertouch.capture_2_update();

DROP FUNCTION aftertouch.capture_2_delete();

DROP FUNCTION aftertouch.capture_2_truncate();

-- Its changes.
DELETE FROM aftertouch.log WHERE capture IN (2, -2);

-- The dead letters of its pipelines.
DELETE FROM aftertouch.dead_letter WHERE pipeline IN (SELECT pipeline FROM aftertouch.checkpoint WHERE split_part(checkpoint, ' ', 2) = (SELECT m.log_id || '.' || to_hex(s.system_identifier) || '.' || c.incarnation FROM aftertouch.meta AS m, aftertouch.capture AS c, pg_control_system() AS s WHERE c.id = 2));

-- The leases of its pipelines.
DELETE FROM aftertouch.lease WHERE pipeline IN (SELECT pipeline FROM aftertouch.checkpoint WHERE split_part(checkpoint, ' ', 2) = (SELECT m.log_id || '.' || to_hex(s.system_identifier) || '.' || c.incarnation FROM aftertouch.meta AS m, aftertouch.capture AS c, pg_control_system() AS s WHERE c.id = 2));

-- The lanes of its pipelines.
DELETE FROM aftertouch.lane WHERE pipeline IN (SELECT pipeline FROM aftertouch.checkpoint WHERE split_part(checkpoint, ' ', 2) = (SELECT m.log_id || '.' || to_hex(s.system_identifier) || '.' || c.incarnation FROM aftertouch.meta AS m, aftertouch.capture AS c, pg_control_system() AS s WHERE c.id = 2));

-- The standbys of its pipelines.
DELETE FROM aftertouch.standby WHERE pipeline IN (SELECT pipeline FROM aftertouch.checkpoint WHERE split_part(checkpoint, ' ', 2) = (SELECT m.log_id || '.' || to_hex(s.system_identifier) || '.' || c.incarnation FROM aftertouch.meta AS m, aftertouch.capture AS c, pg_control_system() AS s WHERE c.id = 2));

-- The checkpoints of its pipelines.
DELETE FROM aftertouch.checkpoint WHERE split_part(checkpoint, ' ', 2) = (SELECT m.log_id || '.' || to_hex(s.system_identifier) || '.' || c.incarnation FROM aftertouch.meta AS m, aftertouch.capture AS c, pg_control_system() AS s WHERE c.id = 2);

-- Its declaration.
DELETE FROM aftertouch.capture WHERE id = 2;

COMMIT;

