//! Percolates the writes of one transaction, in order, and stores the resulting notifications.
//!
//! Changes are evaluated as if adverts had arrived one by one:
//! - The filter decides only on the first match. From then on, the alert follows the item, however its record changes.
//! - A first match is announced if the item is new, or if its record before this write did not match. An item that
//!   already matched before (it is older than the alert, its latest search or its activation) is recorded but not
//!   announced; later events on it are. The previous record is evaluated only for alerts that match the new one and
//!   have not matched the item yet.
//! - A property alert is notified of a property as created once, when its record first matches. It is notified of it as
//!   updated whenever an advert joins a property that it has matched. It gets only the kinds that it subscribed to.
//! - After a merge, alerts that matched either property have matched the surviving one: they are notified of it as
//!   updated, under the surviving identifier, never as created. After a split, each property is followed by the alerts
//!   that matched it under its own identifier; a new one is evaluated like any new property.
//! - An advert alert is notified of an advert as created once, when its record first matches. It is notified of it as
//!   updated for every event on an advert that it had matched before the event. It gets only the kinds that it
//!   subscribed to.
//!
//! An item (a property or an advert) is evaluated when it is new or its record changes. A sighting that only changes
//! the timestamps of a record is evaluated only by alerts with a condition on a timestamp, because it cannot make the
//! item match any other search. Such a sighting does not record items that matched before. An inactive alert is not
//! notified and records no matches.

use std::collections::BTreeSet;
use std::sync::MutexGuard;

use arrow::array::RecordBatch;
use rusqlite::Transaction;
use serde::Serialize;

use super::index::{AlertIndex, AlertMatch, ROWS_MAX};
use super::withheld::{self, FormerRecord, ItemKind};
use super::{CompiledAlerts, Error, Result};
use crate::matches;
use crate::outbox::{Branch, enqueue, snapshot};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::deliveries::{AdvertEvent, AdvertUpdate};
use toise_engine::batch::DecodedBatch;
use toise_engine::texts::RecordTexts;
use toise_store::document;

/// Converts previous records to rows, in order. A record that cannot be read is skipped: its item then counts as one
/// that did not match before, and is announced rather than lost.
pub type FormerRows<'a> = &'a dyn Fn(&[FormerRecord]) -> Result<PercolatedRows>;

/// Records to test: their rows, and their texts, which are not columns.
#[derive(Debug)]
pub struct PercolatedRows {
    /// The rows.
    pub rows: RecordBatch,
    /// The texts of each row.
    pub texts: Vec<RecordTexts>,
}

/// The change of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyTrigger {
    /// It is new.
    Created,
    /// An advert joined it, alone or in a merge with another property.
    AdvertJoined,
    /// One of its adverts changed or was removed.
    AdvertChanged,
    /// One of its adverts was seen again; only timestamps changed.
    Sighted,
}

/// The change of an advert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvertTrigger {
    /// It is new.
    Created,
    /// Its record changed, or it moved to another property.
    Changed,
    /// It was seen again; only timestamps changed.
    Sighted,
}

/// A property that was written.
#[derive(Clone, Debug)]
pub struct PropertyWritten {
    /// Row number in the store.
    pub property: i64,
    /// Identifier of the property.
    pub id: FlxId,
    /// The change of the property.
    pub trigger: PropertyTrigger,
    /// Its record before the write, and the records of the properties that were merged into it; empty for a new one.
    pub former: Vec<FormerRecord>,
}

/// An advert that was written.
#[derive(Clone, Debug)]
pub struct AdvertWritten {
    /// Row number in the store.
    pub advert: i64,
    /// The change of the advert.
    pub trigger: AdvertTrigger,
    /// Its record before the write; `None` for a new one.
    pub former: Option<FormerRecord>,
    /// The record as delivered: with the identifier of its property, without charges.
    pub record: Advert,
    /// Events on the advert.
    pub events: Vec<AdvertEvent>,
}

/// Percolates the writes of one transaction against the alerts as seen inside it. Holds the lock on the alerts.
pub struct TransactionPercolator<'p> {
    state: MutexGuard<'p, CompiledAlerts>,
    reached: Reached,
    /// Whether items were withheld from the alerts that these writes reach.
    has_withheld: bool,
}

/// The alerts that the writes may reach; `None` for all.
type Reached = Option<BTreeSet<i64>>;

impl<'p> TransactionPercolator<'p> {
    pub(super) fn new(
        state: MutexGuard<'p, CompiledAlerts>,
        reached: Reached,
        has_withheld: bool,
    ) -> Self {
        Self {
            state,
            reached,
            has_withheld,
        }
    }

    /// Withholds a written item from the alerts that are not reached. If all are reached and the item was withheld
    /// before, returns the last records that the other alerts saw.
    fn withhold_or_release(
        &self,
        transaction: &Transaction<'_>,
        kind: ItemKind,
        item: i64,
        former: &[FormerRecord],
    ) -> Result<Option<Vec<FormerRecord>>> {
        let outcome = match (&self.reached, self.has_withheld) {
            (Some(_), _) => withheld::withhold(transaction, kind, item, former).map(|()| None),
            (None, true) => withheld::release(transaction, kind, item),
            (None, false) => Ok(None),
        };
        Ok(outcome.map_err(toise_store::Error::from)?)
    }

    /// Returns whether there is an active alert on properties.
    pub fn has_property_alerts(&self) -> bool {
        !self.state.properties.is_empty()
    }

    /// Returns whether there is an active alert on adverts.
    pub fn has_advert_alerts(&self) -> bool {
        !self.state.adverts.is_empty()
    }

    /// Returns whether sightings of properties have to be percolated: an active alert has a condition on a timestamp,
    /// and every sighting changes timestamps, or an item was withheld.
    pub fn needs_property_sightings(&self) -> bool {
        self.has_withheld || self.state.properties.has_timestamp_tests()
    }

    /// Returns whether sightings of adverts have to be percolated, for the same reasons as for properties.
    pub fn needs_advert_sightings(&self) -> bool {
        self.has_withheld || self.state.adverts.has_timestamp_tests()
    }

    /// Percolates properties: `rows` holds their records, one for each of `written` in the same order, and
    /// `former_rows` converts previous records. Matches and notifications are written in `transaction`, dated `at_ms`
    /// (Unix milliseconds).
    ///
    /// # Errors
    /// The store fails, or the rows are not a batch of at most [`super::index::ROWS_MAX`] properties.
    pub fn properties(
        &mut self,
        transaction: &Transaction<'_>,
        rows: PercolatedRows,
        written: &[PropertyWritten],
        former_rows: FormerRows<'_>,
        at_ms: i64,
    ) -> Result<()> {
        let released = written
            .iter()
            .map(|one| {
                let (kind, item) = (ItemKind::Property, one.property);
                self.withhold_or_release(transaction, kind, item, &one.former)
            })
            .collect::<Result<Vec<_>>>()?;
        let index = &mut self.state.properties;
        let sighted = rows_where(written, |row, one| {
            one.trigger == PropertyTrigger::Sighted && released[row].is_none()
        });
        let matched = matched(index, rows, sighted, &self.reached)?;
        for (row, property) in written.iter().enumerate() {
            let matching = row_matches(&matched, row);
            // Read only where it matters: a new property has no earlier matches, and a mere change notifies nobody
            // unless an alert matches now.
            let known = match property.trigger {
                PropertyTrigger::Created => Vec::new(),
                PropertyTrigger::AdvertChanged | PropertyTrigger::Sighted
                    if matching.is_empty() =>
                {
                    Vec::new()
                }
                _ => matches::alerts_for_property(transaction, property.property)?,
            };
            let notify =
                |alert, branch| enqueue(transaction, alert, branch, property.id, None, at_ms);
            if property.trigger == PropertyTrigger::AdvertJoined {
                for alert in followers(index, &known, &self.reached) {
                    notify(alert, Branch::Updated)?;
                }
            }
            let first = newly_matched(matching, &known).collect();
            let former = released[row].as_ref().unwrap_or(&property.former);
            let first = FirstMatches::split(index, first, former, former_rows)?;
            if property.trigger != PropertyTrigger::Sighted {
                for alert in &first.already_matched {
                    matches::record_property_match(transaction, property.property, *alert, at_ms)?;
                }
            }
            for alert in first.announced {
                matches::record_property_match(transaction, property.property, alert, at_ms)?;
                if index.subscription(alert).is_some_and(|wants| wants.created) {
                    notify(alert, Branch::Created)?;
                }
            }
        }
        Ok(())
    }

    /// Percolates adverts: `rows` holds their records, one for each of `written` in the same order, and `former_rows`
    /// converts previous records. Matches and notifications are written in `transaction`, dated `at_ms` (Unix
    /// milliseconds).
    ///
    /// # Errors
    /// The store fails, a record cannot be serialised or has no identifier, or the rows are not a batch of at most
    /// [`super::index::ROWS_MAX`] adverts.
    pub fn adverts(
        &mut self,
        transaction: &Transaction<'_>,
        rows: PercolatedRows,
        written: &[AdvertWritten],
        former_rows: FormerRows<'_>,
        at_ms: i64,
    ) -> Result<()> {
        let released = written
            .iter()
            .map(|one| {
                let (kind, item) = (ItemKind::Advert, one.advert);
                self.withhold_or_release(transaction, kind, item, one.former.as_slice())
            })
            .collect::<Result<Vec<_>>>()?;
        let index = &mut self.state.adverts;
        let sighted = rows_where(written, |row, one| {
            one.trigger == AdvertTrigger::Sighted && released[row].is_none()
        });
        let matched = matched(index, rows, sighted, &self.reached)?;
        for (row, advert) in written.iter().enumerate() {
            let matching = row_matches(&matched, row);
            // Read only where it matters: if an advert that is not new matches now or has events.
            let known = match (advert.trigger, matching, advert.events.as_slice()) {
                (AdvertTrigger::Created, ..) | (_, [], []) => Vec::new(),
                _ => matches::alerts_for_advert(transaction, advert.advert)?,
            };
            let id = required(advert.record.flx_id)?;
            let notify = |alert, branch, snapshot| {
                enqueue(transaction, alert, branch, id, Some(snapshot), at_ms)
            };
            let following: Vec<i64> = followers(index, &known, &self.reached).collect();
            for event in advert.events.iter().filter(|_| !following.is_empty()) {
                let snapshot = store_snapshot(transaction, &with_event(advert, event)?)?;
                for alert in &following {
                    notify(*alert, Branch::Updated, snapshot)?;
                }
            }
            // Stored for the first alert that is notified, and shared by the others.
            let mut shared_snapshot = None;
            let first = newly_matched(matching, &known).collect();
            let former = released[row].as_deref();
            let former = former.unwrap_or(advert.former.as_slice());
            let first = FirstMatches::split(index, first, former, former_rows)?;
            if advert.trigger != AdvertTrigger::Sighted {
                for alert in &first.already_matched {
                    matches::record_advert_match(transaction, advert.advert, *alert, at_ms)?;
                }
            }
            for alert in first.announced {
                matches::record_advert_match(transaction, advert.advert, alert, at_ms)?;
                if index.subscription(alert).is_some_and(|wants| wants.created) {
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

/// Returns an identifier that every stored advert has, although it is optional in the type of its record.
fn required(id: Option<FlxId>) -> Result<FlxId> {
    id.ok_or(Error::NoAdvertId)
}

/// The alerts that match an item for the first time.
struct FirstMatches {
    /// Those that are notified: the item is new, or did not match before this write.
    announced: Vec<i64>,
    /// Those whose search the item matched before this write.
    already_matched: Vec<i64>,
}

impl FirstMatches {
    /// Separates the alerts whose search matched one of the previous records from the others. Reads nothing if `alerts`
    /// is empty.
    fn split(
        index: &mut AlertIndex,
        alerts: Vec<i64>,
        former: &[FormerRecord],
        former_rows: FormerRows<'_>,
    ) -> Result<Self> {
        let (mut announced, mut already_matched) = (alerts, Vec::new());
        for former in former.chunks(ROWS_MAX) {
            if announced.is_empty() {
                break;
            }
            let PercolatedRows { rows, texts } = former_rows(former)?;
            let batch = DecodedBatch::new(index.schema(), rows)?;
            let matching = index.matching_any(&announced, &batch, &texts)?;
            announced.retain(|alert| !matching.contains(alert));
            already_matched.extend(matching);
        }
        Ok(Self {
            announced,
            already_matched,
        })
    }
}

/// Returns the bitset of the written items for which `holds` returns true, given the row and the item.
fn rows_where<T>(written: &[T], holds: impl Fn(usize, &T) -> bool) -> u128 {
    let rows = written.iter().take(ROWS_MAX).enumerate();
    let rows = rows.filter(|(row, one)| holds(*row, one));
    rows.fold(0, |rows, (row, _)| rows | 1 << row)
}

/// Returns the reached alerts whose searches match the rows, sorted by row; on the rows in `sighted`, only alerts with
/// a condition on a timestamp.
fn matched(
    index: &mut AlertIndex,
    PercolatedRows { rows, texts }: PercolatedRows,
    sighted: u128,
    reached: &Reached,
) -> Result<Vec<AlertMatch>> {
    let batch = DecodedBatch::new(index.schema(), rows)?;
    let mut matches = index.find_matches(&batch, &texts, sighted)?;
    if let Some(reached) = reached {
        matches.retain(|one| reached.contains(&one.alert));
    }
    Ok(matches)
}

/// Returns the matches of one row; `matched` is sorted by row.
fn row_matches(matched: &[AlertMatch], row: usize) -> &[AlertMatch] {
    let first = matched.partition_point(|one| one.row < row);
    let after = matched.partition_point(|one| one.row <= row);
    &matched[first..after]
}

/// Returns the alerts that match now and did not match before; `known` is sorted.
fn newly_matched<'a>(matching: &'a [AlertMatch], known: &'a [i64]) -> impl Iterator<Item = i64> {
    let alerts = matching.iter().map(|one| one.alert);
    alerts.filter(|alert| known.binary_search(alert).is_err())
}

/// Returns the alerts in `known` that are reached, active and want to be notified of events.
fn followers(index: &AlertIndex, known: &[i64], reached: &Reached) -> impl Iterator<Item = i64> {
    let is_reached = |alert: &i64| {
        reached
            .as_ref()
            .is_none_or(|reached| reached.contains(alert))
    };
    let wants = |alert: &i64| {
        index
            .subscription(*alert)
            .is_some_and(|wants| wants.followed)
    };
    let alerts = known.iter().copied();
    alerts.filter(move |alert| is_reached(alert) && wants(alert))
}

/// Stores the record that a notification delivers, and returns the number of the snapshot.
fn store_snapshot(transaction: &Transaction<'_>, record: &impl Serialize) -> Result<i64> {
    Ok(snapshot(transaction, &document::encode(record)?)?)
}

/// Returns the reduced record with which an event on an advert is delivered.
fn with_event(advert: &AdvertWritten, event: &AdvertEvent) -> Result<AdvertUpdate> {
    let record = &advert.record;
    Ok(AdvertUpdate {
        flx_id: required(record.flx_id)?,
        property_flx_id: required(record.property_flx_id)?,
        current_price: record.current_price.clone(),
        // An advert without this field counts as online, as it does when its changes are detected.
        is_online: record.is_online.unwrap_or(true),
        event: event.clone(),
    })
}
