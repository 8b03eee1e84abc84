//! Ingestion: adverts are prepared on all cores and written in groups, one transaction each.
//!
//! Called by the HTTP API, the collector and the CLI. A group's records, properties and events become durable together
//! or not at all. Before the transaction, each advert is prepared against the stored data, and its property is looked
//! up (`placement`). Inside the transaction, the version that an advert was prepared against is compared with the
//! current one. An advert that another writer changed, or that occurs twice in the group, is prepared again, which is
//! rare. A placement is checked again if a nearby advert changed. So any number of servers and commands can ingest
//! concurrently, and the result does not depend on how adverts were grouped.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::adverts::incoming::IncomingAdvert;
use crate::adverts::locating::PlaceSources;
use crate::adverts::prepare::{ContentChange, IngestDecision, StoredAdvert, notified, prepare};
use crate::placement::find::PlannedPlacement;
use crate::records::erased::ErasedList;
use crate::records::percolation::PercolationBuffer;
use crate::records::recent_changes::ChangeBaseline;
use crate::records::rows;
use crate::records::tables::ListingsWriter;
use crate::{Error, Listings, Result};
use toise_alerts::percolate::AdvertTrigger;
use toise_contract::Fault;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::deliveries::AdvertEvent;
use toise_store::document;

/// Adverts per transaction: enough to share its fsync, few enough that other writers do not wait long.
pub const GROUP_MAX: usize = 128;

/// The result for an advert that was ingested.
#[derive(Clone, Debug, PartialEq)]
pub struct IngestReceipt {
    /// The advert's identifier.
    pub flx_id: FlxId,
    /// The identifier of its property.
    pub property_flx_id: FlxId,
    /// How its content changed.
    pub change: ContentChange,
    /// The events that the sighting caused.
    pub events: Vec<AdvertEvent>,
    /// Warnings for the sender: anomalies, and fields that could not be completed.
    pub warnings: Vec<Cow<'static, str>>,
}

/// The outcome for an advert: ingested, or refused with the reason.
pub type IngestOutcome = std::result::Result<IngestReceipt, Fault>;

/// The contract's error code for a refused advert.
const FAULT_CODE: u32 = 10_002;

/// Returns the outcome for an advert as JSON, for responses.
pub fn answer(outcome: &IngestOutcome) -> Value {
    let receipt = match outcome {
        Ok(receipt) => receipt,
        Err(fault) => {
            let error = json!({"message": fault.to_string(), "code": FAULT_CODE});
            return json!({"outcome": "rejected", "events": [], "error": error});
        }
    };
    let mut answer = json!({
        "flxId": receipt.flx_id,
        "propertyFlxId": receipt.property_flx_id,
        "outcome": receipt.change.as_str(),
        "events": receipt.events,
    });
    if !receipt.warnings.is_empty() {
        answer["warnings"] = json!(receipt.warnings);
    }
    answer
}

/// A validated advert; `plan` is `None` if its URL occurs earlier in the group.
struct PreparedAdvert {
    incoming: IncomingAdvert,
    plan: Option<WritePlan>,
}

/// The planned write of an advert, valid while the stored advert still has this version.
struct WritePlan {
    version: Option<(i64, i64)>,
    step: IngestDecision,
    planned: Option<PlannedPlacement>,
}

/// The adverts of one transaction.
struct IngestGroup {
    /// The last change at the time the group's lookups began.
    basis: ChangeBaseline,
    /// The list of erased contacts that was applied to the adverts.
    erased: Arc<ErasedList>,
    /// Each advert, or the fault for which it was refused.
    adverts: Vec<std::result::Result<PreparedAdvert, Fault>>,
}

impl Listings {
    /// Ingests adverts in order. The next group is prepared while one is written. Returns once durable. Blocks.
    ///
    /// # Errors
    /// The store fails. Groups before the failed one stay written; ingesting an advert again does no harm.
    pub fn ingest(&self, mut adverts: Vec<Value>) -> Result<Vec<IngestOutcome>> {
        if adverts.len() <= GROUP_MAX {
            return self.write_group(self.prepare_group(adverts)?);
        }
        let mut outcomes = Vec::with_capacity(adverts.len());
        let (prepared, ready) = sync_channel(1);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while !adverts.is_empty() {
                    let rest = adverts.split_off(adverts.len().min(GROUP_MAX));
                    let group = self.prepare_group(std::mem::replace(&mut adverts, rest));
                    // The receiver is gone if an earlier group failed.
                    if prepared.send(group).is_err() {
                        return;
                    }
                }
            });
            for group in ready {
                outcomes.extend(self.write_group(group?)?);
            }
            Ok(outcomes)
        })
    }

    /// Validates adverts and prepares each against what is stored now.
    fn prepare_group(&self, adverts: Vec<Value>) -> Result<IngestGroup> {
        let now = self.stamp()?;
        let erased = self.erased_contacts()?;
        let read: Vec<std::result::Result<IncomingAdvert, Fault>> = adverts
            .into_par_iter()
            .map(|advert| {
                let mut incoming = IncomingAdvert::read(advert, now, &self.identity)?;
                incoming.forget(&erased.contacts)?;
                Ok(incoming)
            })
            .collect();
        let basis = self.store.read(|connection| {
            self.percolator.catch_up(connection)?;
            ChangeBaseline::now(connection)
        })?;
        let places = self.places()?;
        let mut seen = HashSet::with_capacity(read.len());
        let adverts: Vec<(std::result::Result<IncomingAdvert, Fault>, bool)> = read
            .into_iter()
            .map(|read| {
                let is_first = read
                    .as_ref()
                    .is_ok_and(|read| seen.insert(read.url.digest()));
                (read, is_first)
            })
            .collect();
        let adverts = adverts.into_par_iter().map(|(read, is_first)| {
            let incoming = match read {
                Ok(incoming) => incoming,
                Err(fault) => return Ok(Err(fault)),
            };
            // A second sighting of one advert is prepared inside the transaction, after the first is stored.
            let plan = if is_first {
                Some(self.plan(&incoming, places.sources())?)
            } else {
                None
            };
            Ok(Ok(PreparedAdvert { incoming, plan }))
        });
        Ok(IngestGroup {
            basis,
            erased,
            adverts: adverts.collect::<Result<_>>()?,
        })
    }

    /// Prepares an advert against what is stored now, and plans its placement.
    fn plan(&self, incoming: &IncomingAdvert, sources: PlaceSources<'_>) -> Result<WritePlan> {
        let digest = incoming.url.digest();
        let by_url = |connection: &Connection| rows::by_url(connection, &digest);
        let stored = self.store.read_with(by_url)?;
        let mut plan = WritePlan::new(incoming, stored.as_ref(), sources)?;
        if let IngestDecision::Write(draft) = &plan.step {
            let planned = |connection: &Connection| {
                PlannedPlacement::plan(connection, draft, stored.as_ref(), self.thresholds)
            };
            plan.planned = Some(self.store.read_snapshot_with(planned)?);
        }
        Ok(plan)
    }

    /// Writes a group. Returns once durable.
    fn write_group(&self, group: IngestGroup) -> Result<Vec<IngestOutcome>> {
        let places = self.places()?;
        let percolator = Arc::clone(&self.percolator);
        let (only, now_ms) = (self.alerts_of, self.clock.now().timestamp_millis());
        let thresholds = self.thresholds;
        let written = self.store.write_with(move |transaction| -> Result<_> {
            let percolation = PercolationBuffer::begin(&percolator, transaction, only, now_ms)?;
            let mut tables =
                ListingsWriter::begin(transaction, percolation)?.with_baseline(group.basis)?;
            tables = tables.with_thresholds(thresholds);
            let mut group = group;
            if let Some(longer) = group.erased.successor(transaction)? {
                group.forget(longer);
            }
            let outcomes = group.adverts.iter_mut().map(|prepared| match prepared {
                Ok(prepared) => write_one(&mut tables, prepared, places.sources()),
                Err(fault) => Ok(Err(fault.clone())),
            });
            let outcomes = outcomes.collect::<Result<Vec<IngestOutcome>>>()?;
            tables.end()?;
            // Returned rather than dropped here: dropping a group takes time, and other writers would wait for it.
            Ok((outcomes, group))
        });
        if written.is_err() {
            // The percolator may have loaded alerts that do not exist, because other writes of the failed group commit
            // were undone too.
            self.percolator.forget();
        }
        let (outcomes, _) = written?;
        Ok(outcomes)
    }
}

impl IngestGroup {
    /// Applies a list of erased contacts that has grown since the group was prepared.
    fn forget(&mut self, erased: ErasedList) {
        for advert in &mut self.adverts {
            let Ok(prepared) = advert else { continue };
            match prepared.incoming.forget(&erased.contacts) {
                Ok(true) => prepared.plan = None,
                Ok(false) => {}
                Err(fault) => *advert = Err(fault),
            }
        }
        self.erased = Arc::new(erased);
    }
}

impl WritePlan {
    fn new(
        incoming: &IncomingAdvert,
        stored: Option<&StoredAdvert>,
        sources: PlaceSources<'_>,
    ) -> std::result::Result<Self, document::Error> {
        Ok(Self {
            version: stored.map(|stored| (stored.advert, stored.sequence)),
            step: prepare(incoming, stored, sources)?,
            planned: None,
        })
    }
}

fn write_one(
    tables: &mut ListingsWriter<'_>,
    prepared: &mut PreparedAdvert,
    sources: PlaceSources<'_>,
) -> Result<IngestOutcome> {
    let digest = prepared.incoming.url.digest();
    let version = tables.version(&digest)?;
    let plan = match &mut prepared.plan {
        Some(plan) if plan.version == version => plan,
        outdated => {
            let stored = rows::by_url(tables.connection(), &digest)?;
            let plan = WritePlan::new(&prepared.incoming, stored.as_ref(), sources);
            outdated.insert(plan?)
        }
    };
    let left_out = prepared.incoming.left_out_position;
    let left_out = left_out.map(|position| Cow::Owned(position.warning()));
    let draft = match &mut plan.step {
        IngestDecision::Write(draft) => draft,
        IngestDecision::Reject(fault) => return Ok(Err(fault.clone())),
        IngestDecision::Unchanged(flx_id) => {
            return Ok(Ok(IngestReceipt {
                flx_id: *flx_id,
                property_flx_id: tables.property_of_url(&digest)?,
                change: ContentChange::Unchanged,
                events: Vec::new(),
                warnings: left_out.into_iter().collect(),
            }));
        }
    };
    let planned = plan.planned.as_ref();
    let (number, property_flx_id) = match plan.version {
        None => tables.place(&digest, draft, planned)?,
        Some((advert, _)) => (advert, tables.replace(advert, draft, planned)?),
    };
    let advert = &mut draft.member.advert;
    let flx_id = advert.flx_id.ok_or(Error::NoId("an advert"))?;
    let (trigger, events) = match draft.change {
        ContentChange::Created => (AdvertTrigger::Created, draft.events.clone()),
        ContentChange::Updated => (AdvertTrigger::Changed, draft.events.clone()),
        // Changes that an old sighting adds to the history are not reported.
        ContentChange::Unchanged if draft.is_restated => (AdvertTrigger::Sighted, Vec::new()),
        ContentChange::Unchanged => (AdvertTrigger::Changed, Vec::new()),
    };
    tables.percolate_advert(number, trigger, events, || {
        notified(std::mem::take(advert), property_flx_id)
    })?;
    tables.percolate_moved(Some(number))?;
    Ok(Ok(IngestReceipt {
        flx_id,
        property_flx_id,
        change: draft.change,
        events: std::mem::take(&mut draft.events),
        warnings: left_out
            .into_iter()
            .chain(std::mem::take(&mut draft.warnings))
            .collect(),
    }))
}

#[cfg(test)]
mod tests;
