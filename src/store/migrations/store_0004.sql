-- Adverts that a person put into one property: they do not leave it by themselves.
CREATE TABLE held (
  advert INTEGER PRIMARY KEY NOT NULL
) STRICT;
