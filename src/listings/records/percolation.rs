//! The percolation buffer: rows of the listings that a transaction writes, for percolation in the order of writing.
//!
//! Rows are buffered until a full percolation batch is reached, or until the state they are compared with is about to
//! change. Without an active alert nothing is buffered, at no cost.

use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use crate::columns::{AdvertRows, PropertyRows};
use crate::properties::record_key::RecordKey;
use crate::{Error, Result};
use toise_alerts::percolate::index::ROWS_MAX;
use toise_alerts::percolate::{
    AdvertWritten, Percolator, PropertyTrigger, PropertyWritten, TransactionPercolator,
};
use toise_contract::listings::Property;

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

    /// Starts with the alerts as they are inside a transaction, those of one account if it is given; matches are dated
    /// `at_ms`.
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

    /// Buffers a property whose record was written.
    pub fn property(
        &mut self,
        transaction: &Transaction<'_>,
        property: i64,
        record: &Property,
        trigger: PropertyTrigger,
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
            .properties(transaction, rows, &written, self.at_ms)?;
        Ok(())
    }

    fn flush_adverts(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        if self.adverts.is_empty() {
            return Ok(());
        }
        let written = std::mem::take(&mut self.adverts);
        let rows = self.advert_rows.finish()?;
        self.turn.adverts(transaction, rows, &written, self.at_ms)?;
        Ok(())
    }
}
