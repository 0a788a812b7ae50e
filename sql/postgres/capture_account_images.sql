-- Rendered by Aftertouch 0.1.0 from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R 'postgres.O4'

-- Run with: psql -v ON_ERROR_STOP=1 -f this; then it runs whole or not at all.
BEGIN;

-- Declares capture account_images.
INSERT INTO aftertouch.capture (id, name, definition, incarnation) VALUES (2, 'account_images', 'table "account" key "id" operations insert,update,delete images "id" "owner" "balance"', substr(replace(pg_catalog.gen_random_uuid()::text, '-', ''), 1, 16));

-- Captures each insert. It runs as its owner, who needs no rights but INSERT on aftertouch.log.
CREATE OR REPLACE FUNCTION aftertouch.capture_2_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET extra_float_digits = '1' AS $aftertouch$
#variable_conflict use_column
BEGIN
    INSERT INTO aftertouch.log (capture, op, key, image)
      SELECT 2, 'I', pg_catalog.concat(r."id"), pg_catalog.concat(ROW(r."id", r."owner", r."balance")) FROM aftertouch_new AS r;
  RETURN NULL;
END
$aftertouch$;

REVOKE ALL ON FUNCTION aftertouch.capture_2_insert() FROM PUBLIC;

-- Captures each update. It runs as its owner, who needs no rights but INSERT on aftertouch.log.
CREATE OR REPLACE FUNCTION aftertouch.capture_2_update() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET extra_float_digits = '1' AS $aftertouch$
#variable_conflict use_column
BEGIN
    INSERT INTO aftertouch.log (capture, op, key, image)
      SELECT 2, e.op, e.key, e.image
        FROM (SELECT r."id", r."owner", r."balance", pg_catalog.row_number() OVER () AS aftertouch_place FROM aftertouch_old AS r) AS o
        JOIN (SELECT r."id", r."owner", r."balance", pg_catalog.row_number() OVER () AS aftertouch_place FROM aftertouch_new AS r) AS n ON n.aftertouch_place OPERATOR(pg_catalog.=) o.aftertouch_place
        CROSS JOIN LATERAL (
          SELECT 1, 'U'::pg_catalog."char", pg_catalog.concat(n."id"), pg_catalog.concat(ROW(o."id", o."owner", o."balance"), ROW(n."id", n."owner", n."balance")) WHERE (SELECT ROW(o."id")) OPERATOR(pg_catalog.*=) (SELECT ROW(n."id"))
          UNION ALL SELECT 1, 'D'::pg_catalog."char", pg_catalog.concat(o."id"), pg_catalog.concat(ROW(o."id", o."owner", o."balance")) WHERE (SELECT ROW(o."id")) OPERATOR(pg_catalog.*<>) (SELECT ROW(n."id"))
          UNION ALL SELECT 2, 'I'::pg_catalog."char", pg_catalog.concat(n."id"), pg_catalog.concat(ROW(n."id", n."owner", n."balance")) WHERE (SELECT ROW(o."id")) OPERATOR(pg_catalog.*<>) (SELECT ROW(n."id"))) AS e(part, op, key, image)
        ORDER BY o.aftertouch_place, e.part;
  RETURN NULL;
END
$aftertouch$;

REVOKE ALL ON FUNCTION aftertouch.capture_2_update() FROM PUBLIC;

-- Captures each delete. It runs as its owner, who needs no rights but INSERT on aftertouch.log.
CREATE OR REPLACE FUNCTION aftertouch.capture_2_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET extra_float_digits = '1' AS $aftertouch$
#variable_conflict use_column
BEGIN
    INSERT INTO aftertouch.log (capture, op, key, image)
      SELECT 2, 'D', pg_catalog.concat(r."id"), pg_catalog.concat(ROW(r."id", r."owner", r."balance")) FROM aftertouch_old AS r;
  RETURN NULL;
END
$aftertouch$;

REVOKE ALL ON FUNCTION aftertouch.capture_2_delete() FROM PUBLIC;

-- Captures each truncate. It runs as its owner, who needs no rights but INSERT on aftertouch.log.
CREATE OR REPLACE FUNCTION aftertouch.capture_2_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET extra_float_digits = '1' AS $aftertouch$
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

