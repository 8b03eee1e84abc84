//! The percolation buffer: rows of the listings that a transaction writes, for percolation in the order of writing.
//!
//! Rows are buffered until a full percolation batch is reached, or until the state they are compared with is about to
//! change. Without an active alert nothing is buffered, at no cost.

use arrow::array::RecordBatch;
use rusqlite::{Connection, Transaction};
use serde::de::DeserializeOwned;

use crate::adverts::prepare::notified;
use crate::columns::{AdvertRows, PropertyRows};
use crate::properties::record_key::RecordKey;
use crate::{Error, Result};
use toise_alerts::percolate::index::ROWS_MAX;
use toise_alerts::percolate::{
    self as percolate, AdvertWritten, FormerRecord, Percolator, PropertyTrigger, PropertyWritten,
    TransactionPercolator,
};
use toise_contract::listings::{Advert, Property};
use toise_store::document;

/// Written rows that are not percolated yet; `None` without an active alert.
pub(crate) struct PercolationBuffer<'p>(Option<BufferedRows<'p>>);

struct BufferedRows<'p> {
    turn: TransactionPercolator<'p>,
    at_ms: i64,
    property_rows: PropertyRows,
    properties: Vec<PropertyWritten>,
    advert_rows: AdvertRows,
    adverts: Vec<AdvertWritten>,
}

impl<'p> PercolationBuffer<'p> {
    /// A buffer that discards everything.
    pub fn none() -> Self {
        Self(None)
    }

    /// Starts with the alerts as they are inside a transaction; matches are dated `at_ms`.
    pub fn begin(
        percolator: &'p Percolator,
        connection: &Connection,
        at_ms: i64,
    ) -> rusqlite::Result<Self> {
        let turn = percolator.begin(connection)?;
        Ok(Self(turn.map(|turn| BufferedRows {
            turn,
            at_ms,
            property_rows: PropertyRows::default(),
            properties: Vec::new(),
            advert_rows: AdvertRows::default(),
            adverts: Vec::new(),
        })))
    }

    /// Whether an alert on adverts is active.
    pub fn has_advert_alerts(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|buffered| buffered.turn.has_advert_alerts())
    }

    /// Whether an alert on properties is active.
    pub fn has_property_alerts(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|buffered| buffered.turn.has_property_alerts())
    }

    /// Whether an active alert on properties asks for moments.
    pub fn has_property_alerts_on_moments(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|buffered| buffered.turn.has_property_alerts_on_moments())
    }

    /// Whether an active alert on adverts asks for moments.
    pub fn has_advert_alerts_on_moments(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|buffered| buffered.turn.has_advert_alerts_on_moments())
    }

    /// Buffers a property whose record was written; `former` is its record before, with those of properties that were
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
        let id = record.flx_id.ok_or(Error::NoId("a property"))?;
        buffered.properties.push(PropertyWritten {
            property,
            id,
            trigger,
            former,
        });
        match buffered.properties.len() < ROWS_MAX {
            true => Ok(()),
            false => buffered.flush_properties(transaction),
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
        buffered.adverts.push(advert);
        match buffered.adverts.len() < ROWS_MAX {
            true => Ok(()),
            false => buffered.flush_adverts(transaction),
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
        let rows = self.property_rows.finish()?;
        self.turn
            .properties(transaction, rows, &written, &former_properties, self.at_ms)?;
        Ok(())
    }

    fn flush_adverts(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        if self.adverts.is_empty() {
            return Ok(());
        }
        let written = std::mem::take(&mut self.adverts);
        let rows = self.advert_rows.finish()?;
        self.turn
            .adverts(transaction, rows, &written, &former_adverts, self.at_ms)?;
        Ok(())
    }
}

/// Makes rows of the former records of properties.
fn former_properties(former: &[FormerRecord]) -> percolate::Result<RecordBatch> {
    let mut rows = PropertyRows::default();
    for record in former.iter().filter_map(read_former::<Property>) {
        // A key that no search asks for; a record without an identifier was never one.
        let _ = rows.push(RecordKey(0), &record);
    }
    Ok(rows.finish()?)
}

/// Makes rows of the former records of adverts.
fn former_adverts(former: &[FormerRecord]) -> percolate::Result<RecordBatch> {
    let mut rows = AdvertRows::default();
    for one in former {
        let record = read_former::<Advert>(one);
        if let (Some(record), Some(property)) = (record, one.property) {
            let _ = rows.push(&notified(record, property));
        }
    }
    Ok(rows.finish()?)
}

/// Reads a former record; `None` if it is damaged, which is logged. What replaces it was written in full, so damage to
/// it must not stop the write.
fn read_former<R: DeserializeOwned>(former: &FormerRecord) -> Option<R> {
    let text = document::decode(&former.document).map_err(|error| error.to_string());
    let record =
        text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    record
        .inspect_err(|error| {
            tracing::error!(%error, "cannot read what a record was before; alerts count it as new");
        })
        .ok()
}
