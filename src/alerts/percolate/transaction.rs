//! Percolates what one transaction wrote, in order, and writes the resulting notifications.
//!
//! Changes are evaluated as if adverts had arrived one by one:
//! - The filter decides only on the first match. From then on the alert follows the item, whatever its record becomes.
//! - A property alert is notified of a property once as created, when its record first matches, and as updated whenever
//!   an advert joins a property it has matched; each if it subscribed to that.
//! - After a merge, alerts that matched either property have matched the surviving one: they are notified of it as
//!   updated, under the surviving identifier, never as created. After a split, each property is followed by the alerts
//!   that matched it under its own identifier; a new one is evaluated like any new property.
//! - An advert alert is notified of an advert once as created, when its record first matches, and as updated of every
//!   event on an advert that it had matched before the event; each if it subscribed to that.
//!
//! An item (a property or an advert) is evaluated when it is new or its content changes. A sighting without content
//! change is ignored: adverts are sighted again and again, so a new alert would otherwise soon be notified of all the
//! old ones that its search matches. An inactive alert is not notified and records no matches.

use std::collections::BTreeSet;
use std::sync::MutexGuard;

use arrow::array::RecordBatch;
use rusqlite::Transaction;
use serde::Serialize;

use super::index::{AlertIndex, AlertMatch};
use super::{CompiledAlerts, Error, Result};
use crate::matches;
use crate::outbox::{Branch, enqueue, snapshot};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::deliveries::{AdvertEvent, AdvertUpdate};
use toise_engine::batch::DecodedBatch;
use toise_store::document;

/// What happened to a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyTrigger {
    /// It is new.
    Created,
    /// An advert joined it, alone or in a merge with another property.
    AdvertJoined,
    /// One of its adverts changed or was removed.
    AdvertChanged,
}

/// A property that is new or whose content changed.
#[derive(Clone, Debug)]
pub struct PropertyWritten {
    /// Row number in the store.
    pub property: i64,
    /// Identifier of the property.
    pub id: FlxId,
    /// What happened to the property.
    pub trigger: PropertyTrigger,
}

/// An advert that is new or whose content changed.
#[derive(Clone, Debug)]
pub struct AdvertWritten {
    /// Row number in the store.
    pub advert: i64,
    /// Whether the advert is new.
    pub is_new: bool,
    /// The record as delivered: with the identifier of its property, without charges.
    pub record: Advert,
    /// Events on the advert.
    pub events: Vec<AdvertEvent>,
}

/// Percolates the writes of one transaction against the alerts as they are inside it. Holds the lock on the alerts.
pub struct TransactionPercolator<'p> {
    state: MutexGuard<'p, CompiledAlerts>,
    reached: Reached,
}

/// The alerts that may match; `None` for all.
type Reached = Option<BTreeSet<i64>>;

impl<'p> TransactionPercolator<'p> {
    pub(super) fn new(state: MutexGuard<'p, CompiledAlerts>, reached: Reached) -> Self {
        Self { state, reached }
    }

    /// Whether there is an active alert on properties.
    pub fn has_property_alerts(&self) -> bool {
        !self.state.properties.is_empty()
    }

    /// Whether there is an active alert on adverts.
    pub fn has_advert_alerts(&self) -> bool {
        !self.state.adverts.is_empty()
    }

    /// Percolates properties: `rows` holds their records, one for each of `written` in the same order. Matches and
    /// notifications are written in `transaction`, dated `at_ms` (Unix milliseconds).
    ///
    /// # Errors
    /// The store fails, or the rows are not a batch of at most [`super::index::ROWS_MAX`] properties.
    pub fn properties(
        &mut self,
        transaction: &Transaction<'_>,
        rows: RecordBatch,
        written: &[PropertyWritten],
        at_ms: i64,
    ) -> Result<()> {
        let index = &mut self.state.properties;
        let matched = matched(index, rows, &self.reached)?;
        for (row, property) in written.iter().enumerate() {
            let matching = of_row(&matched, row);
            // Read only where it decides something: a new property has no former matches, and a mere change notifies
            // nobody unless an alert matches now.
            let known = match property.trigger {
                PropertyTrigger::Created => Vec::new(),
                PropertyTrigger::AdvertChanged if matching.is_empty() => Vec::new(),
                _ => matches::alerts_for_property(transaction, property.property)?,
            };
            let notify =
                |alert, branch| enqueue(transaction, alert, branch, property.id, None, at_ms);
            if property.trigger == PropertyTrigger::AdvertJoined {
                for alert in followers(index, &known, &self.reached) {
                    notify(alert, Branch::Updated)?;
                }
            }
            for alert in newly_matched(matching, &known) {
                matches::record_property_match(transaction, property.property, alert, at_ms)?;
                if index.wants(alert).is_some_and(|wants| wants.created) {
                    notify(alert, Branch::Created)?;
                }
            }
        }
        Ok(())
    }

    /// Percolates adverts: `rows` holds their records, one for each of `written` in the same order. Matches and
    /// notifications are written in `transaction`, dated `at_ms` (Unix milliseconds).
    ///
    /// # Errors
    /// The store fails, a record cannot be serialised or has no identifier, or the rows are not a batch of at most
    /// [`super::index::ROWS_MAX`] adverts.
    pub fn adverts(
        &mut self,
        transaction: &Transaction<'_>,
        rows: RecordBatch,
        written: &[AdvertWritten],
        at_ms: i64,
    ) -> Result<()> {
        let index = &mut self.state.adverts;
        let matched = matched(index, rows, &self.reached)?;
        for (row, advert) in written.iter().enumerate() {
            let matching = of_row(&matched, row);
            // Read only where it decides something: if an advert that is not new matches now or has events.
            let known = match (advert.is_new, matching, advert.events.as_slice()) {
                (true, ..) | (false, [], []) => Vec::new(),
                _ => matches::alerts_for_advert(transaction, advert.advert)?,
            };
            let id = required(advert.record.flx_id)?;
            let notify = |alert, branch, snapshot| {
                enqueue(transaction, alert, branch, id, Some(snapshot), at_ms)
            };
            let mut following = followers(index, &known, &self.reached).peekable();
            if following.peek().is_some() {
                let following: Vec<i64> = following.collect();
                for event in &advert.events {
                    let snapshot = store_snapshot(transaction, &with_event(advert, event)?)?;
                    for alert in &following {
                        notify(*alert, Branch::Updated, snapshot)?;
                    }
                }
            }
            // Stored for the first alert that is notified, and shared by the others.
            let mut shared_snapshot = None;
            for alert in newly_matched(matching, &known) {
                matches::record_advert_match(transaction, advert.advert, alert, at_ms)?;
                if index.wants(alert).is_some_and(|wants| wants.created) {
                    let snapshot = match shared_snapshot {
                        Some(snapshot) => snapshot,
                        None => store_snapshot(transaction, &advert.record)?,
                    };
                    shared_snapshot = Some(snapshot);
                    notify(alert, Branch::Created, snapshot)?;
                }
            }
        }
        Ok(())
    }
}

/// An identifier that every stored advert has, and the type of its record leaves optional.
fn required(id: Option<FlxId>) -> Result<FlxId> {
    id.ok_or(Error::NoAdvertId)
}

/// The alerts that are reached and whose searches match the rows, sorted by row.
fn matched(
    index: &mut AlertIndex,
    rows: RecordBatch,
    reached: &Reached,
) -> Result<Vec<AlertMatch>> {
    let batch = DecodedBatch::new(index.schema(), rows)?;
    let mut matches = index.matches(&batch)?;
    if let Some(reached) = reached {
        matches.retain(|one| reached.contains(&one.alert));
    }
    Ok(matches)
}

/// The matches of one row; `matched` is sorted by row.
fn of_row(matched: &[AlertMatch], row: usize) -> &[AlertMatch] {
    let first = matched.partition_point(|one| one.row < row);
    let after = matched.partition_point(|one| one.row <= row);
    &matched[first..after]
}

/// The alerts that match now and did not match before; `known` is sorted.
fn newly_matched<'a>(matching: &'a [AlertMatch], known: &'a [i64]) -> impl Iterator<Item = i64> {
    let alerts = matching.iter().map(|one| one.alert);
    alerts.filter(|alert| known.binary_search(alert).is_err())
}

/// The alerts in `known` that are reached, active and want to be notified of events.
fn followers(index: &AlertIndex, known: &[i64], reached: &Reached) -> impl Iterator<Item = i64> {
    let is_reached = |alert: &i64| {
        reached
            .as_ref()
            .is_none_or(|reached| reached.contains(alert))
    };
    let wants = |alert: &i64| index.wants(*alert).is_some_and(|wants| wants.followed);
    let alerts = known.iter().copied();
    alerts.filter(move |alert| is_reached(alert) && wants(alert))
}

/// Stores what a notification delivers, and returns the number of the snapshot.
fn store_snapshot(transaction: &Transaction<'_>, record: &impl Serialize) -> Result<i64> {
    Ok(snapshot(transaction, &document::encode(record)?)?)
}

/// An event on an advert, and the reduced record with which it is delivered.
fn with_event(advert: &AdvertWritten, event: &AdvertEvent) -> Result<AdvertUpdate> {
    let record = &advert.record;
    Ok(AdvertUpdate {
        flx_id: required(record.flx_id)?,
        property_flx_id: required(record.property_flx_id)?,
        current_price: record.current_price.clone(),
        // An advert that does not say is taken to be online, as it is when its changes are detected.
        is_online: record.is_online.unwrap_or(true),
        event: event.clone(),
    })
}
