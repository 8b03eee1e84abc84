//! Writes advert rows and the keys by which adverts are found, inside a transaction.

use rusqlite::types::ToSql;
use rusqlite::{OptionalExtension, params_from_iter};

use super::ListingsWriter;
use crate::adverts::identity::UrlDigest;
use crate::adverts::prepare::AdvertDraft;
use crate::records::rows::{self, blob, key_bytes, keys_of, one_row};
use crate::{Error, Result};
use toise_contract::enums::WireEnum;
use toise_contract::listings::codes::Timestamp;
use toise_contract::listings::deliveries::AdvertEvent;
use toise_contract::listings::scalars::Eur;
use toise_dedup::{BlockKey, COMMON_HOMES, Fingerprint};

impl ListingsWriter<'_> {
    /// Moves an advert to another property.
    pub(crate) fn move_advert(&mut self, advert: i64, property: i64) -> Result<()> {
        self.keep_former_advert(advert)?;
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

    /// Inserts an advert under a property, with its fingerprint and its block keys.
    pub(crate) fn insert_advert(
        &mut self,
        digest: &UrlDigest,
        property: i64,
        draft: &AdvertDraft,
    ) -> Result<i64> {
        let (advert, keys) = self.insert_advert_without_keys(digest, property, draft)?;
        self.insert_keys(advert, &keys, &draft.fingerprint.outline())?;
        self.note_advert(advert, &keys, &draft.fingerprint);
        Ok(advert)
    }

    /// Inserts an advert without its block keys, and returns its number and the keys. Other adverts find it only once
    /// the caller has inserted them.
    pub(crate) fn insert_advert_without_keys(
        &mut self,
        digest: &UrlDigest,
        property: i64,
        draft: &AdvertDraft,
    ) -> Result<(i64, Vec<BlockKey>)> {
        let id = draft.member.advert.flx_id;
        let id = id.ok_or(Error::NoId("an advert"))?;
        self.write_advert(
            "INSERT INTO adverts (advert, sequence, observed_at_ms, first_seen_at_ms, modified_at_ms, published_at_ms,
               online_at_ms, offline_at_ms, initial_price, previous_price, is_stamped, derived, anomalies, document,
               advert_id, url_digest, property)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
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
        self.count_marks(&draft.fingerprint)?;
        Ok((advert, keys))
    }

    /// Replaces the record, fingerprint and block keys of an advert, and adds its events.
    pub(crate) fn update_advert(&mut self, advert: i64, draft: &AdvertDraft) -> Result<()> {
        self.keep_former_advert(advert)?;
        self.write_advert(
            "UPDATE adverts SET sequence = ?2, observed_at_ms = ?3, first_seen_at_ms = ?4, modified_at_ms = ?5,
               published_at_ms = ?6, online_at_ms = ?7, offline_at_ms = ?8, initial_price = ?9, previous_price = ?10,
               is_stamped = ?11, derived = ?12, anomalies = ?13, document = ?14
             WHERE advert = ?1",
            Some(advert),
            draft,
            &[],
        )?;
        let fingerprint = &draft.fingerprint;
        if !rows::is_fingerprint_stored(self.transaction, advert, fingerprint)? {
            self.update_fingerprint(advert, fingerprint)?;
        }
        self.note_advert(advert, &fingerprint.blocks(), fingerprint);
        for event in &draft.events {
            self.insert_event(advert, event)?;
        }
        Ok(())
    }

    /// Replaces the fingerprint and block keys of an advert.
    pub(crate) fn update_fingerprint(
        &mut self,
        advert: i64,
        fingerprint: &Fingerprint,
    ) -> Result<()> {
        let mut statement = self
            .transaction
            .prepare_cached("SELECT keys FROM fingerprints WHERE advert = ?1")?;
        let known_keys = one_row(&mut statement, [advert], |row| Ok(keys_of(blob(row, 0)?)))?;
        let keys = fingerprint.blocks();
        self.execute(
            "UPDATE fingerprints SET keys = ?2, fingerprint = ?3 WHERE advert = ?1",
            (advert, key_bytes(&keys), fingerprint.encode()),
        )?;
        for key in known_keys.iter().filter(|key| !keys.contains(key)) {
            self.execute(
                "DELETE FROM blocks WHERE key = ?1 AND advert = ?2",
                (key.0, advert),
            )?;
        }
        self.insert_keys(advert, &keys, &fingerprint.outline())?;
        self.count_marks(fingerprint)?;
        Ok(())
    }

    /// Counts an advert's home for each of the advert's marks. A mark that became common stays common.
    pub(crate) fn count_marks(&self, fingerprint: &Fingerprint) -> rusqlite::Result<()> {
        let mut known = self
            .transaction
            .prepare_cached("SELECT homes FROM marks WHERE mark = ?1")?;
        // Reads first: most marks of a later sighting are already counted, and a write with RETURNING costs twice as
        // much.
        let mut write = self.transaction.prepare_cached(
            "INSERT INTO marks (mark, homes) VALUES (?1, ?2)
             ON CONFLICT (mark) DO UPDATE SET homes = excluded.homes",
        )?;
        for mark in fingerprint.marks() {
            let counted: Option<u32> = known
                .query_row([mark.digest], |row| row.get(0))
                .optional()?;
            let counted = counted.unwrap_or_default();
            let homes = counted | mark.home;
            if homes == counted {
                continue;
            }
            write.execute((mark.digest, homes))?;
            if homes.count_ones() == COMMON_HOMES {
                let sql = "INSERT OR IGNORE INTO common_marks (mark) VALUES (?1)";
                self.execute(sql, [mark.digest])?;
            }
        }
        Ok(())
    }

    /// Returns the sequence of an advert's last change.
    pub(crate) fn sequence_of_advert(&self, advert: i64) -> rusqlite::Result<i64> {
        self.transaction
            .prepare_cached("SELECT sequence FROM adverts WHERE advert = ?1")?
            .query_row([advert], |row| row.get(0))
    }

    /// Runs a statement whose parameters are the advert's number, a new sequence, the columns of a draft, and `more`.
    fn write_advert(
        &mut self,
        sql: &str,
        advert: Option<i64>,
        draft: &AdvertDraft,
        more: &[&dyn ToSql],
    ) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        let history = &draft.member.history;
        let at = |moment: Timestamp| moment.get().timestamp_millis();
        let content: [&dyn ToSql; 14] = [
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
            &history.is_stamped,
            &draft.member.derived.0,
            &draft.anomalies.0,
            &draft.document,
        ];
        self.execute(sql, params_from_iter(content.iter().chain(more)))?;
        Ok(())
    }

    /// Inserts the block keys of an advert, each with its outline.
    pub(crate) fn insert_keys(
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

    /// Stores an event of an advert. No query reads the table: responses and webhooks take events from memory. The
    /// table alone records when an advert's price and presence changed; the advert's document does not. It serves to
    /// inspect the store and, like the anomalies stored with each advert, is never deleted.
    pub(crate) fn insert_event(&self, advert: i64, event: &AdvertEvent) -> rusqlite::Result<()> {
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

    /// Replaces the list of adverts that may describe the same asset as an advert, with the evidence in bits.
    pub(crate) fn replace_likely(
        &self,
        advert: i64,
        likely: &[(i64, f32)],
    ) -> rusqlite::Result<()> {
        self.execute("DELETE FROM likely_pairs WHERE advert = ?1", [advert])?;
        for (other, bits) in likely {
            self.execute(
                "INSERT INTO likely_pairs (advert, other, bits) VALUES (?1, ?2, ?3)",
                (advert, other, bits),
            )?;
        }
        Ok(())
    }

    /// Declares two adverts distinct, permanently.
    pub(crate) fn mark_distinct(&self, one: i64, other: i64) -> rusqlite::Result<()> {
        for pair in [(one, other), (other, one)] {
            self.execute(
                "INSERT OR IGNORE INTO apart (advert, other) VALUES (?1, ?2)",
                pair,
            )?;
        }
        Ok(())
    }

    /// Records that a person merged the adverts of a property.
    pub(crate) fn hold(&self, property: i64) -> rusqlite::Result<()> {
        let sql = "INSERT OR IGNORE INTO held SELECT advert FROM adverts WHERE property = ?1";
        self.execute(sql, [property])?;
        Ok(())
    }

    /// Records that a person took an advert out of its property.
    pub(crate) fn release(&self, advert: i64) -> rusqlite::Result<()> {
        self.execute("DELETE FROM held WHERE advert = ?1", [advert])?;
        Ok(())
    }

    /// Deletes the declarations that adverts of two properties are distinct.
    pub(crate) fn clear_distinct(&self, one: i64, other: i64) -> rusqlite::Result<()> {
        let sql =
            "DELETE FROM apart WHERE advert IN (SELECT advert FROM adverts WHERE property = ?1)
             AND other IN (SELECT advert FROM adverts WHERE property = ?2)";
        for pair in [(one, other), (other, one)] {
            self.execute(sql, pair)?;
        }
        Ok(())
    }
}
