-- Rendered by Aftertouch 0.1.0 from backends/postgres; approve a change with: AFTERTOUCH_APPROVE=1 ctest -R 'postgres.O4'

-- The sample table that the other files are for.
CREATE TABLE account (id bigint PRIMARY KEY, owner text NOT NULL, balance double precision NOT NULL, note text);

