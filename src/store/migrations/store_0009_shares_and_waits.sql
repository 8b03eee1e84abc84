-- Whether the alerts of other accounts may match what the page says: where a test key asked for it, only
-- as far as the settings say.
ALTER TABLE jobs ADD COLUMN is_shared INTEGER NOT NULL DEFAULT 1 CHECK (is_shared IN (0, 1));

-- When the wait of an open delivery began: a wait keeps its length when the clock is set while no process dispatches.
ALTER TABLE deliveries ADD COLUMN waits_since_ms INTEGER;

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

-- The key that takes the place of an account's webhook key, and from when on; until then deliveries carry both.
ALTER TABLE webhook_keys ADD COLUMN next_value TEXT;
ALTER TABLE webhook_keys ADD COLUMN next_from_ms INTEGER;
