-- Consumption that replicas meter and their writer adds up. On a replica: who it is, and the number of its next shipment.
CREATE TABLE shipping (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  replica TEXT NOT NULL,
  next INTEGER NOT NULL
) STRICT;
-- What of the daily sums is in a shipment.
CREATE TABLE shipped (
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  type TEXT NOT NULL,
  day TEXT NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (account_id, key_id, type, day)
) STRICT, WITHOUT ROWID;
-- Shipments that are made and not known to have arrived: JSON, never made anew.
CREATE TABLE shipments (
  shipment INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
-- On a writer: the shipments whose sums are in its own. One row each, so that none is added twice.
CREATE TABLE shipments_taken (
  replica TEXT NOT NULL,
  shipment INTEGER NOT NULL,
  PRIMARY KEY (replica, shipment)
) STRICT, WITHOUT ROWID;
