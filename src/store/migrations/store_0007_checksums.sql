-- Documents get a checksum (store::document). What cannot be read stays as it is, to be named when it is read.
UPDATE records SET document = document_with_checksum(document);
UPDATE adverts SET document = document_with_checksum(document);
UPDATE snapshots SET document = document_with_checksum(document);
UPDATE geocoding_upstream SET answer = document_with_checksum(answer);
