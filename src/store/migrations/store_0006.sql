-- In the store of a replica: the publication that its rows were taken from. Empty in every other store.
CREATE TABLE replica (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  number INTEGER NOT NULL,
  -- JSON: the blocks of rows that were taken (store::exchange).
  blocks TEXT NOT NULL
) STRICT;
