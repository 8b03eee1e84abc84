//! Adverts into the store: read and prepared on all cores, taken in groups of one transaction each.
//!
//! A group's records, properties and events become durable together, or none of them. Before the transaction each
//! advert is prepared against what a reader sees; inside it the version it was prepared against is compared with the
//! present one, and the rare one that another writer overtook, or that came twice in the group, is prepared again. So
//! any number of servers and commands may take adverts at once. Cost per advert: about 100 µs of preparation on any
//! core, and 100 µs inside the transaction.

use std::borrow::Cow;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rusqlite::Transaction;
use serde_json::{Value, json};

use super::incoming::Incoming;
use super::prepare::{Change, Draft, Step, Stored, prepare};
use super::rows::{self, failed};
use super::tables::Tables;
use super::{Listings, Result, document};
use crate::geo::iris::IrisIndex;
use crate::wire::Fault;
use crate::wire::listings::codes::FlxId;
use crate::wire::listings::deliveries::AdvertEvent;

/// Adverts of one transaction: enough to share its fsync, few enough that others who write wait some 20 ms at most.
pub const GROUP_MAX: usize = 128;

/// What became of an advert that was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// The advert.
    pub flx_id: FlxId,
    /// The property it belongs to.
    pub property_flx_id: FlxId,
    /// What happened to its content.
    pub change: Change,
    /// What happened to it.
    pub events: Vec<AdvertEvent>,
    /// What whoever sent it should know: why it is doubted, what could not be completed.
    pub warnings: Vec<Cow<'static, str>>,
}

/// What became of an advert: taken, or refused with the reason.
pub type Outcome = std::result::Result<Receipt, Fault>;

/// The contract's code of an advert that is refused.
const FAULT_CODE: u32 = 10_002;

/// What became of an advert, as answers tell it.
pub fn answer(outcome: &Outcome) -> Value {
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

/// An advert on its way, with the version of the stored one it was prepared against.
struct Prepared {
    incoming: Incoming,
    basis: Option<(i64, i64)>,
    step: Step,
}

impl Listings {
    /// Takes adverts in, in order; on disk on return. Blocks.
    ///
    /// # Errors
    /// A store that fails. The groups before the one that failed are taken; taking an advert again does no harm.
    pub fn ingest(&self, adverts: Vec<Value>) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(adverts.len());
        let mut adverts = adverts.into_iter();
        loop {
            let group: Vec<Value> = adverts.by_ref().take(GROUP_MAX).collect();
            if group.is_empty() {
                return Ok(outcomes);
            }
            outcomes.extend(self.ingest_group(group)?);
        }
    }

    fn ingest_group(&self, adverts: Vec<Value>) -> Result<Vec<Outcome>> {
        let now = self.clock.now();
        let read: Vec<std::result::Result<Incoming, Fault>> = adverts
            .into_par_iter()
            .map(|advert| Incoming::read(advert, now))
            .collect();
        let stored = self.store.read(|connection| {
            let of = |incoming: &Incoming| rows::by_url(connection, &incoming.url.digest());
            let all = read.iter().map(|read| read.as_ref().map_or(Ok(None), of));
            all.collect::<rusqlite::Result<Vec<Option<Stored>>>>()
        })?;
        let iris = self.contours.get()?;
        let prepared: std::result::Result<Vec<_>, document::Error> = read
            .into_par_iter()
            .zip(stored)
            .map(|(read, stored)| match read {
                Ok(incoming) => Prepared::new(incoming, stored.as_ref(), iris.as_deref()).map(Ok),
                Err(fault) => Ok(Err(fault)),
            })
            .collect();
        let prepared = prepared?;
        let take =
            move |transaction: &Transaction<'_>| take(transaction, prepared, iris.as_deref());
        Ok(self.store.write(take)?)
    }
}

impl Prepared {
    fn new(
        incoming: Incoming,
        stored: Option<&Stored>,
        iris: Option<&IrisIndex>,
    ) -> std::result::Result<Self, document::Error> {
        Ok(Self {
            basis: stored.map(|stored| (stored.advert, stored.sequence)),
            step: prepare(&incoming, stored, iris)?,
            incoming,
        })
    }
}

/// Takes a group inside its transaction.
fn take(
    transaction: &Transaction<'_>,
    group: Vec<std::result::Result<Prepared, Fault>>,
    iris: Option<&IrisIndex>,
) -> rusqlite::Result<Vec<Outcome>> {
    let mut tables = Tables::begin(transaction)?;
    let take_one = |prepared| match prepared {
        Ok(prepared) => take_one(&mut tables, prepared, iris),
        Err(fault) => Ok(Err(fault)),
    };
    group.into_iter().map(take_one).collect()
}

fn take_one(
    tables: &mut Tables<'_>,
    prepared: Prepared,
    iris: Option<&IrisIndex>,
) -> rusqlite::Result<Outcome> {
    let digest = prepared.incoming.url.digest();
    let mut prepared = prepared;
    if tables.version(&digest)? != prepared.basis {
        let stored = rows::by_url(tables.connection(), &digest)?;
        prepared = Prepared::new(prepared.incoming, stored.as_ref(), iris).map_err(failed)?;
    }
    let draft = match prepared.step {
        Step::Write(draft) => draft,
        Step::Reject(fault) => return Ok(Err(fault)),
        Step::Nothing(flx_id) => {
            return Ok(Ok(Receipt {
                flx_id,
                property_flx_id: tables.property_of_url(&digest)?,
                change: Change::Unchanged,
                events: Vec::new(),
                warnings: Vec::new(),
            }));
        }
    };
    let property_flx_id = match prepared.basis {
        None => tables.place(&digest, &draft)?,
        Some((advert, _)) => tables.replace(advert, &draft)?,
    };
    let Draft {
        member,
        events,
        change,
        warnings,
        ..
    } = *draft;
    let flx_id = member
        .advert
        .flx_id
        .ok_or_else(|| failed("an advert has no identifier"))?;
    Ok(Ok(Receipt {
        flx_id,
        property_flx_id,
        change,
        events,
        warnings,
    }))
}

#[cfg(test)]
mod tests;
