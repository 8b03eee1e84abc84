-- Stored responses get a checksum (store::checksum) and are bounded in bytes per account.
ALTER TABLE stored_answers RENAME TO stored_answers_before;
DROP INDEX stored_answers_by_age;
CREATE TABLE stored_answers (
  account_id BLOB NOT NULL,
  idempotency_key TEXT NOT NULL,
  request_digest BLOB NOT NULL,
  status INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  -- Length of the body; it is stored compressed (zstd).
  bytes INTEGER NOT NULL,
  body BLOB NOT NULL,
  stored_at_ms INTEGER NOT NULL,
  -- Of everything above but account, key and time.
  checksum BLOB NOT NULL,
  PRIMARY KEY (account_id, idempotency_key)
) STRICT;
INSERT INTO stored_answers
SELECT *, answer_checksum(request_digest, status, content_type, bytes, body) FROM stored_answers_before;
DROP TABLE stored_answers_before;
CREATE INDEX stored_answers_by_age ON stored_answers (stored_at_ms);
CREATE INDEX stored_answers_by_account ON stored_answers (account_id, stored_at_ms);

-- Bytes that the stored responses of each account take, kept by triggers.
CREATE TABLE stored_answer_bytes (
  account_id BLOB PRIMARY KEY NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO stored_answer_bytes SELECT account_id, sum(length(body)) FROM stored_answers GROUP BY account_id;
CREATE TRIGGER stored_answers_inserted AFTER INSERT ON stored_answers BEGIN
  INSERT INTO stored_answer_bytes VALUES (NEW.account_id, length(NEW.body))
  ON CONFLICT (account_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER stored_answers_deleted AFTER DELETE ON stored_answers BEGIN
  UPDATE stored_answer_bytes SET bytes = bytes - length(OLD.body) WHERE account_id = OLD.account_id;
END;
