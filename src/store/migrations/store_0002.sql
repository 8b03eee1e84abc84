-- Who runs the workers of which a data folder has one: the dispatcher, the collector, the geocoding of files.
CREATE TABLE leases (
  name TEXT PRIMARY KEY NOT NULL,
  -- Identifier of the holder; NULL once it gave the lease up.
  holder BLOB,
  -- Identifier of the holder's process, for operators.
  process INTEGER NOT NULL,
  -- Number of the term. Each new holder has a higher one, and a write under an older one is refused.
  fence INTEGER NOT NULL,
  -- Counts up while the holder is alive. Others measure with their own clocks for how long it has not.
  renewals INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
