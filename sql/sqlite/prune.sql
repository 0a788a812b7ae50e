-- Rendered by Aftertouch 0.1.0 from backends/sqlite; approve a change with: cmake --build build --target sql

-- Prunes the log. Writers wait until it is through: on a large log Database::prune() holds them up less.
BEGIN IMMEDIATE;

-- Notes what every pipeline has handled: one that needs it later rebuilds. The
-- newest row stays: SQLite counts on from it. A pipeline that is gone for good
-- keeps everything: delete its row from aftertouch_checkpoint first.
UPDATE "main"."aftertouch_meta" SET pruned_through = max(pruned_through, coalesce((WITH text AS (SELECT substr(checkpoint, 5) AS rest FROM "main"."aftertouch_checkpoint" WHERE substr(checkpoint, 1, 4) = 'at1 '),
  word AS (SELECT substr(rest, 1, instr(rest, ' ') - 1) AS log, min(CAST(substr(rest, instr(rest, ' ') + 1) AS INTEGER), coalesce((SELECT CAST(substr(w, instr(w, '/') + 1) AS INTEGER) FROM (SELECT substr(v, 1, instr(v || ' ', ' ') - 1) AS w FROM (SELECT substr(substr(rest, instr(rest, ' ') + 1), instr(substr(rest, instr(rest, ' ') + 1), ' ') + 1) AS v)) WHERE instr(w, '/')), 9223372036854775807)) AS place FROM text)
SELECT min((SELECT min(w.place) FROM word AS w JOIN "main"."aftertouch_meta" AS m JOIN "main"."aftertouch_capture" AS c ON w.log = m.log_id || '.' || c.incarnation),
  (SELECT max(seq) - 1 FROM "main"."aftertouch_log"))), 0));

-- Removes it.
DELETE FROM "main"."aftertouch_log" WHERE seq <= (SELECT pruned_through FROM "main"."aftertouch_meta");

DELETE FROM "main"."aftertouch_image_2" WHERE seq <= (SELECT pruned_through FROM "main"."aftertouch_meta");

COMMIT;

