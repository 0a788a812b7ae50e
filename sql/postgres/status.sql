-- Rendered by Aftertouch 0.1.0 from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R 'postgres.O4'

-- Each pipeline, how far it has come and what it is behind. Reads only.
WITH word AS (SELECT *, split_part(checkpoint, ' ', 2) AS log, split_part(checkpoint, ' ', 3) AS place, split_part(split_part(checkpoint, ' ', 4), '/', 2) AS low, split_part(checkpoint, ' ', 5) AS rebuild FROM aftertouch.checkpoint),
  seen AS (SELECT *, CASE WHEN place ~ '^[1-9][0-9]*-[1-9][0-9]*-[0-9,]*_' THEN replace(split_part(place, '_', 1), '-', ':')::pg_snapshot END AS snapshot,
    CASE WHEN low ~ '^[1-9][0-9]*-[1-9][0-9]*-[0-9,]*_' THEN replace(split_part(low, '_', 1), '-', ':')::pg_snapshot END AS low_snapshot FROM word)
SELECT p.pipeline, c.name AS capture,
  CASE WHEN p.place = '' THEN 'starting' WHEN p.rebuild LIKE 'r%' THEN 'rebuilding' ELSE 'following' END AS state, p.place AS position, w.lag_records, w.lag_seconds, w.low_priority_lag_records,
  CASE WHEN p.rebuild LIKE 'r%' THEN substr(p.rebuild, 2) END AS rebuild_done_of_total, abs(p.attempts) AS failed_attempts, p.at AS written,
  (SELECT count(*) FROM aftertouch.dead_letter AS d WHERE d.pipeline = p.pipeline) AS dead_letters, e.holder AS lease_holder, e.until AS lease_until
FROM seen AS p LEFT JOIN aftertouch.lease AS e ON e.pipeline = p.pipeline CROSS JOIN aftertouch.meta AS m LEFT JOIN aftertouch.capture AS c ON split_part(p.log, '.', 1) = m.log_id AND split_part(p.log, '.', 3) = c.incarnation,
  LATERAL (SELECT coalesce(sum(coalesce(l.keys, 1)), 0) AS lag_records, coalesce(round(extract(epoch FROM clock_timestamp() - min(l.at)), 3), 0) AS lag_seconds, coalesce(sum(coalesce(l.keys, 1)) FILTER (WHERE l.capture < 0), 0) AS low_priority_lag_records
    FROM aftertouch.log AS l WHERE (l.capture = c.id AND NOT pg_visible_in_snapshot(l.xid, p.snapshot)) OR (l.capture = -c.id AND NOT pg_visible_in_snapshot(l.xid, p.low_snapshot))) AS w
ORDER BY p.pipeline;

-- Who has written and not committed yet, the oldest first: these changes come when they are.
-- Roles without pg_read_all_stats see their own.
SELECT concat('session ', pid, ' of ', usename, ' in ' || datname, nullif(', ' || application_name, ', ')) AS open_transaction, xact_start AS since
  FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
UNION ALL SELECT concat('prepared transaction ', quote_literal(gid), ' of ', owner, ' in ', database), prepared FROM pg_prepared_xacts
ORDER BY since LIMIT 5;

