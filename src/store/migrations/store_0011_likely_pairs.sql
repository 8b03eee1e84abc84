-- Pairs of adverts that are perhaps of one asset but in two properties: found when `advert` was placed, for a person to
-- decide. Derived: they can be found again from the adverts.
CREATE TABLE likely_pairs (
  advert INTEGER NOT NULL,
  other INTEGER NOT NULL,
  -- Binary logarithm of the odds that both are one asset.
  bits REAL NOT NULL,
  PRIMARY KEY (advert, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX likely_pairs_by_bits ON likely_pairs (bits);
