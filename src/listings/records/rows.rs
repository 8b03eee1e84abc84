//! Reads rows of the tables of listings and converts them to domain types. [`crate::records::tables`] writes the rows.
//!
//! Statements are prepared once per connection. A column with an unexpected value is an error, never a guess.

use std::collections::HashMap;

use chrono::DateTime;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row, Statement};
use uuid::Uuid;

use crate::adverts::change::AdvertHistory;
use crate::adverts::complete::DerivedFields;
use crate::adverts::identity::UrlDigest;
use crate::adverts::member::PropertyMember;
use crate::adverts::prepare::{StoredAdvert, notified};
use crate::properties::record_key::NUMBER_MAX;
use crate::{Error, Result};
use toise_alerts::percolate::FormerRecord;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::scalars::Eur;
use toise_dedup::{BlockKey, Fingerprint, PortalRates, RATES_MAX, contradictions};
use toise_store::document;

/// Columns that [`stored`] and [`history`] read, in their order.
const STORED_COLUMNS: &str = "advert, property, sequence, derived, document, observed_at_ms, first_seen_at_ms, \
     modified_at_ms, published_at_ms, online_at_ms, offline_at_ms, initial_price, previous_price, is_stamped";
/// Index of the first history column in [`STORED_COLUMNS`].
const HISTORY_COLUMN: usize = 5;

/// Refuses a property number that does not fit a record key.
pub(crate) fn checked_number(number: i64) -> Result<i64> {
    if (1..=NUMBER_MAX).contains(&number) {
        Ok(number)
    } else {
        Err(Error::Full)
    }
}

/// Runs a query and reads its first row; `None` if it has none. Unlike SQLite's own `query_row`, the reading may fail
/// with an error of this crate.
pub(crate) fn first_row<T>(
    statement: &mut Statement<'_>,
    parameters: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut rows = statement.query(parameters)?;
    match rows.next()? {
        Some(row) => read(row).map(Some),
        None => Ok(None),
    }
}

/// Runs a query that always has a row, and reads it like [`first_row`].
pub(crate) fn one_row<T>(
    statement: &mut Statement<'_>,
    parameters: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<T> {
    let row = first_row(statement, parameters, read)?;
    row.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
}

/// Returns the error for a column with an unexpected value.
fn malformed(column: usize, kind: Type, what: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, kind, what.into())
}

/// Returns the bytes of a column.
pub(crate) fn blob<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    Ok(row.get_ref(column)?.as_blob()?)
}

/// Reads an identifier from its sixteen bytes.
pub(crate) fn flx_id(row: &Row<'_>, column: usize) -> rusqlite::Result<FlxId> {
    let bytes: [u8; 16] = row.get(column)?;
    Ok(FlxId(Uuid::from_bytes(bytes)))
}

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let milliseconds: Option<i64> = row.get(column)?;
    milliseconds
        .map(|milliseconds| DateTime::from_timestamp_millis(milliseconds).map(Timestamp::new))
        .map(|moment| {
            moment.ok_or_else(|| malformed(column, Type::Integer, "not a valid timestamp"))
        })
        .transpose()
}

fn required(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    moment(row, column)?.ok_or_else(|| malformed(column, Type::Null, "a timestamp is missing"))
}

fn price(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Eur>> {
    let amount: Option<f64> = row.get(column)?;
    amount
        .map(|amount| Eur::new(amount).ok_or_else(|| malformed(column, Type::Real, "not a price")))
        .transpose()
}

fn history(row: &Row<'_>, first: usize) -> rusqlite::Result<AdvertHistory> {
    Ok(AdvertHistory {
        observed_at: required(row, first)?,
        first_seen_at: required(row, first + 1)?,
        modified_at: required(row, first + 2)?,
        published_at: required(row, first + 3)?,
        online_at: moment(row, first + 4)?,
        offline_at: moment(row, first + 5)?,
        initial_price: price(row, first + 6)?,
        previous_price: price(row, first + 7)?,
        is_stamped: row.get(first + 8)?,
    })
}

fn stored(row: &Row<'_>) -> Result<StoredAdvert> {
    Ok(StoredAdvert {
        advert: row.get(0)?,
        property: row.get(1)?,
        sequence: row.get(2)?,
        derived: DerivedFields(row.get(3)?),
        text: document::decode(blob(row, 4)?).map_err(|error| {
            let number = row.get::<_, i64>(0).unwrap_or_default();
            error.of(format_args!("advert number {number}"))
        })?,
        history: history(row, HISTORY_COLUMN)?,
    })
}

/// Reads the advert stored under a URL digest.
pub(crate) fn by_url(connection: &Connection, digest: &UrlDigest) -> Result<Option<StoredAdvert>> {
    let sql = format!("SELECT {STORED_COLUMNS} FROM adverts WHERE url_digest = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    first_row(&mut statement, [digest], stored)
}

/// Reads adverts with a greater number than `advert`, in order of arrival.
pub(crate) fn adverts_after(
    connection: &Connection,
    advert: i64,
    limit: usize,
) -> Result<Vec<StoredAdvert>> {
    let sql =
        format!("SELECT {STORED_COLUMNS} FROM adverts WHERE advert > ?1 ORDER BY advert LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_and_then((advert, limit as i64), stored)?;
    rows.collect()
}

/// Reads the adverts of a property with their numbers, in order of arrival.
pub(crate) fn members(
    connection: &Connection,
    property: i64,
) -> Result<Vec<(i64, PropertyMember)>> {
    let sql = format!("SELECT {STORED_COLUMNS} FROM adverts WHERE property = ?1 ORDER BY advert");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_and_then([property], |row| -> Result<_> {
        let found = stored(row)?;
        let member = PropertyMember {
            advert: serde_json::from_slice(&found.text)?,
            history: found.history,
            derived: found.derived,
        };
        Ok((found.advert, member))
    })?;
    rows.collect()
}

/// Reads an advert's record in the form that notifications contain: with the identifier of its property, without
/// charges.
pub(crate) fn notified_advert(connection: &Connection, advert: i64) -> Result<Advert> {
    let mut statement = connection.prepare_cached(
        "SELECT adverts.document, property_id FROM adverts JOIN properties USING (property)
         WHERE advert = ?1",
    )?;
    let (text, property) = one_row(&mut statement, [advert], |row| {
        let text = document::decode(blob(row, 0)?);
        let text = text.map_err(|error| error.of(format_args!("advert number {advert}")))?;
        Ok((text, flx_id(row, 1)?))
    })?;
    Ok(notified(serde_json::from_slice(&text)?, property))
}

/// Reads the stored record of an advert without decoding it, to percolate or compare it if the advert changes.
pub(crate) fn former_advert(connection: &Connection, advert: i64) -> Result<FormerRecord> {
    let mut statement = connection.prepare_cached(
        "SELECT adverts.document, property_id FROM adverts JOIN properties USING (property)
         WHERE advert = ?1",
    )?;
    one_row(&mut statement, [advert], |row| {
        Ok(FormerRecord {
            document: blob(row, 0)?.to_vec(),
            property: Some(flx_id(row, 1)?),
        })
    })
}

/// Reads the stored record of a property; `None` if it has no record of its own.
pub(crate) fn former_property(
    connection: &Connection,
    property: i64,
) -> Result<Option<FormerRecord>> {
    let mut statement = connection.prepare_cached(
        "SELECT document FROM properties JOIN records USING (record) WHERE property = ?1",
    )?;
    first_row(&mut statement, [property], |row| {
        Ok(FormerRecord {
            document: blob(row, 0)?.to_vec(),
            property: None,
        })
    })
}

/// Reads a property's identifier.
pub(crate) fn property_id(connection: &Connection, property: i64) -> rusqlite::Result<FlxId> {
    connection
        .prepare_cached("SELECT property_id FROM properties WHERE property = ?1")?
        .query_row([property], |row| flx_id(row, 0))
}

/// Reads the number of the property with an identifier.
pub(crate) fn property_number(connection: &Connection, id: FlxId) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT property FROM properties WHERE property_id = ?1")?
        .query_row([id.0.as_bytes()], |row| row.get(0))
}

/// Reads an advert's identifier.
pub(crate) fn advert_id(connection: &Connection, advert: i64) -> rusqlite::Result<FlxId> {
    connection
        .prepare_cached("SELECT advert_id FROM adverts WHERE advert = ?1")?
        .query_row([advert], |row| flx_id(row, 0))
}

/// Reads the number of the property of every advert.
pub(crate) fn properties_of_adverts(
    connection: &Connection,
) -> rusqlite::Result<HashMap<i64, i64>> {
    let mut statement = connection.prepare("SELECT advert, property FROM adverts")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Reads the number of the last advert; 0 without any.
pub(crate) fn last_advert(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(advert), 0) FROM adverts")?
        .query_row([], |row| row.get(0))
}

/// Reads the properties that changed after a sequence, in order of change: the sequence of each, its number and how
/// many adverts it has.
pub(crate) fn properties_after(
    connection: &Connection,
    sequence: i64,
    limit: usize,
) -> rusqlite::Result<Vec<(i64, i64, usize)>> {
    let mut statement = connection.prepare_cached(
        "SELECT sequence, property, (SELECT count(*) FROM adverts WHERE adverts.property = properties.property)
         FROM properties WHERE sequence > ?1 AND merged_into IS NULL ORDER BY sequence LIMIT ?2",
    )?;
    let rows = statement.query_map((sequence, limit as i64), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)? as usize))
    })?;
    rows.collect()
}

/// Reads the numbers of the adverts of a property, in order of arrival.
pub(crate) fn adverts_of(connection: &Connection, property: i64) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection
        .prepare_cached("SELECT advert FROM adverts WHERE property = ?1 ORDER BY advert")?;
    let rows = statement.query_map([property], |row| row.get(0))?;
    rows.collect()
}

/// Reads a fingerprint from its bytes.
pub(crate) fn fingerprint(row: &Row<'_>, column: usize) -> Result<Fingerprint> {
    Ok(Fingerprint::decode(blob(row, column)?)?)
}

/// Encodes block keys as bytes.
pub(crate) fn key_bytes(keys: &[BlockKey]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.0.to_le_bytes()).collect()
}

/// Decodes block keys from bytes.
pub(crate) fn keys_of(bytes: &[u8]) -> Vec<BlockKey> {
    let (keys, _) = bytes.as_chunks::<8>();
    keys.iter()
        .map(|key| BlockKey(i64::from_le_bytes(*key)))
        .collect()
}

/// Reads the adverts of a property with their fingerprints, in order of arrival.
pub(crate) fn fingerprints_of(
    connection: &Connection,
    property: i64,
) -> Result<Vec<(i64, Fingerprint)>> {
    let mut statement = connection.prepare_cached(
        "SELECT advert, fingerprint FROM adverts CROSS JOIN fingerprints USING (advert)
         WHERE adverts.property = ?1 ORDER BY advert",
    )?;
    let rows = statement.query_and_then([property], |row| -> Result<_> {
        Ok((row.get(0)?, fingerprint(row, 1)?))
    })?;
    rows.collect()
}

/// Reads the stored fingerprint of an advert.
pub(crate) fn fingerprint_of(connection: &Connection, advert: i64) -> Result<Fingerprint> {
    let mut statement =
        connection.prepare_cached("SELECT fingerprint FROM fingerprints WHERE advert = ?1")?;
    one_row(&mut statement, [advert], |row| fingerprint(row, 0))
}

/// Reads adverts with a greater number than `advert` and their stored fingerprints, in order of arrival.
pub(crate) fn fingerprints_after(
    connection: &Connection,
    advert: i64,
    limit: usize,
) -> Result<Vec<(i64, Fingerprint)>> {
    let mut statement = connection.prepare_cached(
        "SELECT advert, fingerprint FROM fingerprints WHERE advert > ?1 ORDER BY advert LIMIT ?2",
    )?;
    let rows = statement.query_and_then((advert, limit as i64), |row| -> Result<_> {
        Ok((row.get(0)?, fingerprint(row, 1)?))
    })?;
    rows.collect()
}

/// Returns whether exactly this fingerprint and its block keys are stored for an advert. Another version of toise may
/// have stored different ones.
pub(crate) fn is_fingerprint_stored(
    connection: &Connection,
    advert: i64,
    fingerprint: &Fingerprint,
) -> Result<bool> {
    let mut statement = connection
        .prepare_cached("SELECT keys, fingerprint FROM fingerprints WHERE advert = ?1")?;
    one_row(&mut statement, [advert], |row| {
        let keys = key_bytes(&fingerprint.blocks());
        Ok(blob(row, 0)? == keys && blob(row, 1)? == fingerprint.encode())
    })
}

/// Returns whether the outline of a fingerprint is stored under all its block keys.
pub(crate) fn is_outline_stored(
    connection: &Connection,
    advert: i64,
    fingerprint: &Fingerprint,
) -> Result<bool> {
    let outline = fingerprint.outline();
    let mut statement =
        connection.prepare_cached("SELECT outline FROM blocks WHERE key = ?1 AND advert = ?2")?;
    for key in fingerprint.blocks() {
        let stored: Option<Vec<u8>> = statement
            .query_row((key.0, advert), |row| row.get(0))
            .optional()?;
        if stored.as_ref() != Some(&outline) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether the marks of a fingerprint are counted.
pub(crate) fn are_marks_counted(
    connection: &Connection,
    fingerprint: &Fingerprint,
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT homes FROM marks WHERE mark = ?1")?;
    for mark in fingerprint.marks() {
        let homes: Option<u32> = statement
            .query_row([mark.digest], |row| row.get(0))
            .optional()?;
        if homes.unwrap_or_default() & mark.home != mark.home {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns a fingerprint without the marks that are common in the store, as it is compared.
pub(crate) fn without_common_marks(
    connection: &Connection,
    fingerprint: &Fingerprint,
) -> rusqlite::Result<Fingerprint> {
    let sql = "SELECT EXISTS (SELECT 1 FROM common_marks WHERE mark = ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    fingerprint.without(|mark| statement.query_row([mark.digest], |row| row.get(0)))
}

/// Returns a stored fingerprint as it is compared with an advert whose common marks are removed. If the two contradict
/// each other, its own common marks are removed too. Texts of one template have different marks, so the mark may be
/// common on one side only, and what many homes show must not excuse a contradiction.
pub(crate) fn as_compared_with(
    connection: &Connection,
    compared: &Fingerprint,
    stored: &Fingerprint,
) -> rusqlite::Result<Fingerprint> {
    match contradictions(compared, stored).next() {
        Some(_) => without_common_marks(connection, stored),
        None => Ok(*stored),
    }
}

/// Reads the number of the mark that became common last; 0 without any.
pub(crate) fn last_common_mark(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(number), 0) FROM common_marks")?
        .query_row([], |row| row.get(0))
}

/// Reads how much more often than usual a portal and others show one home, in bits.
pub(crate) fn portal_rates(connection: &Connection, portal: u32) -> rusqlite::Result<PortalRates> {
    let sql = "SELECT other, bits FROM portal_rates WHERE portal = ?1 ORDER BY pairs DESC LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((portal, RATES_MAX as i64), |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    rows.collect()
}

/// Returns whether a person assigned an advert to its property.
pub(crate) fn is_held(connection: &Connection, advert: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM held WHERE advert = ?1)")?
        .query_row([advert], |row| row.get(0))
}

/// Reads the adverts of a property that a person assigned to it.
pub(crate) fn held_of(connection: &Connection, property: i64) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT advert FROM adverts CROSS JOIN held USING (advert) WHERE property = ?1",
    )?;
    let rows = statement.query_map([property], |row| row.get(0))?;
    rows.collect()
}

/// Returns whether an advert was declared distinct from any advert of a property.
pub(crate) fn is_marked_distinct(
    connection: &Connection,
    advert: i64,
    property: i64,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM apart JOIN adverts ON adverts.advert = apart.other
             WHERE apart.advert = ?1 AND adverts.property = ?2)",
        )?
        .query_row((advert, property), |row| row.get(0))
}

/// Reads the sequence of the last change; 0 if there is none.
pub(crate) fn last_sequence(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(sequence) FROM adverts), 0),
                        coalesce((SELECT max(sequence) FROM properties), 0))",
        )?
        .query_row([], |row| row.get(0))
}
