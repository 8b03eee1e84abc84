-- What deliveries of an account carry in `x-webhook-key`.
CREATE TABLE webhook_keys (
  account_id TEXT PRIMARY KEY NOT NULL REFERENCES accounts (account_id),
  value TEXT NOT NULL
) STRICT;
-- SQLite's generator is ChaCha20 seeded by the operating system.
INSERT INTO webhook_keys SELECT account_id, 'whk_' || lower(hex(randomblob(32))) FROM accounts;

-- What deliveries of an account are signed with.
CREATE TABLE signing_secrets (
  secret_id INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  value BLOB NOT NULL,
  -- When a replaced secret stops signing; NULL for the present one.
  valid_until_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX signing_secrets_present ON signing_secrets (account_id) WHERE valid_until_ms IS NULL;
CREATE INDEX signing_secrets_by_account ON signing_secrets (account_id);
INSERT INTO signing_secrets (account_id, value) SELECT account_id, randomblob(32) FROM accounts;

-- `grants` now names scopes and single endpoints.
ALTER TABLE keys ADD COLUMN name TEXT;
ALTER TABLE keys ADD COLUMN rate_per_s INTEGER NOT NULL DEFAULT 50 CHECK (rate_per_s > 0);
ALTER TABLE keys ADD COLUMN monthly_quota INTEGER CHECK (monthly_quota >= 0);
ALTER TABLE keys ADD COLUMN max_concurrent_estimates INTEGER NOT NULL DEFAULT 2 CHECK (max_concurrent_estimates > 0);
UPDATE keys SET rate_per_s = 5, monthly_quota = 10000 WHERE kind = 'test';
CREATE INDEX keys_by_account ON keys (account_id);

-- Credits and calls by day (UTC, YYYY-MM-DD).
CREATE TABLE consumption (
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  type TEXT NOT NULL,
  day TEXT NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (account_id, key_id, type, day)
) STRICT, WITHOUT ROWID;
