-- One row per asset. Records are compressed JSON (listings::document).
CREATE TABLE properties (
  property INTEGER PRIMARY KEY,
  property_id BLOB NOT NULL UNIQUE,
  -- Number of its last change, among those of properties and adverts together.
  sequence INTEGER NOT NULL,
  -- The property it turned out to be, which stands for itself; its own identifier goes on answering.
  merged_into INTEGER REFERENCES properties (property),
  document BLOB,
  CHECK ((merged_into IS NULL) = (document IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX properties_by_sequence ON properties (sequence);
CREATE INDEX properties_by_survivor ON properties (merged_into) WHERE merged_into IS NOT NULL;

-- One row per listing on a portal, in order of arrival.
CREATE TABLE adverts (
  advert INTEGER PRIMARY KEY,
  advert_id BLOB NOT NULL UNIQUE,
  -- Digest of what identifies its address (listings::identity).
  url_digest BLOB NOT NULL UNIQUE,
  property INTEGER NOT NULL REFERENCES properties (property),
  sequence INTEGER NOT NULL,
  observed_at_ms INTEGER NOT NULL,
  first_seen_at_ms INTEGER NOT NULL,
  modified_at_ms INTEGER NOT NULL,
  published_at_ms INTEGER NOT NULL,
  online_at_ms INTEGER,
  offline_at_ms INTEGER,
  initial_price REAL,
  previous_price REAL,
  -- Bits of listings::complete and listings::anomaly.
  derived INTEGER NOT NULL,
  anomalies INTEGER NOT NULL,
  -- The record without the property's identifier, which is read from the property.
  document BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX adverts_by_sequence ON adverts (sequence);
CREATE INDEX adverts_by_property ON adverts (property);

-- What comparing adverts needs of each, apart from the records so that many lie on a page.
CREATE TABLE fingerprints (
  advert INTEGER PRIMARY KEY REFERENCES adverts (advert),
  property INTEGER NOT NULL,
  -- Its keys in the table `blocks`, 8 bytes each, little end first.
  keys BLOB NOT NULL,
  fingerprint BLOB NOT NULL
) STRICT;
CREATE INDEX fingerprints_by_property ON fingerprints (property);

-- Which adverts are compared: those under a common key.
CREATE TABLE blocks (
  key INTEGER NOT NULL,
  advert INTEGER NOT NULL,
  PRIMARY KEY (key, advert)
) STRICT, WITHOUT ROWID;

-- Adverts that a person declared to be of different assets; each pair in both orders.
CREATE TABLE apart (
  advert INTEGER NOT NULL,
  other INTEGER NOT NULL,
  PRIMARY KEY (advert, other)
) STRICT, WITHOUT ROWID;

-- What happened to adverts.
CREATE TABLE advert_events (
  event INTEGER PRIMARY KEY,
  advert INTEGER NOT NULL REFERENCES adverts (advert),
  type TEXT NOT NULL CHECK (type IN ('PRICE', 'REPUBLISHED', 'UNPUBLISHED')),
  occurred_at_ms INTEGER NOT NULL,
  previous_price REAL,
  previous_is_online INTEGER
) STRICT;
CREATE INDEX advert_events_by_advert ON advert_events (advert);
