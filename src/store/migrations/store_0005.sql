-- Limits of a key's SQL queries, a JSON object; null without any.
ALTER TABLE keys ADD COLUMN sql_limits TEXT;
