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

-- Whether observed_at_ms is a moment that this service gave to a sighting which did not say when it was made. Such moments
-- are corrected after the clock was ahead (listings::load::stamps).
ALTER TABLE adverts ADD COLUMN is_stamped INTEGER NOT NULL DEFAULT 0 CHECK (is_stamped IN (0, 1));
CREATE INDEX adverts_stamped ON adverts (observed_at_ms) WHERE is_stamped = 1;

-- When the wait of an unfinished job began: a wait keeps its length when the clock is set back.
ALTER TABLE jobs ADD COLUMN waits_since_ms INTEGER NOT NULL DEFAULT 0;
