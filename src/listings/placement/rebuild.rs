//! Decides again which adverts of the store are one property: `toise properties rebuild`.
//!
//! Repairs merges that an earlier version or an earlier setting made, without ingesting again. What a comparison needs is
//! derived anew from the stored adverts (`refresh`); then all adverts are placed in order of arrival as ingestion places
//! them, but in memory and with the whole store around them (`regroup`); then the properties whose adverts are grouped
//! otherwise than before are written (`apply`). What a person merged or kept apart is kept.
//!
//! Alerts are told that whole properties became one, as by any merge. Of a property taken apart they are told nothing: a
//! receiver has seen its adverts, only their grouping changes. The server and ingestion may run
//! meanwhile: a property that changes between decision and write is left alone and counted. A rebuild that is stopped leaves
//! every property whole, and can be run again.
//!
//! Memory: about 100 bytes for each advert.

mod apply;
mod refresh;
mod regroup;

use serde::Serialize;

use crate::{Listings, Result};
use regroup::Grouping;
use toise_base::progress::Progress;
use toise_contract::listings::codes::FlxId;

/// What a rebuild changed.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildReport {
    /// Whether nothing but derived data was written.
    pub dry_run: bool,
    /// Adverts of the store.
    pub adverts: u64,
    /// Adverts of which what a comparison needs had changed.
    pub refreshed: u64,
    /// Properties before.
    pub properties_before: u64,
    /// Properties after.
    pub properties_after: u64,
    /// Properties whose adverts are in several now.
    pub properties_split: u64,
    /// Properties that became part of another; their identifiers answer with it.
    pub properties_merged: u64,
    /// Properties whose identifier is new.
    pub properties_new: u64,
    /// Adverts that are in a property of another identifier now.
    pub adverts_moved: u64,
    /// Pairs of adverts in two properties that are perhaps one home.
    pub possible_pairs: u64,
    /// Changes that were not written because one of their adverts changed meanwhile; the next rebuild decides them.
    pub skipped: u64,
    /// Every change: which adverts made which properties before, and now.
    pub changes: Vec<RebuildChange>,
}

/// Properties whose adverts were grouped anew.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildChange {
    /// The properties before.
    pub before: Vec<PropertyAdverts>,
    /// The properties now.
    pub after: Vec<PropertyAdverts>,
}

/// A property and its adverts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PropertyAdverts {
    /// Its identifier; `None` for one that a dry run does not make.
    pub property_flx_id: Option<FlxId>,
    /// The identifiers of its adverts, in order of arrival.
    pub adverts: Vec<FlxId>,
}

impl Listings {
    /// Decides again which adverts are one property, and writes what changed; with `is_dry_run` only what a comparison
    /// needs is brought up to date. Returns once durable. Blocks: about a minute for 100,000 adverts.
    ///
    /// # Errors
    /// The store fails. What was written before stays.
    pub fn rebuild_properties(
        &self,
        is_dry_run: bool,
        progress: Progress,
    ) -> Result<RebuildReport> {
        let mut report = RebuildReport {
            dry_run: is_dry_run,
            ..RebuildReport::default()
        };
        (report.adverts, report.refreshed) = refresh::refresh(self, progress)?;
        self.learn_portal_rates(progress)?;
        let grouping = Grouping::decide(self, report.adverts, progress)?;
        report.possible_pairs = grouping.likely_pairs().count() as u64;
        apply::apply(self, &grouping, &mut report, progress)?;
        Ok(report)
    }
}

#[cfg(test)]
mod tests;
