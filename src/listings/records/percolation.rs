//! What a transaction writes of listings, laid out as rows for the alerts to look at, in the order it was written.
//!
//! Rows wait until there are as many as are percolated at once, or until what they are compared with is about to
//! change. Without an active alert nothing is kept and nothing costs.

use std::fmt::Display;

use arrow::array::RecordBatch;
use rusqlite::{Connection, Transaction};

use crate::columns::{AdvertRows, PropertyRows};
use crate::properties::record_key::RecordKey;
use crate::records::rows::failed;
use toise_alerts::percolate::index::ROWS_MAX;
use toise_alerts::percolate::{
    AdvertWritten, Percolator, PropertyTrigger, PropertyWritten, TransactionPercolator,
};
use toise_contract::listings::Property;

/// What a transaction wrote and the alerts have not looked at yet; `None` without an active alert.
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
    /// Nothing is kept for the alerts to look at.
    pub fn none() -> Self {
        Self(None)
    }

    /// Begins with the alerts as they are inside a transaction; what matches is dated `at_ms`.
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
            .is_some_and(|waiting| waiting.turn.has_advert_alerts())
    }

    /// A property's record was written.
    pub fn property(
        &mut self,
        transaction: &Transaction<'_>,
        property: i64,
        record: &Property,
        trigger: PropertyTrigger,
    ) -> rusqlite::Result<()> {
        let Some(waiting) = &mut self.0 else {
            return Ok(());
        };
        if !waiting.turn.has_property_alerts() {
            return Ok(());
        }
        waiting
            .property_rows
            .push(RecordKey::unplaced(property), record)
            .map_err(failed)?;
        let id = record
            .flx_id
            .ok_or_else(|| failed("a property has no identifier"))?;
        waiting.properties.push(PropertyWritten {
            property,
            id,
            trigger,
        });
        match waiting.properties.len() < ROWS_MAX {
            true => Ok(()),
            false => waiting.flush_properties(transaction),
        }
    }

    /// An advert's record was written; its record names its property.
    pub fn advert(
        &mut self,
        transaction: &Transaction<'_>,
        advert: impl FnOnce() -> AdvertWritten,
    ) -> rusqlite::Result<()> {
        let Some(waiting) = &mut self.0 else {
            return Ok(());
        };
        if !waiting.turn.has_advert_alerts() {
            return Ok(());
        }
        let advert = advert();
        waiting.advert_rows.push(&advert.record).map_err(failed)?;
        waiting.adverts.push(advert);
        match waiting.adverts.len() < ROWS_MAX {
            true => Ok(()),
            false => waiting.flush_adverts(transaction),
        }
    }

    /// Has the alerts look at everything written so far.
    pub fn flush(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let Some(waiting) = &mut self.0 else {
            return Ok(());
        };
        waiting.flush_properties(transaction)?;
        waiting.flush_adverts(transaction)
    }
}

impl BufferedRows<'_> {
    fn flush_properties(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        if self.properties.is_empty() {
            return Ok(());
        }
        let written = std::mem::take(&mut self.properties);
        let rows = laid_out(self.property_rows.finish())?;
        self.turn
            .properties(transaction, rows, &written, self.at_ms)
    }

    fn flush_adverts(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        if self.adverts.is_empty() {
            return Ok(());
        }
        let written = std::mem::take(&mut self.adverts);
        let rows = laid_out(self.advert_rows.finish())?;
        self.turn.adverts(transaction, rows, &written, self.at_ms)
    }
}

fn laid_out(rows: Result<RecordBatch, impl Display>) -> rusqlite::Result<RecordBatch> {
    rows.map_err(failed)
}
