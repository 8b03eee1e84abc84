-- The audit log of SQL over the network: one row per query, written before it runs.
CREATE TABLE sql_queries (
  request_id BLOB NOT NULL,
  account_id BLOB NOT NULL,
  key_id BLOB NOT NULL,
  door TEXT NOT NULL CHECK (door IN ('http', 'flight', 'mcp')),
  at_ms INTEGER NOT NULL,
  query TEXT NOT NULL,
  digest TEXT NOT NULL,
  -- The rest is known when the query has ended.
  snapshots TEXT,
  outcome TEXT,
  error TEXT,
  row_count INTEGER,
  byte_count INTEGER,
  duration_ms INTEGER
) STRICT;
CREATE INDEX sql_queries_by_time ON sql_queries (at_ms);
CREATE INDEX sql_queries_by_request ON sql_queries (request_id);
