-- Rendered by Aftertouch 0.1.0 from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R 'postgres.O4'

-- Run with: psql -v ON_ERROR_STOP=1 -f this; then it runs whole or not at all.
BEGIN;

-- What the library keeps: the log, checkpoints, and what is captured. Nobody but its owner has rights in it.
CREATE SCHEMA aftertouch;

-- One row: which log this is, and what may have been pruned from it: rows of transactions
-- that the snapshot sees, none newer than pruned_at. Undo: DROP SCHEMA aftertouch CASCADE, without captures.
CREATE TABLE aftertouch.meta (log_id text NOT NULL, layout integer NOT NULL, through pg_snapshot, pruned_at timestamp with time zone);

ALTER TABLE aftertouch.meta REPLICA IDENTITY FULL;

-- The change log: triggers append to it. No constraint that a writer could fail on. The
-- transaction's number is drawn before the row's (column order), numbers are given out one
-- by one (no CACHE): both must stay. Remove rows by DELETE only, never by TRUNCATE. A row
-- holds one key, or an array of `keys` keys; images are row literals.
CREATE TABLE aftertouch.log (xid xid8 NOT NULL DEFAULT pg_catalog.pg_current_xact_id(), seq bigint GENERATED ALWAYS AS IDENTITY, capture integer NOT NULL, op "char" NOT NULL, at timestamp with time zone NOT NULL DEFAULT pg_catalog.clock_timestamp(), keys integer, key text, image text);

CREATE INDEX log_position ON aftertouch.log (seq);

ALTER TABLE aftertouch.log REPLICA IDENTITY FULL;

CREATE OR REPLACE FUNCTION aftertouch.log_is_pruned_by_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'aftertouch.log isn''t truncated, which would lose changes: prune it by DELETE, as the README of the PostgreSQL backend says';
END
$$;

REVOKE ALL ON FUNCTION aftertouch.log_is_pruned_by_delete() FROM PUBLIC;

CREATE OR REPLACE TRIGGER log_is_pruned_by_delete BEFORE TRUNCATE ON aftertouch.log EXECUTE FUNCTION aftertouch.log_is_pruned_by_delete();

-- What is captured, as the program that installed it declared it.
CREATE TABLE aftertouch.capture (id integer PRIMARY KEY, name text NOT NULL UNIQUE, definition text NOT NULL, incarnation text NOT NULL);

-- How far each pipeline has come; written in the transaction of what its handler derives.
CREATE TABLE aftertouch.checkpoint (pipeline text PRIMARY KEY, checkpoint text NOT NULL, version bigint NOT NULL, attempts bigint NOT NULL, at timestamp with time zone NOT NULL, marks text NOT NULL) WITH (fillfactor = 50);

-- Changes that a pipeline has set aside since its handler failed on them. To have them
-- handed over again: UPDATE ... SET released = true WHERE pipeline = ... AND record = ...;
-- to give them up: DELETE. With all letters of a record alike, its changes stay in order.
CREATE TABLE aftertouch.dead_letter (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, pipeline text NOT NULL, record text NOT NULL, key text NOT NULL, operation text NOT NULL, change text NOT NULL, error text NOT NULL, attempts bigint NOT NULL, parked_at timestamp with time zone NOT NULL, released boolean NOT NULL DEFAULT false);

-- Which instance may run a pipeline, and until when unless it renews. To let another one in:
-- DELETE its row. Pipelines without a lease have none.
CREATE TABLE aftertouch.lease (pipeline text PRIMARY KEY, holder text NOT NULL, until timestamp with time zone NOT NULL) WITH (fillfactor = 50);

-- Which part of its changes each lane of a pipeline has handled last: the checkpoint says what
-- they were dealt. Pipelines without lanes have none.
CREATE TABLE aftertouch.lane (pipeline text, lane integer, deal bigint NOT NULL, PRIMARY KEY (pipeline, lane)) WITH (fillfactor = 50);

-- Which instances stand by for the one that holds a pipeline's lease, and take parts of what
-- its lanes are dealt.
CREATE TABLE aftertouch.standby (pipeline text, instance text, until timestamp with time zone NOT NULL, PRIMARY KEY (pipeline, instance)) WITH (fillfactor = 50);

-- Which transactions were a pipeline's own, for pipelines that leave out what they change.
CREATE TABLE aftertouch.own_change (xid xid8 NOT NULL, pipeline text NOT NULL);

CREATE INDEX own_change_xid ON aftertouch.own_change (xid);

ALTER TABLE aftertouch.own_change REPLICA IDENTITY FULL;

-- A random name tells this log from any other.
INSERT INTO aftertouch.meta (log_id, layout) VALUES (substr(replace(pg_catalog.gen_random_uuid()::text, '-', ''), 1, 16), 1);

COMMIT;

