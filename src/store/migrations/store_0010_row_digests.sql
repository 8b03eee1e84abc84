-- The digest of all rows of each table, kept by triggers that are made anew after every migration: a row that changes on
-- disk, or vanishes, shows in a check.
CREATE TABLE row_digests (
  name TEXT PRIMARY KEY NOT NULL,
  rows INTEGER NOT NULL,
  digest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Whether the last attempt at a page did not reach its portal: who asks for it is told at once.
ALTER TABLE jobs ADD COLUMN is_unreachable INTEGER NOT NULL DEFAULT 0;
