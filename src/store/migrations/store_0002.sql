-- Contacts of persons who asked to be forgotten, as keyed digests: they are never stored again.
CREATE TABLE erased_contacts (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB NOT NULL UNIQUE,
  erased_at_ms INTEGER NOT NULL
) STRICT;

-- Erasures of contacts. One that a killed process left is completed by the next process that erases or serves.
CREATE TABLE erasures (
  erasure INTEGER PRIMARY KEY AUTOINCREMENT,
  erasure_id TEXT NOT NULL UNIQUE,
  begun_at_ms INTEGER NOT NULL,
  -- NULL until everything is removed.
  ended_at_ms INTEGER,
  -- JSON: what was found so far, by place; written with each removal.
  found TEXT NOT NULL
) STRICT;
CREATE INDEX erasures_open ON erasures (erasure) WHERE ended_at_ms IS NULL;

-- The official map of rents: for each kind of home, the rents of all communes of one year.
CREATE TABLE rent_maps (
  kind TEXT PRIMARY KEY NOT NULL CHECK (kind IN ('flats', 'small_flats', 'large_flats', 'houses')),
  year INTEGER NOT NULL,
  licence TEXT NOT NULL,
  source TEXT,
  -- Number of communes.
  communes INTEGER NOT NULL,
  imported_at_ms INTEGER NOT NULL,
  -- Rents by INSEE code.
  document BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Logo and text that an account puts on its reports.
CREATE TABLE letterheads (
  account_id TEXT PRIMARY KEY NOT NULL REFERENCES accounts (account_id),
  text TEXT NOT NULL,
  -- A PNG or JPEG file, checked before it was stored.
  logo BLOB,
  updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
