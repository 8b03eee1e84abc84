-- What leaves the outbox first: delivered ones, then dead ones, the oldest first.
DROP INDEX deliveries_dead;
CREATE INDEX deliveries_settled ON deliveries (status) WHERE next_attempt_at_ms IS NULL;

-- Alerts of which something waits to be sent once more.
CREATE INDEX outbox_replays_waiting ON outbox (alert) WHERE replay IS NOT NULL AND delivery IS NULL;

-- Serves both the count of an account's active alerts and those that go to one receiver.
DROP INDEX alerts_active;
CREATE INDEX alerts_active ON alerts (account_id, webhook_url, activated) WHERE activated = 1;
