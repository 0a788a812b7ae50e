-- Rendered by Aftertouch 0.1.0 from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R 'postgres.O4'

-- Removes from the log what every pipeline has handled. A pipeline that is gone for good keeps
-- everything: delete its row from aftertouch.checkpoint first.
WITH word AS (SELECT split_part(checkpoint, ' ', 2) AS log, split_part(place, '_', 1) AS place FROM aftertouch.checkpoint,
    LATERAL (VALUES (split_part(checkpoint, ' ', 3)), (split_part(split_part(checkpoint, ' ', 4), '/', 2))) AS v (place)),
  passed AS (SELECT CASE WHEN place ~ '^[1-9][0-9]*-[1-9][0-9]*-[0-9,]*$' THEN replace(place, '-', ':')::pg_snapshot END AS seen
    FROM word AS w JOIN aftertouch.meta AS m ON m.log_id = split_part(w.log, '.', 1) JOIN aftertouch.capture AS c ON c.incarnation = split_part(w.log, '.', 3)),
  oldest AS (SELECT seen FROM passed WHERE seen IS NOT NULL
    ORDER BY pg_snapshot_xmax(seen), (SELECT count(*) FROM pg_snapshot_xip(seen)) DESC LIMIT 1),
  allowed AS (SELECT o.seen FROM oldest AS o CROSS JOIN aftertouch.meta AS m
    WHERE m.through IS NULL OR (pg_snapshot_xmax(m.through) <= pg_snapshot_xmax(o.seen) AND NOT EXISTS (SELECT 1 FROM pg_snapshot_xip(o.seen) AS x WHERE pg_visible_in_snapshot(x, m.through)))
    FOR UPDATE OF m),
  gone AS (DELETE FROM aftertouch.log AS l USING allowed AS a WHERE pg_visible_in_snapshot(l.xid, a.seen) RETURNING l.at),
  own AS (DELETE FROM aftertouch.own_change AS o USING allowed AS a WHERE pg_visible_in_snapshot(o.xid, a.seen)),
  noted AS (UPDATE aftertouch.meta SET through = a.seen, pruned_at = coalesce(greatest(pruned_at, (SELECT max(at) FROM gone)), '-infinity') FROM allowed AS a)
SELECT count(*) AS removed FROM gone;

