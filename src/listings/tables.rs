//! The tables of listings, written: what one transaction changes of them. [`super::rows`] reads them.
//!
//! Every change of a property's or advert's row gives it the next number of one sequence, so that whoever keeps
//! something made from the rows finds the changed ones by number. Statements are prepared once per connection.

use std::collections::BTreeSet;

use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, Transaction, params_from_iter};

use super::dedup::{BlockKey, Fingerprint};
use super::identity::UrlDigest;
use super::percolation::Percolation;
use super::placement::{Found, Placement};
use super::prepare::{Draft, MadeProperty};
use super::property::Member;
use super::recent::{Basis, Recent};
use super::record_key::{RecordKey, checked_number};
use super::rows::{
    self, failed, fingerprint, fingerprints_of, flx_id, key_bytes, keys_of, last_sequence, members,
    property_id,
};
use toise_alerts::percolate::{AdvertWritten, Occasion};
use toise_contract::enums::WireEnum;
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::deliveries::AdvertEvent;
use toise_contract::listings::scalars::Eur;

/// Changes the tables inside a transaction.
pub(super) struct Tables<'t> {
    transaction: &'t Transaction<'t>,
    last_sequence: i64,
    percolation: Percolation<'t>,
    /// What changed since adverts were prepared; `None` when nothing prepared counts.
    recent: Option<Recent>,
    /// Adverts that came under another property, which the alerts have not looked at since.
    moved: BTreeSet<i64>,
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
            recent: None,
            moved: BTreeSet::new(),
        })
    }

    /// The same, with what was found out about places of adverts on the basis of a moment.
    pub(super) fn prepared_on(mut self, basis: Basis) -> rusqlite::Result<Self> {
        self.recent = Recent::since(basis, self.transaction)?;
        Ok(self)
    }

    /// Where an advert belongs; `before` is what was found beforehand. `own` is as for [`Placement::find`].
    pub(super) fn find(
        &self,
        fingerprint: &Fingerprint,
        own: Option<(i64, i64)>,
        before: Option<&Placement>,
    ) -> rusqlite::Result<Found> {
        match (before, &self.recent) {
            (Some(before), Some(recent)) => before.now(self.transaction, fingerprint, own, recent),
            _ => Ok(Placement::find(self.transaction, fingerprint, own)?.found),
        }
    }

    /// Whether a property is as it was when adverts were prepared.
    pub(super) fn is_as_before(&self, property: i64) -> bool {
        let recent = self.recent.as_ref();
        recent.is_some_and(|recent| !recent.has_property(property))
    }

    fn note_property(&mut self, property: i64) {
        if let Some(recent) = &mut self.recent {
            recent.add_property(property);
        }
    }

    fn note_advert(&mut self, advert: i64, keys: &[BlockKey], fingerprint: &Fingerprint) {
        if let Some(recent) = &mut self.recent {
            recent.add_advert(advert, keys, fingerprint);
        }
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

    /// Hands the adverts that came under another property to the alerts, as changed and without an event; but for
    /// `own`, which whoever writes it hands over.
    pub(super) fn percolate_moved(&mut self, own: Option<i64>) -> rusqlite::Result<()> {
        for advert in std::mem::take(&mut self.moved) {
            if Some(advert) != own && self.percolation.is_for_adverts() {
                let record = rows::told(self.transaction, advert)?;
                self.percolate_advert(|| AdvertWritten {
                    advert,
                    is_new: false,
                    record,
                    events: Vec::new(),
                })?;
            }
        }
        Ok(())
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

    /// Inserts a property under the next number, which it gives.
    pub(super) fn insert_property(
        &mut self,
        id: FlxId,
        made: &MadeProperty,
    ) -> rusqlite::Result<i64> {
        let last = self
            .transaction
            .prepare_cached("SELECT coalesce(max(property), 0) FROM properties")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        let property = checked_number(last + 1)?;
        let key = RecordKey::unplaced(property);
        self.insert_unkept_property(key, id)?;
        self.put_record(key, &made.document)?;
        self.note_property(property);
        let record = &made.record;
        self.percolation
            .property(self.transaction, property, record, Occasion::Founded)?;
        Ok(property)
    }

    /// Inserts a property under the number of a key; its record, under that key, is still to be put.
    pub(super) fn insert_unkept_property(
        &mut self,
        key: RecordKey,
        id: FlxId,
    ) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        self.execute(
            "INSERT INTO properties (property, property_id, sequence, record) VALUES (?1, ?2, ?3, ?4)",
            (key.number(), id.0.as_bytes(), sequence, key.0),
        )?;
        Ok(())
    }

    /// Keeps the record of a property under its key, in place of the one there is.
    pub(super) fn put_record(&self, key: RecordKey, document: &[u8]) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO records (record, document) VALUES (?1, ?2)
             ON CONFLICT (record) DO UPDATE SET document = excluded.document",
            (key.0, document),
        )?;
        Ok(())
    }

    /// Key of the record of a property; `None` when it was joined to another.
    fn record_key(&self, property: i64) -> rusqlite::Result<Option<RecordKey>> {
        self.transaction
            .prepare_cached("SELECT record FROM properties WHERE property = ?1")?
            .query_row([property], |row| {
                Ok(row.get::<_, Option<i64>>(0)?.map(RecordKey))
            })
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
        let kept = self.record_key(property)?;
        let key = kept.unwrap_or(RecordKey::unplaced(property));
        self.put_record(key, &made.document)?;
        self.execute(
            "UPDATE properties SET record = ?2, sequence = ?3, merged_into = NULL WHERE property = ?1",
            (property, key.0, sequence),
        )?;
        self.note_property(property);
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
        for (advert, _) in fingerprints_of(self.transaction, property)? {
            self.move_advert(advert, survivor)?;
        }
        self.execute(
            "UPDATE properties SET merged_into = ?2 WHERE merged_into = ?1",
            (property, survivor),
        )?;
        let sequence = self.next_sequence();
        if let Some(key) = self.record_key(property)? {
            self.execute("DELETE FROM records WHERE record = ?1", [key.0])?;
        }
        self.execute(
            "UPDATE properties SET merged_into = ?2, record = NULL, sequence = ?3 WHERE property = ?1",
            (property, survivor, sequence),
        )?;
        self.note_property(property);
        Ok(())
    }

    /// Has the identifier of a property that was joined to one answer with another's record, which its first advert is
    /// of now.
    pub(super) fn answer_with(
        &mut self,
        founded: FlxId,
        former: i64,
        survivor: i64,
    ) -> rusqlite::Result<()> {
        self.execute(
            "UPDATE properties SET merged_into = ?3 WHERE property_id = ?1 AND merged_into = ?2",
            (founded.0.as_bytes(), former, survivor),
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
        self.moved.insert(advert);
        self.execute(
            "UPDATE fingerprints SET property = ?2 WHERE advert = ?1",
            (advert, property),
        )?;
        self.note_property(property);
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
        self.put_keys(advert, &keys, &draft.fingerprint.outline())?;
        self.note_advert(advert, &keys, &draft.fingerprint);
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
        self.write_advert(
            "INSERT INTO adverts (advert, sequence, observed_at_ms, first_seen_at_ms, modified_at_ms, published_at_ms,
               online_at_ms, offline_at_ms, initial_price, previous_price, derived, anomalies, document, advert_id,
               url_digest, property)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            None,
            draft,
            &[id.0.as_bytes(), digest, &property],
        )?;
        let advert = self.transaction.last_insert_rowid();
        let keys = draft.fingerprint.blocks();
        self.execute(
            "INSERT INTO fingerprints (advert, property, keys, fingerprint) VALUES (?1, ?2, ?3, ?4)",
            (advert, property, key_bytes(&keys), draft.fingerprint.encode()),
        )?;
        Ok((advert, keys))
    }

    /// Replaces the record of an advert, its fingerprint, and adds its events.
    pub(super) fn update_advert(&mut self, advert: i64, draft: &Draft) -> rusqlite::Result<()> {
        self.write_advert(
            "UPDATE adverts SET sequence = ?2, observed_at_ms = ?3, first_seen_at_ms = ?4, modified_at_ms = ?5,
               published_at_ms = ?6, online_at_ms = ?7, offline_at_ms = ?8, initial_price = ?9, previous_price = ?10,
               derived = ?11, anomalies = ?12, document = ?13
             WHERE advert = ?1",
            Some(advert),
            draft,
            &[],
        )?;
        let (known_keys, known) = self
            .transaction
            .prepare_cached("SELECT keys, fingerprint FROM fingerprints WHERE advert = ?1")?
            .query_row([advert], |row| {
                Ok((keys_of(row.get_ref(0)?.as_blob()?), fingerprint(row, 1)?))
            })?;
        let keys = draft.fingerprint.blocks();
        if known_keys != keys || known != draft.fingerprint {
            self.execute(
                "UPDATE fingerprints SET keys = ?2, fingerprint = ?3 WHERE advert = ?1",
                (advert, key_bytes(&keys), draft.fingerprint.encode()),
            )?;
        }
        for key in known_keys.iter().filter(|key| !keys.contains(key)) {
            self.execute(
                "DELETE FROM blocks WHERE key = ?1 AND advert = ?2",
                (key.0, advert),
            )?;
        }
        let outline = draft.fingerprint.outline();
        if known_keys != keys || known.outline() != outline {
            self.put_keys(advert, &keys, &outline)?;
        }
        self.note_advert(advert, &keys, &draft.fingerprint);
        for event in &draft.events {
            self.insert_event(advert, event)?;
        }
        Ok(())
    }

    /// Runs a statement that takes an advert's number, the number of its change, what else a draft says of it, and more.
    fn write_advert(
        &mut self,
        sql: &str,
        advert: Option<i64>,
        draft: &Draft,
        more: &[&dyn ToSql],
    ) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        let history = &draft.member.history;
        let at = |moment: Timestamp| moment.get().timestamp_millis();
        let content: [&dyn ToSql; 13] = [
            &advert,
            &sequence,
            &at(history.observed_at),
            &at(history.first_seen_at),
            &at(history.modified_at),
            &at(history.published_at),
            &history.online_at.map(at),
            &history.offline_at.map(at),
            &history.initial_price.map(Eur::get),
            &history.previous_price.map(Eur::get),
            &draft.member.derived.0,
            &draft.anomalies.0,
            &draft.document,
        ];
        self.execute(sql, params_from_iter(content.iter().chain(more)))?;
        Ok(())
    }

    /// Has an advert be found by its keys, each with its outline.
    pub(super) fn put_keys(
        &self,
        advert: i64,
        keys: &[BlockKey],
        outline: &[u8],
    ) -> rusqlite::Result<()> {
        for key in keys {
            self.execute(
                "INSERT OR REPLACE INTO blocks (key, advert, outline) VALUES (?1, ?2, ?3)",
                (key.0, advert, outline),
            )?;
        }
        Ok(())
    }

    /// Notes something that happened to an advert. No question reads the table: answers and webhooks carry events from
    /// memory. It is the only record of when an advert's price and presence changed, which its document forgets, so it is
    /// written for good, as the reasons of anomalies beside each advert are, for who looks into the store.
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
}
