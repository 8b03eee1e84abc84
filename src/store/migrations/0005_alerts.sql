-- Saved searches. A row is never deleted: a deactivated alert keeps its history.
CREATE TABLE alerts (
  alert INTEGER PRIMARY KEY,
  alert_id BLOB NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  kind TEXT NOT NULL CHECK (kind IN ('PROPERTY', 'ADVERT')),
  activated INTEGER NOT NULL CHECK (activated IN (0, 1)),
  -- Its owner ended it, its receiver answered 410, its receiver failed for days.
  deactivated_because TEXT CHECK (deactivated_because IN ('deleted', 'gone', 'failing')),
  search_name TEXT NOT NULL,
  -- JSON: the search as it was sent, and valid.
  search_query TEXT NOT NULL,
  webhook_url TEXT NOT NULL,
  -- JSON: an array of the kinds of match it subscribes to.
  match_kinds TEXT NOT NULL,
  -- JSON: what deliveries echo.
  context TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  -- Number of its last change, among those of all alerts: whoever keeps alerts in memory loads what changed since.
  change INTEGER NOT NULL,
  CHECK (activated = (deactivated_because IS NULL))
) STRICT;
CREATE UNIQUE INDEX alerts_by_change ON alerts (change);
CREATE INDEX alerts_by_account ON alerts (account_id, kind);
CREATE INDEX alerts_active ON alerts (account_id) WHERE activated = 1;

-- What each alert matched for the first time: its history, and what later events are compared with.
CREATE TABLE property_matches (
  property INTEGER NOT NULL,
  alert INTEGER NOT NULL,
  matched_at_ms INTEGER NOT NULL,
  PRIMARY KEY (property, alert)
) STRICT, WITHOUT ROWID;
CREATE INDEX property_matches_by_alert ON property_matches (alert, matched_at_ms);
CREATE TABLE advert_matches (
  advert INTEGER NOT NULL,
  alert INTEGER NOT NULL,
  matched_at_ms INTEGER NOT NULL,
  PRIMARY KEY (advert, alert)
) STRICT, WITHOUT ROWID;
CREATE INDEX advert_matches_by_alert ON advert_matches (alert, matched_at_ms);

-- Records as they were when an alert matched them (JSON, compressed), shared by the notifications of one occurrence.
CREATE TABLE snapshots (
  snapshot INTEGER PRIMARY KEY AUTOINCREMENT,
  document BLOB NOT NULL
) STRICT;

-- What receivers are to be told, in order. Numbers never come again: a reader goes on from the last it saw.
CREATE TABLE outbox (
  notification INTEGER PRIMARY KEY AUTOINCREMENT,
  alert INTEGER NOT NULL,
  branch TEXT NOT NULL CHECK (branch IN ('created', 'updated')),
  -- Identifier of the property or advert.
  item BLOB NOT NULL,
  -- NULL where the identifier is all that is told.
  snapshot INTEGER,
  created_at_ms INTEGER NOT NULL,
  -- NULL until it is grouped with others of its alert.
  delivery INTEGER,
  -- The replay that asked for it once more.
  replay INTEGER
) STRICT;
-- Serves both what waits for a group (delivery IS NULL AND alert = ?) and what a group holds.
CREATE INDEX outbox_by_delivery ON outbox (delivery, alert);
CREATE INDEX outbox_by_snapshot ON outbox (snapshot) WHERE snapshot IS NOT NULL;

-- One row per request to a receiver, however often it is tried.
CREATE TABLE deliveries (
  delivery INTEGER PRIMARY KEY AUTOINCREMENT,
  -- The webhook-id.
  delivery_id BLOB NOT NULL UNIQUE,
  alert INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'dead')),
  attempts INTEGER NOT NULL,
  items INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  -- NULL once it is delivered or dead.
  next_attempt_at_ms INTEGER,
  -- While an attempt is under way: when it counts as lost.
  leased_until_ms INTEGER,
  delivered_at_ms INTEGER,
  last_status INTEGER,
  last_error TEXT
) STRICT;
CREATE INDEX deliveries_by_alert ON deliveries (alert);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at_ms) WHERE next_attempt_at_ms IS NOT NULL;
CREATE INDEX deliveries_open ON deliveries (alert) WHERE next_attempt_at_ms IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries (status) WHERE status = 'dead';

-- Windows of the past that were asked to be sent again.
CREATE TABLE replays (
  replay INTEGER PRIMARY KEY,
  replay_id BLOB NOT NULL UNIQUE,
  alert INTEGER NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  items INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;

-- Receivers that fail, until they answer again.
CREATE TABLE failing_endpoints (
  account_id TEXT NOT NULL,
  webhook_url TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, webhook_url)
) STRICT, WITHOUT ROWID;
