//! The findings of an erasure, by the kind of data that they were in. They never contain a contact.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use toise_listings::records::erasing::FoundAdvert;

/// Maximum identifiers that are named per place; all are counted.
pub const IDS_MAX: usize = 1_000;

toise_base::named! {
    /// A kind of stored data that may contain contacts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Place {
        /// Adverts, with their fingerprints and block keys.
        Adverts = "adverts",
        /// Properties of these adverts.
        Properties = "properties",
        /// Previous records of listings that alerts are compared with.
        FormerRecords = "former_records",
        /// Records that alerts deliver, waiting or kept after delivery.
        Deliveries = "deliveries",
        /// Errors of deliveries, with what receivers answered.
        DeliveryErrors = "delivery_errors",
        /// Jobs of collection.
        Jobs = "jobs",
        /// Rejected pages.
        Rejections = "rejections",
        /// Reports of accounts about wrong listings.
        ListingReports = "listing_reports",
        /// Responses stored under idempotency keys.
        Responses = "responses",
        /// Texts of SQL queries in their audit log.
        SqlQueries = "sql_queries",
        /// Stored pages.
        Pages = "pages",
        /// Reports of imports and ingestions.
        ImportReports = "import_reports",
        /// Data files of the tables of properties and adverts, previous versions included.
        DataFiles = "data_files",
    }
}

/// Findings in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceFindings {
    /// Number of records.
    pub found: u64,
    /// Their identifiers, the first thousand.
    pub ids: Vec<String>,
}

/// Findings in all places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    places: BTreeMap<Place, PlaceFindings>,
    /// Damaged records, whose contents are unknown.
    #[serde(default)]
    pub damaged: u64,
}

impl Findings {
    /// Adds identifiers to a place; those that are already named are not counted again.
    pub fn add(&mut self, place: Place, ids: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        let known = self.places.entry(place).or_default();
        for id in ids {
            if known.ids.contains(&id) {
                continue;
            }
            known.found += 1;
            if known.ids.len() < IDS_MAX {
                known.ids.push(id);
            }
        }
    }

    /// Adds adverts and their properties.
    pub fn add_listings(&mut self, found: &[FoundAdvert]) {
        let adverts = found.iter().map(|advert| advert.flx_id.to_string());
        self.add(Place::Adverts, adverts.collect());
        let properties = found
            .iter()
            .map(|advert| advert.property_flx_id.to_string());
        self.add(Place::Properties, properties.collect());
    }

    /// Returns the number of records found in a place.
    pub fn count(&self, place: Place) -> u64 {
        self.places.get(&place).map_or(0, |found| found.found)
    }

    /// Returns the report; `erasure` is `None` for a dry run.
    pub(crate) fn report(self, erasure: Option<Uuid>, contacts: usize) -> ErasureReport {
        let removed = |found: u64| if erasure.is_some() { found } else { 0 };
        let places = Place::ALL.into_iter().map(|place| {
            let found = self.places.get(&place).cloned().unwrap_or_default();
            PlaceReport {
                place,
                found: found.found,
                removed: removed(found.found),
                ids: found.ids,
            }
        });
        ErasureReport {
            erasure_id: erasure,
            contacts,
            places: places.collect(),
            damaged: self.damaged,
        }
    }
}

/// Number of findings and removals of an erasure in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceReport {
    /// The place.
    pub place: Place,
    /// Number of records with a contact.
    pub found: u64,
    /// Number of records from which a contact was removed; none in a dry run.
    pub removed: u64,
    /// Identifiers of the records, the first thousand.
    pub ids: Vec<String>,
}

/// Numbers of findings and removals of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureReport {
    /// Identifier of the erasure; `None` for a dry run.
    pub erasure_id: Option<Uuid>,
    /// Number of contacts that it added to the list, or would add.
    pub contacts: usize,
    /// Every place, including those without findings.
    pub places: Vec<PlaceReport>,
    /// Damaged records, which could not be searched.
    pub damaged: u64,
}

impl ErasureReport {
    /// Returns the report as JSON, in the format of the command line and the API.
    pub fn answer(&self) -> Value {
        let places: Vec<Value> = self
            .places
            .iter()
            .map(|place| {
                json!({
                    "place": place.place.as_str(),
                    "found": place.found,
                    "removed": place.removed,
                    "ids": place.ids,
                })
            })
            .collect();
        let mut answer =
            json!({"dryRun": self.erasure_id.is_none(), "places": places, "damaged": self.damaged});
        if let Some(id) = self.erasure_id {
            answer["erasureId"] = json!(id);
        }
        answer
    }

    /// Returns the text for the audit log: counts, never a contact.
    pub fn subject(&self) -> String {
        let found = self.places.iter().filter(|place| place.found > 0);
        let found: Vec<String> = found
            .map(|place| format!("{} {}", place.found, place.place.as_str()))
            .collect();
        let found = if found.is_empty() {
            "nothing found".to_owned()
        } else {
            found.join(", ")
        };
        let contacts = match self.contacts {
            1 => "1 contact".to_owned(),
            contacts => format!("{contacts} contacts"),
        };
        match self.erasure_id {
            Some(id) => format!("erasure {id} of {contacts}: {found}"),
            None => format!("dry run for {contacts}: {found}"),
        }
    }
}
