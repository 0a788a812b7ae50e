-- Rendered by Aftertouch 0.1.0 from backends/sqlite; approve a change with: cmake --build build --target sql

-- Each pipeline, how far it has come and what it is behind. Reads only.
WITH word AS (SELECT pipeline, attempts, at, substr(checkpoint, 5) AS rest FROM "main"."aftertouch_checkpoint"),
  place AS (SELECT *, substr(rest, 1, instr(rest, ' ') - 1) AS log, substr(rest, instr(rest, ' ') + 1) AS tail, (SELECT CAST(substr(w, instr(w, '/') + 1) AS INTEGER) FROM (SELECT substr(v, 1, instr(v || ' ', ' ') - 1) AS w FROM (SELECT substr(substr(rest, instr(rest, ' ') + 1), instr(substr(rest, instr(rest, ' ') + 1), ' ') + 1) AS v)) WHERE instr(w, '/')) AS low FROM word)
SELECT p.pipeline, c.name AS capture,
  CASE WHEN p.rest = '' THEN 'starting' WHEN p.tail LIKE '% r%' THEN 'rebuilding' ELSE 'following' END AS state,
  CAST(p.tail AS INTEGER) AS position,
  (SELECT count(*) FROM "main"."aftertouch_log" WHERE seq > CAST(p.tail AS INTEGER) AND capture = c.id OR seq > p.low AND capture = -c.id) AS lag_records,
  (SELECT coalesce(round((julianday('now') - min(at)) * 86400, 3), 0) FROM "main"."aftertouch_log" WHERE seq > CAST(p.tail AS INTEGER) AND capture = c.id OR seq > p.low AND capture = -c.id) AS lag_seconds,
  (SELECT count(*) FROM "main"."aftertouch_log" WHERE seq > p.low AND capture = -c.id) AS low_priority_lag_records,
  CASE WHEN p.tail LIKE '% r%' THEN substr(p.tail, instr(p.tail, ' r') + 2, instr(substr(p.tail || ' ', instr(p.tail, ' r') + 1), ' ') - 2) END AS rebuild_done_of_total,
  abs(p.attempts) AS failed_attempts, datetime(p.at) AS written,
  (SELECT count(*) FROM "main"."aftertouch_dead_letter" AS d WHERE d.pipeline = p.pipeline) AS dead_letters, l.holder AS lease_holder, datetime(l.until) AS lease_until
FROM place AS p LEFT JOIN "main"."aftertouch_lease" AS l ON l.pipeline = p.pipeline LEFT JOIN "main"."aftertouch_capture" AS c ON p.log = (SELECT log_id FROM "main"."aftertouch_meta") || '.' || c.incarnation
ORDER BY p.pipeline;

