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
