-- Rendered by Aftertouch 0.1.0 from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R 'postgres.O4'

-- Run with: psql -v ON_ERROR_STOP=1 -f this; then it runs whole or not at all.
BEGIN;

-- Declares capture account_low.
INSERT INTO aftertouch.capture (id, name, definition, incarnation) VALUES (2, 'account_low', 'table "account" key "id" operations insert,update,delete low priority', substr(replace(pg_catalog.gen_random_uuid()::text, '-', ''), 1, 16));

-- Captures each insert. It runs as its owner, who needs no rights but INSERT on aftertouch.log.
CREATE OR REPLACE FUNCTION aftertouch.capture_2_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $aftertouch$
#variable_conflict use_column
DECLARE
  written bigint;
BEGIN
    INSERT INTO aftertouch.log (capture, op, key)
      SELECT CASE WHEN pg_catalog.current_setting('aftertouch.priority', true) OPERATOR(pg_catalog.=) 'low' THEN -2 ELSE 2 END, 'I', pg_catalog.concat(r."id") FROM aftertouch_new AS r LIMIT 8;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written OPERATOR(pg_catalog.=) 8 THEN
      INSERT INTO aftertouch.log (capture, op, keys, key)
        SELECT CASE WHEN pg_catalog.current_setting('aftertouch.priority', true) OPERATOR(pg_catalog.=) 'low' THEN -2 ELSE 2 END, 'I', LEAST(500, pg_catalog.cardinality(a) OPERATOR(pg_catalog.-) i OPERATOR(pg_catalog.+) 1),
            pg_catalog.concat(a[i:i OPERATOR(pg_catalog.+) 499])
          FROM (SELECT pg_catalog.array_agg("id") AS a FROM (SELECT "id" FROM aftertouch_new OFFSET 8) AS rest) AS pod,
            pg_catalog.generate_series(1, pg_catalog.cardinality(a), 500) AS i;
    END IF;
  RETURN NULL;
END
$aftertouch$;

REVOKE ALL ON FUNCTION aftertouch.capture_2_insert() FROM PUBLIC;

-- Captures each update. It runs as its owner, who needs no rights but INSERT on aftertouch.log.
CREATE OR REPLACE FUNCTION aftertouch.capture_2_update() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $aftertouch$
#variable_conflict use_column
DECLARE
  written bigint;
BEGIN
  IF (SELECT ROW(pg_catalog.array_agg("id")) FROM (SELECT "id" FROM aftertouch_old) AS r) OPERATOR(pg_catalog.*=) (SELECT ROW(pg_catalog.array_agg("id")) FROM (SELECT "id" FROM aftertouch_new) AS r) THEN
    INSERT INTO aftertouch.log (capture, op, key)
      SELECT CASE WHEN pg_catalog.current_setting('aftertouch.priority', true) OPERATOR(pg_catalog.=) 'low' THEN -2 ELSE 2 END, 'U', pg_catalog.concat(r."id") FROM aftertouch_new AS r LIMIT 8;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written OPERATOR(pg_catalog.=) 8 THEN
      INSERT INTO aftertouch.log (capture, op, keys, key)
        SELECT CASE WHEN pg_catalog.current_setting('aftertouch.priority', true) OPERATOR(pg_catalog.=) 'low' THEN -2 ELSE 2 END, 'U', LEAST(500, pg_catalog.cardinality(a) OPERATOR(pg_catalog.-) i OPERATOR(pg_catalog.+) 1),
            pg_catalog.concat(a[i:i OPERATOR(pg_catalog.+) 499])
          FROM (SELECT pg_catalog.array_agg("id") AS a FROM (SELECT "id" FROM aftertouch_new OFFSET 8) AS rest) AS pod,
            pg_catalog.generate_series(1, pg_catalog.cardinality(a), 500) AS i;
    END IF;
  ELSE
    INSERT INTO aftertouch.log (capture, op, key)
      SELECT CASE WHEN pg_catalog.current_setting('aftertouch.priority', true) OPERATOR(pg_catalog.=) 'low' THEN -2 ELSE 2 END, e.op, e.key
        FROM (SELECT r."id", pg_catalog.row_number() OVER () AS aftertouch_place FROM aftertouch_old AS r) AS o
        JOIN (SELECT r."id", pg_catalog.row_number() OVER () AS aftertouch_place FROM aftertouch_new AS r) AS n ON n.aftertouch_place OPERATOR(pg_catalog.=) o.aftertouch_place
        CROSS JOIN LATERAL (
          SELECT 1, 'U'::pg_catalog."char", pg_catalog.concat(n."id") WHERE (SELECT ROW(o."id")) OPERATOR(pg_catalog.*=) (SELECT ROW(n."id"))
          UNION ALL SELECT 1, 'D'::pg_catalog."char", pg_catalog.concat(o."id") WHERE (SELECT ROW(o."id")) OPERATOR(pg_catalog.*<>) (SELECT ROW(n."id"))
          UNION ALL SELECT 2, 'I'::pg_catalog."char", pg_catalog.concat(n."id") WHERE (SELECT ROW(o."id")) OPERATOR(pg_catalog.*<>) (SELECT ROW(n."id"))) AS e(part, op, key)
        ORDER BY o.aftertouch_place, e.part;
  END IF;
  RETURN NULL;
END
$aftertouch$;

REVOKE ALL ON FUNCTION aftertouch.capture_2_update() FROM PUBLIC;

-- Captures each delete. It runs as its owner, who needs no rights but INSERT on aftertouch.log.
CREATE OR REPLACE FUNCTION aftertouch.capture_2_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $aftertouch$
#variable_conflict use_column
DECLARE
  written bigint;
BEGIN
    INSERT INTO aftertouch.log (capture, op, key)
      SELECT CASE WHEN pg_catalog.current_setting('aftertouch.priority', true) OPERATOR(pg_catalog.=) 'low' THEN -2 ELSE 2 END, 'D', pg_catalog.concat(r."id") FROM aftertouch_old AS r LIMIT 8;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written OPERATOR(pg_catalog.=) 8 THEN
      INSERT INTO aftertouch.log (capture, op, keys, key)
        SELECT CASE WHEN pg_catalog.current_setting('aftertouch.priority', true) OPERATOR(pg_catalog.=) 'low' THEN -2 ELSE 2 END, 'D', LEAST(500, pg_catalog.cardinality(a) OPERATOR(pg_catalog.-) i OPERATOR(pg_catalog.+) 1),
            pg_catalog.concat(a[i:i OPERATOR(pg_catalog.+) 499])
          FROM (SELECT pg_catalog.array_agg("id") AS a FROM (SELECT "id" FROM aftertouch_old OFFSET 8) AS rest) AS pod,
            pg_catalog.generate_series(1, pg_catalog.cardinality(a), 500) AS i;
    END IF;
  RETURN NULL;
END
$aftertouch$;

REVOKE ALL ON FUNCTION aftertouch.capture_2_delete() FROM PUBLIC;

-- Captures each truncate. It runs as its owner, who needs no rights but INSERT on aftertouch.log.
CREATE OR REPLACE FUNCTION aftertouch.capture_2_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $aftertouch$
BEGIN
  INSERT INTO aftertouch.log (capture, op) VALUES (2, 'X');
  RETURN NULL;
END
$aftertouch$;

REVOKE ALL ON FUNCTION aftertouch.capture_2_truncate() FROM PUBLIC;

-- Costs one call a statement. Undo: DROP TRIGGER.
CREATE OR REPLACE TRIGGER "!aftertouch_2_insert" AFTER insert ON public.account REFERENCING NEW TABLE AS aftertouch_new FOR EACH STATEMENT EXECUTE FUNCTION aftertouch.capture_2_insert();

-- Costs one call a statement. Undo: DROP TRIGGER.
CREATE OR REPLACE TRIGGER "!aftertouch_2_update" AFTER update ON public.account REFERENCING OLD TABLE AS aftertouch_old NEW TABLE AS aftertouch_new FOR EACH STATEMENT EXECUTE FUNCTION aftertouch.capture_2_update();

-- Costs one call a statement. Undo: DROP TRIGGER.
CREATE OR REPLACE TRIGGER "!aftertouch_2_delete" AFTER delete ON public.account REFERENCING OLD TABLE AS aftertouch_old FOR EACH STATEMENT EXECUTE FUNCTION aftertouch.capture_2_delete();

-- Costs one call a statement. Undo: DROP TRIGGER.
CREATE OR REPLACE TRIGGER "!aftertouch_2_truncate" AFTER truncate ON public.account FOR EACH STATEMENT EXECUTE FUNCTION aftertouch.capture_2_truncate();

COMMIT;

