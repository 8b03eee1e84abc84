-- What many homes show is no evidence: pictures, texts, telephone numbers and references, by digest. Of 32 bits each home
-- sets one. Derived: all of it can be counted again from the adverts.
CREATE TABLE marks (
  mark INTEGER PRIMARY KEY NOT NULL,
  homes INTEGER NOT NULL
) STRICT;
-- Marks that enough homes show, in the order in which they became common.
CREATE TABLE common_marks (
  number INTEGER PRIMARY KEY NOT NULL,
  mark INTEGER NOT NULL UNIQUE
) STRICT;

-- How much oftener than usual two portals show one home, in both orders. Learned by a rebuild of the properties.
CREATE TABLE portal_rates (
  portal INTEGER NOT NULL,
  other INTEGER NOT NULL,
  -- Binary logarithm of a factor of the odds.
  bits REAL NOT NULL,
  -- Pairs of adverts from which it was learned.
  pairs INTEGER NOT NULL,
  PRIMARY KEY (portal, other)
) STRICT, WITHOUT ROWID;
