//! Percolation buffer: the rows of listings that a transaction writes, percolated in the order of writing.
//!
//! Rows are buffered until they fill a percolation batch, or until the state that they are compared with is about to
//! change. Without active alerts nothing is buffered.

use rusqlite::{Connection, Transaction};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::adverts::prepare::notified;
use crate::columns::{AdvertRows, PropertyRows};
use crate::properties::record_key::RecordKey;
use crate::{Error, Result};
use toise_alerts::percolate::index::ROWS_MAX;
use toise_alerts::percolate::{
    self as percolate, AdvertWritten, FormerRecord, PercolatedRows, Percolator, PropertyTrigger,
    PropertyWritten, TransactionPercolator,
};
use toise_contract::listings::{Advert, Property};
use toise_engine::texts::RecordTexts;
use toise_store::document;

/// Written rows that are not yet percolated; `None` without active alerts.
pub(crate) struct PercolationBuffer<'p>(Option<BufferedRows<'p>>);

struct BufferedRows<'p> {
    turn: TransactionPercolator<'p>,
    at_ms: i64,
    property_rows: PropertyRows,
    property_texts: Vec<RecordTexts>,
    properties: Vec<PropertyWritten>,
    advert_rows: AdvertRows,
    advert_texts: Vec<RecordTexts>,
    adverts: Vec<AdvertWritten>,
}

impl<'p> PercolationBuffer<'p> {
    /// Creates a buffer that discards everything.
    pub fn none() -> Self {
        Self(None)
    }

    /// Starts with the alerts as seen inside a transaction, or only those of `account` if it is given. Matches are
    /// dated `at_ms`.
    pub fn begin(
        percolator: &'p Percolator,
        connection: &Connection,
        of_account: Option<Uuid>,
        at_ms: i64,
    ) -> rusqlite::Result<Self> {
        let turn = percolator.begin(connection, of_account)?;
        Ok(Self(turn.map(|turn| BufferedRows {
            turn,
            at_ms,
            property_rows: PropertyRows::default(),
            property_texts: Vec::new(),
            properties: Vec::new(),
            advert_rows: AdvertRows::default(),
            advert_texts: Vec::new(),
            adverts: Vec::new(),
        })))
    }

    /// Returns whether an alert on adverts is active.
    pub fn has_advert_alerts(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|buffered| buffered.turn.has_advert_alerts())
    }

    /// Returns whether an alert on properties is active.
    pub fn has_property_alerts(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|buffered| buffered.turn.has_property_alerts())
    }

    /// Returns whether an alert can match a property that was merely sighted.
    pub fn needs_property_sightings(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|buffered| buffered.turn.needs_property_sightings())
    }

    /// Returns whether an alert can match an advert that was merely sighted.
    pub fn needs_advert_sightings(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|buffered| buffered.turn.needs_advert_sightings())
    }

    /// Buffers a property whose record was written; `former` is its previous record, with those of properties that were
    /// joined to it.
    pub fn property(
        &mut self,
        transaction: &Transaction<'_>,
        property: i64,
        record: &Property,
        trigger: PropertyTrigger,
        former: Vec<FormerRecord>,
    ) -> Result<()> {
        let Some(buffered) = &mut self.0 else {
            return Ok(());
        };
        if !buffered.turn.has_property_alerts() {
            return Ok(());
        }
        buffered
            .property_rows
            .push(RecordKey::unplaced(property), record)?;
        buffered.property_texts.push(property_texts(record));
        let id = record.flx_id.ok_or(Error::NoId("a property"))?;
        buffered.properties.push(PropertyWritten {
            property,
            id,
            trigger,
            former,
        });
        if buffered.properties.len() < ROWS_MAX {
            Ok(())
        } else {
            buffered.flush_properties(transaction)
        }
    }

    /// Buffers an advert whose record was written; the record contains the identifier of its property.
    pub fn advert(
        &mut self,
        transaction: &Transaction<'_>,
        advert: impl FnOnce() -> AdvertWritten,
    ) -> Result<()> {
        let Some(buffered) = &mut self.0 else {
            return Ok(());
        };
        if !buffered.turn.has_advert_alerts() {
            return Ok(());
        }
        let advert = advert();
        buffered.advert_rows.push(&advert.record)?;
        buffered.advert_texts.push(advert_texts(&advert.record));
        buffered.adverts.push(advert);
        if buffered.adverts.len() < ROWS_MAX {
            Ok(())
        } else {
            buffered.flush_adverts(transaction)
        }
    }

    /// Percolates everything written so far.
    pub fn flush(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        let Some(buffered) = &mut self.0 else {
            return Ok(());
        };
        buffered.flush_properties(transaction)?;
        buffered.flush_adverts(transaction)
    }
}

impl BufferedRows<'_> {
    fn flush_properties(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        if self.properties.is_empty() {
            return Ok(());
        }
        let written = std::mem::take(&mut self.properties);
        let rows = PercolatedRows {
            rows: self.property_rows.finish()?,
            texts: std::mem::take(&mut self.property_texts),
        };
        self.turn
            .properties(transaction, rows, &written, &former_properties, self.at_ms)?;
        Ok(())
    }

    fn flush_adverts(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        if self.adverts.is_empty() {
            return Ok(());
        }
        let written = std::mem::take(&mut self.adverts);
        let rows = PercolatedRows {
            rows: self.advert_rows.finish()?,
            texts: std::mem::take(&mut self.advert_texts),
        };
        self.turn
            .adverts(transaction, rows, &written, &former_adverts, self.at_ms)?;
        Ok(())
    }
}

/// Returns the searchable texts of a property.
fn property_texts(property: &Property) -> RecordTexts {
    let texts = [&property.title, &property.description];
    let texts = texts.into_iter().flatten().chain(&property.tags);
    RecordTexts::new(texts.cloned().collect())
}

/// Returns the searchable texts of an advert, which are the same fields as for a property.
pub(crate) fn advert_texts(advert: &Advert) -> RecordTexts {
    let texts = [&advert.title, &advert.description];
    let texts = texts.into_iter().flatten().chain(&advert.tags);
    RecordTexts::new(texts.cloned().collect())
}

/// Builds rows from the previous records of properties.
fn former_properties(former: &[FormerRecord]) -> percolate::Result<PercolatedRows> {
    let (mut rows, mut texts) = (PropertyRows::default(), Vec::new());
    for record in former.iter().filter_map(read_former::<Property>) {
        // No search filters on the key. A record without an identifier was never stored.
        if rows.push(RecordKey(0), &record).is_ok() {
            texts.push(property_texts(&record));
        }
    }
    let rows = rows.finish()?;
    Ok(PercolatedRows { rows, texts })
}

/// Builds rows from the previous records of adverts.
fn former_adverts(former: &[FormerRecord]) -> percolate::Result<PercolatedRows> {
    let (mut rows, mut texts) = (AdvertRows::default(), Vec::new());
    for one in former {
        let Some((record, property)) = read_former::<Advert>(one).zip(one.property) else {
            continue;
        };
        let record = notified(record, property);
        if rows.push(&record).is_ok() {
            texts.push(advert_texts(&record));
        }
    }
    let rows = rows.finish()?;
    Ok(PercolatedRows { rows, texts })
}

/// Reads a previous record; `None` if it is damaged, which is logged. The new record was written in full, so damage to
/// the previous one must not stop the write.
fn read_former<R: DeserializeOwned>(former: &FormerRecord) -> Option<R> {
    let text = document::decode(&former.document).map_err(|error| error.to_string());
    let record =
        text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    record
        .inspect_err(|error| {
            tracing::error!(%error, "cannot read the previous state of a record; alerts treat it as new");
        })
        .ok()
}
