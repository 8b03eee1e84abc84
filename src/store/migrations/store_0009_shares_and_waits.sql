-- Whether the alerts of other accounts may match what the page says: where a test key asked for it, only
-- as far as the settings say.
ALTER TABLE jobs ADD COLUMN is_shared INTEGER NOT NULL DEFAULT 1 CHECK (is_shared IN (0, 1));

-- When the wait of an open delivery began: a wait keeps its length when the clock is set while no process dispatches.
ALTER TABLE deliveries ADD COLUMN waits_since_ms INTEGER;
