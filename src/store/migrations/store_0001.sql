-- Secrets of this installation: the key that signs cursors.
CREATE TABLE secrets (
  name TEXT PRIMARY KEY NOT NULL,
  value BLOB NOT NULL
) STRICT;

CREATE TABLE accounts (
  account_id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL UNIQUE,
  created_at_ms INTEGER NOT NULL
) STRICT;

-- Value of the `x-webhook-key` header on deliveries of an account.
CREATE TABLE webhook_keys (
  account_id TEXT PRIMARY KEY NOT NULL REFERENCES accounts (account_id),
  value TEXT NOT NULL,
  -- The key that replaces it, and from when; until then deliveries carry both.
  next_value TEXT,
  next_from_ms INTEGER
) STRICT;

-- Secrets with which deliveries of an account are signed.
CREATE TABLE signing_secrets (
  secret_id INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  value BLOB NOT NULL,
  -- When a replaced secret stops signing; NULL for the current one.
  valid_until_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX signing_secrets_present ON signing_secrets (account_id) WHERE valid_until_ms IS NULL;
CREATE INDEX signing_secrets_by_account ON signing_secrets (account_id);

CREATE TABLE keys (
  key_id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  kind TEXT NOT NULL CHECK (kind IN ('test', 'production')),
  sha256 BLOB NOT NULL UNIQUE,
  -- Scopes and single endpoints separated by commas.
  grants TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  revoked_at_ms INTEGER,
  name TEXT,
  rate_per_s INTEGER NOT NULL DEFAULT 50 CHECK (rate_per_s > 0),
  monthly_quota INTEGER CHECK (monthly_quota >= 0),
  max_concurrent_estimates INTEGER NOT NULL DEFAULT 2 CHECK (max_concurrent_estimates > 0),
  -- Limits of its SQL queries, a JSON object; NULL without any.
  sql_limits TEXT,
  -- Identifies the key in lists: its kind and the beginning of its text.
  prefix TEXT NOT NULL,
  -- Addresses and networks from which it may be used, separated by commas; NULL for any.
  allowed_from TEXT
) STRICT;
CREATE INDEX keys_by_account ON keys (account_id);

-- Counts changes of keys by any process, so that a running server knows when its cached keys are out of date.
CREATE TABLE key_changes (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  count INTEGER NOT NULL
) STRICT;
INSERT INTO key_changes VALUES (1, 0);
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN UPDATE key_changes SET count = count + 1; END;
CREATE TRIGGER keys_updated AFTER UPDATE ON keys BEGIN UPDATE key_changes SET count = count + 1; END;
CREATE TRIGGER keys_deleted AFTER DELETE ON keys BEGIN UPDATE key_changes SET count = count + 1; END;

-- Polygons that accounts stored under names.
CREATE TABLE areas (
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  name TEXT NOT NULL,
  -- GeoJSON, checked before it was stored.
  geometry TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;

-- Costs of deliveries, written together with their outcome, one row each. Costs of calls are in the ledger, in
-- tables of the same names.
CREATE TABLE ledger (
  request_id BLOB PRIMARY KEY NOT NULL,
  account_id BLOB NOT NULL,
  key_id BLOB NOT NULL,
  type TEXT NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Daily sums (UTC), updated in the same transaction.
CREATE TABLE consumption (
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  type TEXT NOT NULL,
  day TEXT NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (account_id, key_id, type, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX consumption_by_key ON consumption (key_id, day);

-- One row per asset.
CREATE TABLE properties (
  property INTEGER PRIMARY KEY,
  property_id BLOB NOT NULL UNIQUE,
  -- Number of the last change, in one sequence with those of adverts.
  sequence INTEGER NOT NULL,
  -- The surviving property, if it was merged (never itself merged); its own identifier redirects there.
  merged_into INTEGER REFERENCES properties (property),
  -- Key of its record.
  record INTEGER,
  CHECK ((merged_into IS NULL) = (record IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX properties_by_sequence ON properties (sequence);
CREATE INDEX properties_by_survivor ON properties (merged_into) WHERE merged_into IS NOT NULL;

-- The records of properties, separate from their identifiers, under keys in the order of their positions
-- (listings::record_key), so that neighbouring properties are read together.
CREATE TABLE records (
  record INTEGER PRIMARY KEY,
  -- Compressed JSON (store::document).
  document BLOB NOT NULL
) STRICT;

-- One row per listing on a portal, in order of arrival.
CREATE TABLE adverts (
  advert INTEGER PRIMARY KEY,
  advert_id BLOB NOT NULL UNIQUE,
  -- Digest of the identifying parts of its URL (listings::identity).
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
  -- Bits defined by listings::complete and listings::anomaly.
  derived INTEGER NOT NULL,
  anomalies INTEGER NOT NULL,
  -- The record without the property's identifier, which is read from the property.
  document BLOB NOT NULL,
  -- Whether observed_at_ms is a moment that this service gave to a sighting which did not say when it was made. Such moments
  -- are corrected after the clock was ahead (listings::load::stamps).
  is_stamped INTEGER NOT NULL DEFAULT 0 CHECK (is_stamped IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX adverts_by_sequence ON adverts (sequence);
CREATE INDEX adverts_by_property ON adverts (property);
CREATE INDEX adverts_stamped ON adverts (observed_at_ms) WHERE is_stamped = 1;

-- Data for comparing adverts, separate from the records so that a page holds many.
CREATE TABLE fingerprints (
  advert INTEGER PRIMARY KEY REFERENCES adverts (advert),
  property INTEGER NOT NULL,
  -- Its keys in the table `blocks`, 8 bytes each, little-endian.
  keys BLOB NOT NULL,
  fingerprint BLOB NOT NULL
) STRICT;

-- Block keys: adverts with a common key are compared.
CREATE TABLE blocks (
  key INTEGER NOT NULL,
  advert INTEGER NOT NULL,
  -- The outline of the fingerprint, which rules most candidates out (dedup::outline), so that they need not be read.
  outline BLOB NOT NULL,
  PRIMARY KEY (key, advert)
) STRICT, WITHOUT ROWID;

-- Adverts that a person declared to be different assets; each pair in both orders.
CREATE TABLE apart (
  advert INTEGER NOT NULL,
  other INTEGER NOT NULL,
  PRIMARY KEY (advert, other)
) STRICT, WITHOUT ROWID;

-- Events of adverts.
CREATE TABLE advert_events (
  event INTEGER PRIMARY KEY,
  advert INTEGER NOT NULL REFERENCES adverts (advert),
  type TEXT NOT NULL CHECK (type IN ('PRICE', 'REPUBLISHED', 'UNPUBLISHED')),
  occurred_at_ms INTEGER NOT NULL,
  previous_price REAL,
  previous_is_online INTEGER
) STRICT;
CREATE INDEX advert_events_by_advert ON advert_events (advert);

-- Saved searches. A row is never deleted: a deactivated alert keeps its history.
CREATE TABLE alerts (
  alert INTEGER PRIMARY KEY,
  alert_id BLOB NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  -- Of kind PORTFOLIO: the receiver of a portfolio, which searches nothing.
  kind TEXT NOT NULL CHECK (kind IN ('PROPERTY', 'ADVERT', 'DVF', 'DPE', 'PORTFOLIO')),
  activated INTEGER NOT NULL CHECK (activated IN (0, 1)),
  -- Deleted by its owner, its receiver answered 410, or its receiver failed for days.
  deactivated_because TEXT CHECK (deactivated_because IN ('deleted', 'gone', 'failing')),
  search_name TEXT NOT NULL,
  -- JSON: the validated search as sent.
  search_query TEXT NOT NULL,
  webhook_url TEXT NOT NULL,
  -- JSON: an array of the kinds of match it subscribes to.
  match_kinds TEXT NOT NULL,
  -- JSON: the metadata that deliveries echo.
  context TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  -- Number of the last change, in one sequence for all alerts: processes that cache alerts load what changed since.
  change INTEGER NOT NULL,
  -- Of an alert on open data: the version of its table when it was created or last activated. It is notified of later ones.
  since_version INTEGER,
  CHECK (activated = (deactivated_because IS NULL)),
  CHECK ((since_version IS NULL) = (kind IN ('PROPERTY', 'ADVERT', 'PORTFOLIO')))
) STRICT;
CREATE UNIQUE INDEX alerts_by_change ON alerts (change);
CREATE INDEX alerts_by_account ON alerts (account_id, kind);
-- Serves the count of an account's active alerts and the search for those with a given receiver.
CREATE INDEX alerts_active ON alerts (account_id, webhook_url, activated) WHERE activated = 1;

-- First match of each alert and listing: the history of an alert, against which later events are compared.
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

-- Records of open data that an alert matched, by the digest of their identifier.
CREATE TABLE open_data_matches (
  item BLOB NOT NULL,
  alert INTEGER NOT NULL,
  -- Version of the table in which the record got the content that was last matched. A version is matched once.
  version INTEGER NOT NULL,
  -- When it was matched for the first time.
  matched_at_ms INTEGER NOT NULL,
  PRIMARY KEY (item, alert)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_data_matches_by_alert ON open_data_matches (alert, matched_at_ms);

-- How far the alerts on each table of open data have come: the version whose records they have all seen.
CREATE TABLE open_data_positions (
  kind TEXT PRIMARY KEY NOT NULL CHECK (kind IN ('DVF', 'DPE')),
  version INTEGER NOT NULL,
  -- A pass over a newer version: how many of its row groups are done. A hint that saves time after a restart.
  pass_version INTEGER NOT NULL DEFAULT 0,
  pass_groups INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Records at the time an alert matched them (JSON, compressed), shared by the notifications of one event.
CREATE TABLE snapshots (
  snapshot INTEGER PRIMARY KEY AUTOINCREMENT,
  document BLOB NOT NULL
) STRICT;

-- Notifications for receivers, in order. Numbers are never reused: a reader continues after the last it has seen.
CREATE TABLE outbox (
  notification INTEGER PRIMARY KEY AUTOINCREMENT,
  alert INTEGER NOT NULL,
  branch TEXT NOT NULL CHECK (branch IN ('created', 'updated')),
  -- Identifier of the property or advert.
  item BLOB NOT NULL,
  -- NULL if only the identifier is sent.
  snapshot INTEGER,
  created_at_ms INTEGER NOT NULL,
  -- NULL until it is grouped with others of its alert.
  delivery INTEGER,
  -- The replay that requested it again.
  replay INTEGER
) STRICT;
-- Serves notifications that wait for a delivery (delivery IS NULL AND alert = ?) and those of one delivery.
CREATE INDEX outbox_by_delivery ON outbox (delivery, alert);
CREATE INDEX outbox_by_snapshot ON outbox (snapshot) WHERE snapshot IS NOT NULL;
-- Alerts with replayed notifications that are still waiting.
CREATE INDEX outbox_replays_waiting ON outbox (alert) WHERE replay IS NOT NULL AND delivery IS NULL;

-- One row per delivery, however many attempts it takes.
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
  -- While an attempt runs: when its lease expires.
  leased_until_ms INTEGER,
  delivered_at_ms INTEGER,
  last_status INTEGER,
  last_error TEXT,
  -- When the wait of an open delivery began: a wait keeps its length when the clock is set while no process dispatches.
  waits_since_ms INTEGER
) STRICT;
CREATE INDEX deliveries_by_alert ON deliveries (alert);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at_ms) WHERE next_attempt_at_ms IS NOT NULL;
CREATE INDEX deliveries_open ON deliveries (alert) WHERE next_attempt_at_ms IS NOT NULL;
-- Order of eviction from the outbox: delivered before dead, oldest first.
CREATE INDEX deliveries_settled ON deliveries (status) WHERE next_attempt_at_ms IS NULL;

-- Time windows that were replayed.
CREATE TABLE replays (
  replay INTEGER PRIMARY KEY,
  replay_id BLOB NOT NULL UNIQUE,
  alert INTEGER NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  items INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;

-- Receivers that are failing, until they respond again.
CREATE TABLE failing_endpoints (
  account_id TEXT NOT NULL,
  webhook_url TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, webhook_url)
) STRICT, WITHOUT ROWID;

-- Pages to collect, and for a week those that were collected. A job is due, leased by the process that runs it, or
-- ended.
CREATE TABLE jobs (
  job INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id BLOB NOT NULL UNIQUE,
  account_id BLOB NOT NULL,
  -- url: a client requested the page; check: a known advert is checked again.
  kind TEXT NOT NULL CHECK (kind IN ('url', 'check')),
  -- Digest of the identifying parts of the requested URL (listings::identity).
  url_digest BLOB NOT NULL,
  url TEXT NOT NULL,
  host TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  -- When it is due; NULL once it has ended.
  due_at_ms INTEGER,
  lease_until_ms INTEGER,
  ended_at_ms INTEGER,
  outcome TEXT CHECK (outcome IN ('collected', 'rejected')),
  -- Why it was rejected, or the last error.
  reason TEXT,
  -- JSON: where on the page each field was found.
  origins TEXT,
  -- Whether the alerts of other accounts may match what the page says: where a test key requested it, only as far as the
  -- settings say.
  is_shared INTEGER NOT NULL DEFAULT 1 CHECK (is_shared IN (0, 1)),
  -- Whether the last attempt at a page did not reach its portal: a client that requests it is told at once.
  is_unreachable INTEGER NOT NULL DEFAULT 0,
  -- When the wait of an unfinished job began: a wait keeps its length when the clock is set back.
  waits_since_ms INTEGER NOT NULL DEFAULT 0,
  CHECK ((due_at_ms IS NULL) = (ended_at_ms IS NOT NULL)),
  CHECK ((outcome IS NULL) = (ended_at_ms IS NULL))
) STRICT;
CREATE INDEX jobs_waiting ON jobs (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX jobs_waiting_of_account ON jobs (account_id) WHERE due_at_ms IS NOT NULL;
CREATE INDEX jobs_waiting_for_url ON jobs (url_digest) WHERE due_at_ms IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- URLs whose page was not a listing, so that they are not fetched again and again.
CREATE TABLE rejections (
  url_digest BLOB PRIMARY KEY NOT NULL,
  reason TEXT NOT NULL,
  rejected_at_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX rejections_by_end ON rejections (until_ms);

-- URLs that lead to a listing known under another URL.
CREATE TABLE url_aliases (
  url_digest BLOB PRIMARY KEY NOT NULL,
  target_digest BLOB NOT NULL,
  found_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX url_aliases_by_age ON url_aliases (found_at_ms);

-- Accounts' claims that a listing is wrong.
CREATE TABLE reports (
  report INTEGER PRIMARY KEY AUTOINCREMENT,
  report_id BLOB NOT NULL UNIQUE,
  account_id BLOB NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('ADVERT', 'PROPERTY')),
  -- Identifier of the advert or property.
  item BLOB NOT NULL,
  reason TEXT NOT NULL,
  comment TEXT,
  created_at_ms INTEGER NOT NULL,
  resolved_at_ms INTEGER,
  -- The operator's action.
  resolution TEXT,
  CHECK ((resolved_at_ms IS NULL) = (resolution IS NULL))
) STRICT;
CREATE INDEX reports_open ON reports (report) WHERE resolved_at_ms IS NULL;
CREATE INDEX reports_open_of_account ON reports (account_id) WHERE resolved_at_ms IS NULL;

-- Files of addresses that are geocoded in the background. Their texts lie in the folder `geocoding`.
CREATE TABLE geocoding_projects (
  project_id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  -- BLAKE3 of the token with which the result is read.
  token_digest BLOB NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('idle', 'waiting', 'processing', 'failed', 'completed')),
  -- What is done with the file, as JSON; NULL until it was said.
  request TEXT,
  -- Name and length of the file; NULL until it was sent.
  input_name TEXT,
  input_bytes INTEGER,
  -- What was understood of its form when it was unpacked, as JSON.
  input_form TEXT,
  rows INTEGER,
  -- Rows answered so far, as JSON by what became of them.
  counts TEXT NOT NULL DEFAULT '{}',
  -- How far the file is read and the result written, bytes: a project goes on here after a restart.
  input_at INTEGER NOT NULL DEFAULT 0,
  output_at INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL,
  started_at_ms INTEGER,
  ended_at_ms INTEGER,
  error TEXT
) STRICT;
CREATE INDEX geocoding_projects_by_account ON geocoding_projects (account_id);
CREATE INDEX geocoding_projects_to_do ON geocoding_projects (started_at_ms) WHERE status IN ('waiting', 'processing');

-- Portfolios of homes that accounts stored under names. Their rows lie in files in the folder `portfolios`.
CREATE TABLE portfolios (
  -- Names the folder of its files. Storing a portfolio again gives it another one.
  portfolio_id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  name TEXT NOT NULL,
  homes INTEGER NOT NULL,
  webhook_url TEXT,
  -- Change of a value, or of an end of its interval, that is reported, in percent.
  moved_percent REAL NOT NULL,
  -- The row of its receiver in `alerts`; NULL if it never had one.
  alert INTEGER REFERENCES alerts (alert),
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  -- Number of the valuation, which names its file; 0 before the first one.
  valuation INTEGER NOT NULL DEFAULT 0,
  valued_at_ms INTEGER,
  -- What the valuation was made from: the model with the last day of its sales, and the versions of the tables.
  model TEXT,
  data_through TEXT,
  dvf_version INTEGER,
  dpe_version INTEGER,
  -- First row whose change is not in the outbox yet; NULL if there is none.
  notify_from INTEGER,
  UNIQUE (account_id, name)
) STRICT;

-- Answers of the upstream geocoding service, kept so that no question is asked twice while they are fresh.
CREATE TABLE geocoding_upstream (
  -- BLAKE3 of the service's address, the operation and the normalised parameters.
  digest BLOB PRIMARY KEY NOT NULL,
  -- The addresses, as a compressed record; none where nothing was found.
  answer BLOB NOT NULL,
  answered_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX geocoding_upstream_by_age ON geocoding_upstream (answered_at_ms);

-- Adverts that a person put into one property: they do not leave it by themselves.
CREATE TABLE held (
  advert INTEGER PRIMARY KEY NOT NULL
) STRICT;

-- In the store of a replica: the publication that its rows were taken from. Empty in every other store.
CREATE TABLE replica (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  number INTEGER NOT NULL,
  -- JSON: the blocks of rows that were taken (store::exchange).
  blocks TEXT NOT NULL
) STRICT;

-- When a key was last used, apart from `keys`: a use is no change of a key.
CREATE TABLE key_uses (
  key_id TEXT PRIMARY KEY NOT NULL,
  last_used_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Administrative acts, never changed and never deleted. Each row has a digest of itself and of the one before it.
CREATE TABLE audit (
  entry INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  -- Address of the caller; NULL on this machine.
  origin TEXT,
  action TEXT NOT NULL,
  subject TEXT,
  outcome TEXT NOT NULL,
  digest BLOB NOT NULL
) STRICT;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only appended to'); END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only appended to'); END;

-- The data key that seals secrets, wrapped with the master key; none while secrets are stored as they are.
CREATE TABLE sealing_key (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  wrapped BLOB NOT NULL
) STRICT;

-- Properties and adverts that were written for the alerts of one account alone, with their records as all others last knew
-- them, one row each; without a record if they did not know the item. The next write for all deletes the rows.
CREATE TABLE withheld (
    -- 0 for a property, 1 for an advert.
    kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
    item INTEGER NOT NULL,
    document BLOB,
    -- For an advert, the identifier of the property it belonged to.
    property BLOB
);
CREATE INDEX withheld_items ON withheld (kind, item);

-- The digest of all rows of each table, kept by triggers that each migration recreates. With it, a check finds rows that
-- changed or vanished on disk.
CREATE TABLE row_digests (
  name TEXT PRIMARY KEY NOT NULL,
  rows INTEGER NOT NULL,
  digest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Pairs of adverts that are perhaps of one asset but in two properties: found when `advert` was placed, for a person to
-- decide. Derived: they can be found again from the adverts.
CREATE TABLE likely_pairs (
  advert INTEGER NOT NULL,
  other INTEGER NOT NULL,
  -- Binary logarithm of the odds that both are one asset.
  bits REAL NOT NULL,
  PRIMARY KEY (advert, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX likely_pairs_by_bits ON likely_pairs (bits);

-- What many homes show is no evidence: pictures, texts, telephone numbers and references, by digest. Of 32 bits each home
-- sets one. Derived: all of it can be counted again from the adverts.
CREATE TABLE marks (
  mark INTEGER PRIMARY KEY NOT NULL,
  homes INTEGER NOT NULL
) STRICT;
-- Marks that enough homes show, in the order in which they became common.
CREATE TABLE common_marks (
  number INTEGER PRIMARY KEY NOT NULL,
  mark INTEGER NOT NULL UNIQUE
) STRICT;

-- How much oftener than usual two portals show one home, in both orders. Learned by a rebuild of the properties.
CREATE TABLE portal_rates (
  portal INTEGER NOT NULL,
  other INTEGER NOT NULL,
  -- Binary logarithm of a factor of the odds.
  bits REAL NOT NULL,
  -- Pairs of adverts from which it was learned.
  pairs INTEGER NOT NULL,
  PRIMARY KEY (portal, other)
) STRICT, WITHOUT ROWID;

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
