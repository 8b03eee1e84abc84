-- Secrets of this installation: the key that seals cursors.
CREATE TABLE secrets (
  name TEXT PRIMARY KEY NOT NULL,
  value BLOB NOT NULL
) STRICT;

CREATE TABLE accounts (
  account_id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL UNIQUE,
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
  key_id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  kind TEXT NOT NULL CHECK (kind IN ('test', 'production')),
  sha256 BLOB NOT NULL UNIQUE,
  -- Scopes separated by commas.
  grants TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  revoked_at_ms INTEGER
) STRICT;

-- Counts changes of keys, whichever process makes them, so that a running server knows when to forget what it cached.
CREATE TABLE key_changes (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  count INTEGER NOT NULL
) STRICT;
INSERT INTO key_changes VALUES (1, 0);
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN UPDATE key_changes SET count = count + 1; END;
CREATE TRIGGER keys_updated AFTER UPDATE ON keys BEGIN UPDATE key_changes SET count = count + 1; END;
CREATE TRIGGER keys_deleted AFTER DELETE ON keys BEGIN UPDATE key_changes SET count = count + 1; END;
