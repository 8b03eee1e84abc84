//! Decides again which adverts of the store are one property: `toise properties rebuild`.
//!
//! Repairs merges made by an earlier version or under earlier settings, without ingesting again. First, the data for
//! comparisons is derived again from the stored adverts (`refresh`). Then all adverts are placed in order of arrival,
//! as in ingestion, but in memory and with the whole store available for comparison (`regroup`). Last, the properties
//! whose adverts are grouped differently than before are written (`apply`). Merges and splits made by a person stay.
//!
//! When whole properties become one, alerts are notified as after any merge. When a property is split, they are not: a
//! receiver has already seen its adverts, and only their grouping changes. The server and ingestion may run during a
//! rebuild: a property that changes between decision and write is left unchanged and counted. If a rebuild is stopped,
//! every property is consistent, and the rebuild can be run again.
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

/// The result of a rebuild.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildReport {
    /// Whether only derived data was written.
    pub dry_run: bool,
    /// Adverts of the store.
    pub adverts: u64,
    /// Adverts whose data for comparisons had changed.
    pub refreshed: u64,
    /// Properties before.
    pub properties_before: u64,
    /// Properties after.
    pub properties_after: u64,
    /// Properties whose adverts are in several properties now.
    pub properties_split: u64,
    /// Properties that became part of another; their identifiers redirect to it.
    pub properties_merged: u64,
    /// Properties whose identifier is new.
    pub properties_new: u64,
    /// Adverts that are now in a property with another identifier.
    pub adverts_moved: u64,
    /// Pairs of properties that may be one home.
    pub possible_pairs: u64,
    /// Changes that were not written because one of their adverts had changed; the next rebuild decides them.
    pub skipped: u64,
    /// All changes: the properties that the adverts formed before, and now.
    pub changes: Vec<RebuildChange>,
}

/// Properties whose adverts were regrouped.
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
    /// Its identifier; `None` for a new property that a dry run does not create.
    pub property_flx_id: Option<FlxId>,
    /// The identifiers of its adverts, in order of arrival.
    pub adverts: Vec<FlxId>,
}

impl Listings {
    /// Decides again which adverts are one property, and writes what changed; with `is_dry_run`, only updates the data
    /// for comparisons. Returns once durable. Blocks: about a minute for 100,000 adverts.
    ///
    /// # Errors
    /// The store fails. Earlier writes stay.
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
        report.possible_pairs = grouping.likely_groups() as u64;
        apply::apply(self, &grouping, &mut report, progress)?;
        Ok(report)
    }
}

#[cfg(test)]
mod tests;
