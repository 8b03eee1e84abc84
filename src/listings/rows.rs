//! The tables of listings: what one transaction reads and writes of them.
//!
//! Every change of a property's or advert's row gives it the next number of one sequence, so that whoever keeps
//! something made from the rows finds the changed ones by number. Statements are prepared once per connection.

use std::fmt::Display;

use chrono::DateTime;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use uuid::Uuid;

use super::change::History;
use super::complete::Derived;
use super::dedup::{BlockKey, Fingerprint};
use super::document;
use super::identity::UrlDigest;
use super::prepare::{Draft, Stored};
use super::property::{Member, of_members};
use crate::wire::enums::WireEnum;
use crate::wire::listings::Advert;
use crate::wire::listings::codes::{FlxId, Timestamp};
use crate::wire::listings::deliveries::AdvertEvent;
use crate::wire::listings::scalars::Eur;

/// Columns that [`stored`] and [`history`] read, in their order.
const STORED_COLUMNS: &str = "advert, property, sequence, derived, document, observed_at_ms, first_seen_at_ms, \
     modified_at_ms, published_at_ms, online_at_ms, offline_at_ms, initial_price, previous_price";
/// Place of the first column of a history among them.
const HISTORY_COLUMN: usize = 5;

/// A failure of ours, as the store's closures report theirs.
pub(super) fn failed(error: impl Display) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.to_string().into())
}

/// A column that does not hold what it must.
fn malformed(column: usize, kind: Type, what: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, kind, what.into())
}

/// An identifier from its sixteen bytes.
pub(super) fn flx_id(row: &Row<'_>, column: usize) -> rusqlite::Result<FlxId> {
    let bytes: [u8; 16] = row.get(column)?;
    Ok(FlxId(Uuid::from_bytes(bytes)))
}

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let milliseconds: Option<i64> = row.get(column)?;
    milliseconds
        .map(|milliseconds| DateTime::from_timestamp_millis(milliseconds).map(Timestamp::new))
        .map(|moment| moment.ok_or_else(|| malformed(column, Type::Integer, "not a moment")))
        .transpose()
}

fn required(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    moment(row, column)?.ok_or_else(|| malformed(column, Type::Null, "a moment is missing"))
}

fn price(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Eur>> {
    let amount: Option<f64> = row.get(column)?;
    amount
        .map(|amount| Eur::new(amount).ok_or_else(|| malformed(column, Type::Real, "not a price")))
        .transpose()
}

fn history(row: &Row<'_>, first: usize) -> rusqlite::Result<History> {
    Ok(History {
        observed_at: required(row, first)?,
        first_seen_at: required(row, first + 1)?,
        modified_at: required(row, first + 2)?,
        published_at: required(row, first + 3)?,
        online_at: moment(row, first + 4)?,
        offline_at: moment(row, first + 5)?,
        initial_price: price(row, first + 6)?,
        previous_price: price(row, first + 7)?,
    })
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let document = row.get_ref(4)?.as_blob()?;
    Ok(Stored {
        advert: row.get(0)?,
        property: row.get(1)?,
        sequence: row.get(2)?,
        derived: Derived(row.get(3)?),
        text: document::decode(document).map_err(failed)?,
        history: history(row, HISTORY_COLUMN)?,
    })
}

/// The advert stored under an address.
pub(super) fn by_url(
    connection: &Connection,
    digest: &UrlDigest,
) -> rusqlite::Result<Option<Stored>> {
    let sql = format!("SELECT {STORED_COLUMNS} FROM adverts WHERE url_digest = ?1");
    connection
        .prepare_cached(&sql)?
        .query_row([digest], stored)
        .optional()
}

/// The adverts of a property with their numbers, in order of arrival.
pub(super) fn members(
    connection: &Connection,
    property: i64,
) -> rusqlite::Result<Vec<(i64, Member)>> {
    let sql = format!("SELECT {STORED_COLUMNS} FROM adverts WHERE property = ?1 ORDER BY advert");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([property], stored)?;
    rows.map(|row| {
        let row = row?;
        let advert: Advert = serde_json::from_slice(&row.text).map_err(failed)?;
        let member = Member {
            advert,
            history: row.history,
            derived: row.derived,
        };
        Ok((row.advert, member))
    })
    .collect()
}

/// A property's identifier.
pub(super) fn property_id(connection: &Connection, property: i64) -> rusqlite::Result<FlxId> {
    connection
        .prepare_cached("SELECT property_id FROM properties WHERE property = ?1")?
        .query_row([property], |row| flx_id(row, 0))
}

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
}

impl<'t> Tables<'t> {
    /// Begins after the last change any process made.
    pub(super) fn begin(transaction: &'t Transaction<'t>) -> rusqlite::Result<Self> {
        Ok(Self {
            last_sequence: last_sequence(transaction)?,
            transaction,
        })
    }

    /// For reading.
    pub(super) fn connection(&self) -> &'t Connection {
        self.transaction
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

    /// Inserts a property and gives its number.
    pub(super) fn insert_property(&mut self, id: FlxId, document: &[u8]) -> rusqlite::Result<i64> {
        let sequence = self.next_sequence();
        self.execute(
            "INSERT INTO properties (property_id, sequence, document) VALUES (?1, ?2, ?3)",
            (id.0.as_bytes(), sequence, document),
        )?;
        Ok(self.transaction.last_insert_rowid())
    }

    /// Replaces the record of a property by what its adverts make; it must have one.
    pub(super) fn rebuild(&mut self, property: i64) -> rusqlite::Result<()> {
        let id = property_id(self.transaction, property)?;
        let members: Vec<Member> = members(self.transaction, property)?
            .into_iter()
            .map(|(_, member)| member)
            .collect();
        let document = document::encode(&of_members(id, &members)).map_err(failed)?;
        self.update_property(property, &document)
    }

    /// Replaces the record of a property, and lets a merged one stand for itself again.
    pub(super) fn update_property(
        &mut self,
        property: i64,
        document: &[u8],
    ) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        self.execute(
            "UPDATE properties SET document = ?2, sequence = ?3, merged_into = NULL WHERE property = ?1",
            (property, document, sequence),
        )?;
        Ok(())
    }

    /// Makes one property's identifier answer with another's record; its adverts move there.
    pub(super) fn redirect(&mut self, property: i64, survivor: i64) -> rusqlite::Result<()> {
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

    /// Inserts an advert under a property, with its fingerprint and its events.
    pub(super) fn insert_advert(
        &mut self,
        digest: &UrlDigest,
        property: i64,
        draft: &Draft,
    ) -> rusqlite::Result<i64> {
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
        self.put_keys(advert, &keys)?;
        Ok(advert)
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

    fn put_keys(&self, advert: i64, keys: &[BlockKey]) -> rusqlite::Result<()> {
        for key in keys {
            self.execute(
                "INSERT OR IGNORE INTO blocks (key, advert) VALUES (?1, ?2)",
                (key.0, advert),
            )?;
        }
        Ok(())
    }

    fn insert_event(&self, advert: i64, event: &AdvertEvent) -> rusqlite::Result<()> {
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

    /// Adverts under any of some keys with their property and fingerprint, each once, `per_key_max` a key at most.
    pub(super) fn met(
        &self,
        keys: &[BlockKey],
        per_key_max: usize,
    ) -> rusqlite::Result<Vec<(i64, i64, Fingerprint)>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT advert FROM blocks WHERE key = ?1 ORDER BY advert DESC LIMIT ?2",
        )?;
        let mut adverts: Vec<i64> = Vec::new();
        for key in keys {
            for advert in statement.query_map((key.0, per_key_max as i64), |row| row.get(0))? {
                adverts.push(advert?);
            }
        }
        adverts.sort_unstable();
        adverts.dedup();
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

fn fingerprint(row: &Row<'_>, column: usize) -> rusqlite::Result<Fingerprint> {
    Fingerprint::decode(row.get_ref(column)?.as_blob()?).map_err(failed)
}

/// Number of the last change; 0 when there is none.
pub(super) fn last_sequence(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(sequence) FROM adverts), 0),
                        coalesce((SELECT max(sequence) FROM properties), 0))",
        )?
        .query_row([], |row| row.get(0))
}
