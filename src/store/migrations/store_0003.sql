-- Answers of the upstream geocoding service, kept so that no question is asked twice while they are fresh.
CREATE TABLE geocoding_upstream (
  -- BLAKE3 of the service's address, the operation and the normalised parameters.
  digest BLOB PRIMARY KEY NOT NULL,
  -- The addresses, as a compressed record; none where nothing was found.
  answer BLOB NOT NULL,
  answered_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX geocoding_upstream_by_age ON geocoding_upstream (answered_at_ms);
