-- A call under an Idempotency-Key is remembered when its response is not stored, or no longer: a row without a body.
ALTER TABLE stored_answers RENAME TO stored_answers_before;
DROP INDEX stored_answers_by_age;
DROP INDEX stored_answers_by_account;
CREATE TABLE stored_answers (
  account_id BLOB NOT NULL,
  idempotency_key TEXT NOT NULL,
  request_digest BLOB NOT NULL,
  -- Of the call that was made, as in `ledger`; NULL for calls of earlier versions.
  request_id BLOB,
  status INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  -- 1 if the call only reads, so that it can be made again when there is no body; 0 if it changes something.
  is_repeatable INTEGER NOT NULL,
  -- Length of the response.
  bytes INTEGER NOT NULL,
  -- The response, compressed (zstd); NULL if only the reference is kept.
  body BLOB,
  stored_at_ms INTEGER NOT NULL,
  -- Of digest, status, media type, length and body.
  checksum BLOB NOT NULL,
  PRIMARY KEY (account_id, idempotency_key)
) STRICT;
INSERT INTO stored_answers
SELECT account_id, idempotency_key, request_digest, NULL, status, content_type, 0, bytes, body, stored_at_ms, checksum
FROM stored_answers_before;
DROP TABLE stored_answers_before;
CREATE INDEX stored_answers_by_age ON stored_answers (stored_at_ms);
CREATE INDEX stored_answers_by_account ON stored_answers (account_id, stored_at_ms);
-- In the order in which bodies make room.
CREATE INDEX stored_answers_with_body ON stored_answers (account_id, is_repeatable DESC, stored_at_ms)
WHERE body IS NOT NULL;

-- Rows of each account and the bytes that their bodies take, kept by triggers.
DROP TABLE stored_answer_bytes;
CREATE TABLE stored_answer_totals (
  account_id BLOB PRIMARY KEY NOT NULL,
  answers INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO stored_answer_totals
SELECT account_id, count(*), sum(length(body)) FROM stored_answers GROUP BY account_id;
CREATE TRIGGER stored_answers_inserted AFTER INSERT ON stored_answers BEGIN
  INSERT INTO stored_answer_totals VALUES (NEW.account_id, 1, coalesce(length(NEW.body), 0))
  ON CONFLICT (account_id) DO UPDATE SET answers = answers + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER stored_answers_changed AFTER UPDATE OF body ON stored_answers BEGIN
  UPDATE stored_answer_totals
  SET bytes = bytes + coalesce(length(NEW.body), 0) - coalesce(length(OLD.body), 0)
  WHERE account_id = OLD.account_id;
END;
CREATE TRIGGER stored_answers_deleted AFTER DELETE ON stored_answers BEGIN
  UPDATE stored_answer_totals SET answers = answers - 1, bytes = bytes - coalesce(length(OLD.body), 0)
  WHERE account_id = OLD.account_id;
END;

-- Has a row once no response that was stored before there was a master key can be read in this file.
CREATE TABLE answers_sealed (
  one INTEGER PRIMARY KEY CHECK (one = 1)
) STRICT;
