-- What of an advert's fingerprint tells most others apart (dedup::outline), beside each of its keys: those it rules out
-- need not be read. Rows from before have none and rule nothing out until their advert says something new.
ALTER TABLE blocks ADD COLUMN outline BLOB;
