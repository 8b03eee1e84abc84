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

-- Final responses stored under an Idempotency-Key, for a day.
CREATE TABLE stored_answers (
  account_id BLOB NOT NULL,
  idempotency_key TEXT NOT NULL,
  request_digest BLOB NOT NULL,
  status INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  -- Length of the body; it is stored compressed (zstd).
  bytes INTEGER NOT NULL,
  body BLOB NOT NULL,
  stored_at_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, idempotency_key)
) STRICT;
CREATE INDEX stored_answers_by_age ON stored_answers (stored_at_ms);
