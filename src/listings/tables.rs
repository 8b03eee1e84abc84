//! The tables of listings, written: what one transaction changes of them. [`super::rows`] reads them.
//!
//! Every change of a property's or advert's row gives it the next number of one sequence, so that whoever keeps
//! something made from the rows finds the changed ones by number. Statements are prepared once per connection.

use rusqlite::{Connection, OptionalExtension, Transaction};

use super::dedup::{BlockKey, Fingerprint};
use super::identity::UrlDigest;
use super::percolation::Percolation;
use super::prepare::{Draft, MadeProperty};
use super::property::Member;
use super::rows::{failed, fingerprint, flx_id, last_sequence, members, property_id};
use crate::alerts::percolate::{AdvertWritten, Occasion};
use crate::wire::enums::WireEnum;
use crate::wire::listings::codes::{FlxId, Timestamp};
use crate::wire::listings::deliveries::AdvertEvent;
use crate::wire::listings::scalars::Eur;

/// Blocks of an advert as bytes.
fn key_bytes(keys: &[BlockKey]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.0.to_le_bytes()).collect()
}

fn keys_of(bytes: &[u8]) -> Vec<BlockKey> {
    let (keys, _) = bytes.as_chunks::<8>();
    keys.iter()
        .map(|key| BlockKey(i64::from_le_bytes(*key)))
        .collect()
}

/// Changes the tables inside a transaction.
pub(super) struct Tables<'t> {
    transaction: &'t Transaction<'t>,
    last_sequence: i64,
    percolation: Percolation<'t>,
}

impl<'t> Tables<'t> {
    /// Begins after the last change any process made; the alerts look at what is written.
    pub(super) fn begin(
        transaction: &'t Transaction<'t>,
        percolation: Percolation<'t>,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            last_sequence: last_sequence(transaction)?,
            transaction,
            percolation,
        })
    }

    /// Ends: the alerts have looked at everything that was written.
    pub(super) fn end(mut self) -> rusqlite::Result<()> {
        self.percolation.tell(self.transaction)
    }

    /// Hands an advert that was written to the alerts, if there are any on adverts; its record names its property.
    pub(super) fn percolate_advert(
        &mut self,
        advert: impl FnOnce() -> AdvertWritten,
    ) -> rusqlite::Result<()> {
        self.percolation.advert(self.transaction, advert)
    }

    /// For reading.
    pub(super) fn connection(&self) -> &'t Connection {
        self.transaction
    }

    /// Number of the last change.
    pub(super) fn last_sequence(&self) -> i64 {
        self.last_sequence
    }

    fn next_sequence(&mut self) -> i64 {
        self.last_sequence += 1;
        self.last_sequence
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> rusqlite::Result<usize> {
        self.transaction.prepare_cached(sql)?.execute(parameters)
    }

    /// Number and last change of the advert under an address.
    pub(super) fn version(&self, digest: &UrlDigest) -> rusqlite::Result<Option<(i64, i64)>> {
        self.transaction
            .prepare_cached("SELECT advert, sequence FROM adverts WHERE url_digest = ?1")?
            .query_row([digest], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    }

    /// The property of an advert.
    pub(super) fn property_of_advert(&self, advert: i64) -> rusqlite::Result<i64> {
        self.transaction
            .prepare_cached("SELECT property FROM adverts WHERE advert = ?1")?
            .query_row([advert], |row| row.get(0))
    }

    /// The identifier of the property of the advert under an address.
    pub(super) fn property_of_url(&self, digest: &UrlDigest) -> rusqlite::Result<FlxId> {
        self.transaction
            .prepare_cached(
                "SELECT property_id FROM adverts JOIN properties USING (property) WHERE url_digest = ?1",
            )?
            .query_row([digest], |row| flx_id(row, 0))
    }

    /// Inserts a property, under the next number unless one is given, and gives its number.
    pub(super) fn insert_property(
        &mut self,
        number: Option<i64>,
        id: FlxId,
        made: &MadeProperty,
    ) -> rusqlite::Result<i64> {
        let sequence = self.next_sequence();
        self.execute(
            "INSERT INTO properties (property, property_id, sequence, document) VALUES (?1, ?2, ?3, ?4)",
            (number, id.0.as_bytes(), sequence, &made.document),
        )?;
        let property = self.transaction.last_insert_rowid();
        let record = &made.record;
        self.percolation
            .property(self.transaction, property, record, Occasion::Founded)?;
        Ok(property)
    }

    /// Replaces the record of a property by what its adverts make; it must have one. `occasion` is what the alerts are
    /// to look at it for, if they are.
    pub(super) fn rebuild(
        &mut self,
        property: i64,
        occasion: Option<Occasion>,
    ) -> rusqlite::Result<()> {
        let id = property_id(self.transaction, property)?;
        let members: Vec<Member> = members(self.transaction, property)?
            .into_iter()
            .map(|(_, member)| member)
            .collect();
        self.update_property(
            property,
            &MadeProperty::of(id, &members).map_err(failed)?,
            occasion,
        )
    }

    /// Replaces the record of a property, and lets a merged one stand for itself again.
    pub(super) fn update_property(
        &mut self,
        property: i64,
        made: &MadeProperty,
        occasion: Option<Occasion>,
    ) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        self.execute(
            "UPDATE properties SET document = ?2, sequence = ?3, merged_into = NULL WHERE property = ?1",
            (property, &made.document, sequence),
        )?;
        match occasion {
            Some(occasion) => {
                let record = &made.record;
                self.percolation
                    .property(self.transaction, property, record, occasion)
            }
            None => Ok(()),
        }
    }

    /// Makes one property's identifier answer with another's record; its adverts move there.
    pub(super) fn redirect(&mut self, property: i64, survivor: i64) -> rusqlite::Result<()> {
        // What was written of both so far was still of two.
        self.percolation.tell(self.transaction)?;
        for (advert, _) in self.fingerprints_of(property)? {
            self.move_advert(advert, survivor)?;
        }
        self.execute(
            "UPDATE properties SET merged_into = ?2 WHERE merged_into = ?1",
            (property, survivor),
        )?;
        let sequence = self.next_sequence();
        self.execute(
            "UPDATE properties SET merged_into = ?2, document = NULL, sequence = ?3 WHERE property = ?1",
            (property, survivor, sequence),
        )?;
        Ok(())
    }

    /// Puts an advert under another property.
    pub(super) fn move_advert(&mut self, advert: i64, property: i64) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        self.execute(
            "UPDATE adverts SET property = ?2, sequence = ?3 WHERE advert = ?1",
            (advert, property, sequence),
        )?;
        self.execute(
            "UPDATE fingerprints SET property = ?2 WHERE advert = ?1",
            (advert, property),
        )?;
        Ok(())
    }

    /// Inserts an advert under a property, with its fingerprint, where others of its keys find it.
    pub(super) fn insert_advert(
        &mut self,
        digest: &UrlDigest,
        property: i64,
        draft: &Draft,
    ) -> rusqlite::Result<i64> {
        let (advert, keys) = self.insert_unfound_advert(digest, property, draft)?;
        self.put_keys(advert, &keys)?;
        Ok(advert)
    }

    /// Inserts an advert that no other finds before its keys, given with its number, are put.
    pub(super) fn insert_unfound_advert(
        &mut self,
        digest: &UrlDigest,
        property: i64,
        draft: &Draft,
    ) -> rusqlite::Result<(i64, Vec<BlockKey>)> {
        let id = draft
            .member
            .advert
            .flx_id
            .ok_or_else(|| failed("an advert has no identifier"))?;
        let sequence = self.next_sequence();
        self.execute(
            "INSERT INTO adverts (advert_id, url_digest, property, sequence, observed_at_ms, first_seen_at_ms,
               modified_at_ms, published_at_ms, derived, anomalies, document)
             VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, 0, x'')",
            (id.0.as_bytes(), digest, property, sequence),
        )?;
        let advert = self.transaction.last_insert_rowid();
        self.fill_advert(advert, sequence, draft)?;
        let keys = draft.fingerprint.blocks();
        self.execute(
            "INSERT INTO fingerprints (advert, property, keys, fingerprint) VALUES (?1, ?2, ?3, ?4)",
            (advert, property, key_bytes(&keys), draft.fingerprint.encode()),
        )?;
        Ok((advert, keys))
    }

    /// Replaces the record of an advert, its fingerprint, and adds its events.
    pub(super) fn update_advert(&mut self, advert: i64, draft: &Draft) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        self.fill_advert(advert, sequence, draft)?;
        let keys = draft.fingerprint.blocks();
        let bytes = key_bytes(&keys);
        let known: Vec<u8> = self
            .transaction
            .prepare_cached("SELECT keys FROM fingerprints WHERE advert = ?1")?
            .query_row([advert], |row| row.get(0))?;
        self.execute(
            "UPDATE fingerprints SET keys = ?2, fingerprint = ?3 WHERE advert = ?1",
            (advert, &bytes, draft.fingerprint.encode()),
        )?;
        if known != bytes {
            for key in keys_of(&known) {
                self.execute(
                    "DELETE FROM blocks WHERE key = ?1 AND advert = ?2",
                    (key.0, advert),
                )?;
            }
            self.put_keys(advert, &keys)?;
        }
        for event in &draft.events {
            self.insert_event(advert, event)?;
        }
        Ok(())
    }

    fn fill_advert(&self, advert: i64, sequence: i64, draft: &Draft) -> rusqlite::Result<()> {
        let history = &draft.member.history;
        let at = |moment: Timestamp| moment.get().timestamp_millis();
        self.execute(
            "UPDATE adverts SET sequence = ?2, observed_at_ms = ?3, first_seen_at_ms = ?4, modified_at_ms = ?5,
               published_at_ms = ?6, online_at_ms = ?7, offline_at_ms = ?8, initial_price = ?9, previous_price = ?10,
               derived = ?11, anomalies = ?12, document = ?13
             WHERE advert = ?1",
            (
                advert,
                sequence,
                at(history.observed_at),
                at(history.first_seen_at),
                at(history.modified_at),
                at(history.published_at),
                history.online_at.map(at),
                history.offline_at.map(at),
                history.initial_price.map(Eur::get),
                history.previous_price.map(Eur::get),
                draft.member.derived.0,
                draft.anomalies.0,
                &draft.document,
            ),
        )?;
        Ok(())
    }

    /// Has an advert be found by its keys.
    pub(super) fn put_keys(&self, advert: i64, keys: &[BlockKey]) -> rusqlite::Result<()> {
        for key in keys {
            self.execute(
                "INSERT OR IGNORE INTO blocks (key, advert) VALUES (?1, ?2)",
                (key.0, advert),
            )?;
        }
        Ok(())
    }

    /// Notes something that happened to an advert.
    pub(super) fn insert_event(&self, advert: i64, event: &AdvertEvent) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO advert_events (advert, type, occurred_at_ms, previous_price, previous_is_online)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (
                advert,
                event.event_type.as_str(),
                event.occurred_at.get().timestamp_millis(),
                event.previous.price.map(Eur::get),
                event.previous.is_online,
            ),
        )?;
        Ok(())
    }

    /// Adverts under any of some keys with their property and fingerprint, each once; the latest `per_key_max` of a key
    /// and `max` of all.
    pub(super) fn met(
        &self,
        keys: &[BlockKey],
        per_key_max: usize,
        max: usize,
    ) -> rusqlite::Result<Vec<(i64, i64, Fingerprint)>> {
        // A limit bound as a parameter would have the statement planned anew for each key.
        let mut statement = self
            .transaction
            .prepare_cached("SELECT advert FROM blocks WHERE key = ?1 ORDER BY advert DESC")?;
        let mut adverts: Vec<i64> = Vec::new();
        for key in keys {
            let of_key = statement.query_map([key.0], |row| row.get(0))?;
            for advert in of_key.take(per_key_max) {
                adverts.push(advert?);
            }
        }
        adverts.sort_unstable();
        adverts.dedup();
        adverts.drain(..adverts.len().saturating_sub(max));
        let mut statement = self
            .transaction
            .prepare_cached("SELECT property, fingerprint FROM fingerprints WHERE advert = ?1")?;
        adverts
            .into_iter()
            .map(|advert| {
                statement.query_row([advert], |row| {
                    let fingerprint = fingerprint(row, 1)?;
                    Ok((advert, row.get(0)?, fingerprint))
                })
            })
            .collect()
    }

    /// The adverts of a property with their fingerprints.
    pub(super) fn fingerprints_of(
        &self,
        property: i64,
    ) -> rusqlite::Result<Vec<(i64, Fingerprint)>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT advert, fingerprint FROM fingerprints WHERE property = ?1 ORDER BY advert",
        )?;
        let rows =
            statement.query_map([property], |row| Ok((row.get(0)?, fingerprint(row, 1)?)))?;
        rows.collect()
    }

    /// Declares two adverts to be of different assets, for good.
    pub(super) fn keep_apart(&self, one: i64, other: i64) -> rusqlite::Result<()> {
        for pair in [(one, other), (other, one)] {
            self.execute(
                "INSERT OR IGNORE INTO apart (advert, other) VALUES (?1, ?2)",
                pair,
            )?;
        }
        Ok(())
    }

    /// Forgets that adverts of two properties were declared to be of different assets.
    pub(super) fn forget_apart(&self, one: i64, other: i64) -> rusqlite::Result<()> {
        let sql =
            "DELETE FROM apart WHERE advert IN (SELECT advert FROM adverts WHERE property = ?1)
             AND other IN (SELECT advert FROM adverts WHERE property = ?2)";
        for pair in [(one, other), (other, one)] {
            self.execute(sql, pair)?;
        }
        Ok(())
    }

    /// Whether an advert was declared to be of another asset than some advert of a property.
    pub(super) fn is_kept_apart(&self, advert: i64, property: i64) -> rusqlite::Result<bool> {
        self.transaction
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM apart JOIN adverts ON adverts.advert = apart.other
                 WHERE apart.advert = ?1 AND adverts.property = ?2)",
            )?
            .query_row((advert, property), |row| row.get(0))
    }
}
