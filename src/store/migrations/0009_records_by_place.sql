-- The records of properties apart from what names them, under keys that follow the places they lie at
-- (listings::record_key): what lies together is read together. Records from before keep their number as key, and come
-- to their place when they are folded.
CREATE TABLE records (
  record INTEGER PRIMARY KEY,
  -- Compressed JSON (store::document).
  document BLOB NOT NULL
) STRICT;
INSERT INTO records SELECT property, document FROM properties WHERE document IS NOT NULL;

CREATE TABLE properties_without_records (
  property INTEGER PRIMARY KEY,
  property_id BLOB NOT NULL UNIQUE,
  -- Number of its last change, among those of properties and adverts together.
  sequence INTEGER NOT NULL,
  -- The property it turned out to be, which stands for itself; its own identifier goes on answering.
  merged_into INTEGER REFERENCES properties (property),
  -- Key of its record.
  record INTEGER,
  CHECK ((merged_into IS NULL) = (record IS NOT NULL))
) STRICT;
INSERT INTO properties_without_records
  SELECT property, property_id, sequence, merged_into, iif(document IS NULL, NULL, property) FROM properties;
DROP TABLE properties;
ALTER TABLE properties_without_records RENAME TO properties;
CREATE UNIQUE INDEX properties_by_sequence ON properties (sequence);
CREATE INDEX properties_by_survivor ON properties (merged_into) WHERE merged_into IS NOT NULL;

-- Adverts of a property are found by the adverts themselves.
DROP INDEX fingerprints_by_property;
