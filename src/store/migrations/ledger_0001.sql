-- One row for each answered call that counts.
CREATE TABLE ledger (
  request_id BLOB PRIMARY KEY NOT NULL,
  account_id BLOB NOT NULL,
  key_id BLOB NOT NULL,
  type TEXT NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Daily sums (UTC), updated in the same transaction.
CREATE TABLE consumption (
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  type TEXT NOT NULL,
  day TEXT NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (account_id, key_id, type, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX consumption_by_key ON consumption (key_id, day);

-- The audit log of SQL over the network: one row per query, written before it runs.
CREATE TABLE sql_queries (
  request_id BLOB NOT NULL,
  account_id BLOB NOT NULL,
  key_id BLOB NOT NULL,
  protocol TEXT NOT NULL CHECK (protocol IN ('http', 'flight', 'mcp')),
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

-- Consumption that replicas meter and their writer adds up. On a replica: who it is, and the number of its next shipment.
CREATE TABLE shipping (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  replica TEXT NOT NULL,
  next INTEGER NOT NULL
) STRICT;
-- What of the daily sums is in a shipment.
CREATE TABLE shipped (
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  type TEXT NOT NULL,
  day TEXT NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (account_id, key_id, type, day)
) STRICT, WITHOUT ROWID;
-- Shipments that may not have arrived yet: JSON, which is never changed.
CREATE TABLE shipments (
  shipment INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
-- On a writer: the shipments whose sums are in its own. One row each, so that none is added twice.
CREATE TABLE shipments_taken (
  replica TEXT NOT NULL,
  shipment INTEGER NOT NULL,
  PRIMARY KEY (replica, shipment)
) STRICT, WITHOUT ROWID;

-- Calls under an Idempotency-Key, for a day: with the response, or without a body if it is not stored, or no longer.
CREATE TABLE stored_answers (
  account_id BLOB NOT NULL,
  idempotency_key TEXT NOT NULL,
  request_digest BLOB NOT NULL,
  -- Of the call that was made, as in `ledger`.
  request_id BLOB NOT NULL,
  status INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  -- 1 if the call only reads, so that it can be made again when there is no body; 0 if it changes something.
  is_repeatable INTEGER NOT NULL,
  -- Length of the response.
  bytes INTEGER NOT NULL,
  -- The response, compressed (zstd); NULL if only the reference is kept.
  body BLOB,
  stored_at_ms INTEGER NOT NULL,
  -- Of digest, status, media type, length and body.
  checksum BLOB NOT NULL,
  PRIMARY KEY (account_id, idempotency_key)
) STRICT;
CREATE INDEX stored_answers_by_age ON stored_answers (stored_at_ms);
CREATE INDEX stored_answers_by_account ON stored_answers (account_id, stored_at_ms);
-- In the order in which bodies make room.
CREATE INDEX stored_answers_with_body ON stored_answers (account_id, is_repeatable DESC, stored_at_ms)
WHERE body IS NOT NULL;

-- Rows of each account and the bytes that their bodies take, kept by triggers.
CREATE TABLE stored_answer_totals (
  account_id BLOB PRIMARY KEY NOT NULL,
  answers INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER stored_answers_inserted AFTER INSERT ON stored_answers BEGIN
  INSERT INTO stored_answer_totals VALUES (NEW.account_id, 1, coalesce(length(NEW.body), 0))
  ON CONFLICT (account_id) DO UPDATE SET answers = answers + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER stored_answers_changed AFTER UPDATE OF body ON stored_answers BEGIN
  UPDATE stored_answer_totals
  SET bytes = bytes + coalesce(length(NEW.body), 0) - coalesce(length(OLD.body), 0)
  WHERE account_id = OLD.account_id;
END;
CREATE TRIGGER stored_answers_deleted AFTER DELETE ON stored_answers BEGIN
  UPDATE stored_answer_totals SET answers = answers - 1, bytes = bytes - coalesce(length(OLD.body), 0)
  WHERE account_id = OLD.account_id;
END;

-- Has a row once no response that was stored before there was a master key can be read in this file.
CREATE TABLE answers_sealed (
  one INTEGER PRIMARY KEY CHECK (one = 1)
) STRICT;

-- As in the store.
CREATE TABLE row_digests (
  name TEXT PRIMARY KEY NOT NULL,
  rows INTEGER NOT NULL,
  digest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
