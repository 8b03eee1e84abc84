-- What identifies a key in lists: its kind and the beginning of its text. Unknown for keys made before.
ALTER TABLE keys ADD COLUMN prefix TEXT;
-- Addresses and networks from which it may be used, separated by commas; NULL for any.
ALTER TABLE keys ADD COLUMN allowed_from TEXT;

-- When a key was last used, apart from `keys`: a use is no change of a key.
CREATE TABLE key_uses (
  key_id TEXT PRIMARY KEY NOT NULL,
  last_used_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Administrative acts, never changed and never deleted. Each row has a digest of itself and of the one before it.
CREATE TABLE audit (
  entry INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  -- Address of the caller; NULL on this machine.
  origin TEXT,
  action TEXT NOT NULL,
  subject TEXT,
  outcome TEXT NOT NULL,
  digest BLOB NOT NULL
) STRICT;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only appended to'); END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only appended to'); END;

-- The data key that seals secrets, wrapped with the master key; none while secrets are stored as they are.
CREATE TABLE sealing_key (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  wrapped BLOB NOT NULL
) STRICT;
