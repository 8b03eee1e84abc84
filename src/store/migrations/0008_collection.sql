-- Pages to be collected, and for a week those that were. A job is due, leased by the process that runs it, or ended.
CREATE TABLE jobs (
  job INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id BLOB NOT NULL UNIQUE,
  account_id BLOB NOT NULL,
  -- Someone asked for the page; a known advert is looked at again.
  kind TEXT NOT NULL CHECK (kind IN ('url', 'check')),
  -- Digest of what identifies the address that was asked for (listings::identity).
  url_digest BLOB NOT NULL,
  url TEXT NOT NULL,
  host TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  -- When it is to be tried; NULL once it ended.
  due_at_ms INTEGER,
  lease_until_ms INTEGER,
  ended_at_ms INTEGER,
  outcome TEXT CHECK (outcome IN ('collected', 'rejected')),
  -- Why it was rejected, or what went wrong last.
  reason TEXT,
  -- JSON: where on the page each field was found.
  origins TEXT,
  CHECK ((due_at_ms IS NULL) = (ended_at_ms IS NOT NULL)),
  CHECK ((outcome IS NULL) = (ended_at_ms IS NULL))
) STRICT;
CREATE INDEX jobs_waiting ON jobs (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX jobs_waiting_of_account ON jobs (account_id) WHERE due_at_ms IS NOT NULL;
CREATE INDEX jobs_waiting_for_url ON jobs (url_digest) WHERE due_at_ms IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- Addresses whose page was no listing, so that it is not asked for again and again.
CREATE TABLE rejections (
  url_digest BLOB PRIMARY KEY NOT NULL,
  reason TEXT NOT NULL,
  rejected_at_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX rejections_by_end ON rejections (until_ms);

-- Addresses that lead to a listing known by another.
CREATE TABLE url_aliases (
  url_digest BLOB PRIMARY KEY NOT NULL,
  target_digest BLOB NOT NULL,
  found_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX url_aliases_by_age ON url_aliases (found_at_ms);

-- What accounts say is wrong with a listing.
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
  -- What an operator did about it.
  resolution TEXT,
  CHECK ((resolved_at_ms IS NULL) = (resolution IS NULL))
) STRICT;
CREATE INDEX reports_open ON reports (report) WHERE resolved_at_ms IS NULL;
CREATE INDEX reports_open_of_account ON reports (account_id) WHERE resolved_at_ms IS NULL;
