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
