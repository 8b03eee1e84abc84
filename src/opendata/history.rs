//! The history of one place: the sales and diagnostics of a cadastral parcel or a building, in time order.
//!
//! A record belongs to a place if it names the place, if the register of buildings (RNB) links the two, or if an
//! address of the national address base (BAN) that names parcels links the two. Only diagnostics that name no building
//! and are at no address of the register are linked by their position:
//!
//! - parcel: the sales that name it or, by the documents of filiation (DFI), a parcel that it was made from; the
//!   diagnostics of the addresses and of the buildings on it;
//! - building: the diagnostics that name it, those that name no building and are most likely of this one
//!   ([`addresses_won`], and by position), and the sales of its parcels. Without the register, its parcels are those on which the
//!   addresses of its diagnostics are.
//!
//! A page is cut from two searches, one of sales and one of diagnostics, each sorted by date. The caller may add events
//! of other tables to it ([`History::add`]).
//!
//! Identifiers of parcels and addresses begin with the code of their commune, so footer statistics exclude all row
//! groups but those of one department. Of 20 million sales these are at most about ten row groups, whose parcels take 2
//! MB each once decoded. A building is found through bloom filters: for 15 million diagnostics, 230 filters of at most
//! 64 KiB are read.

mod event;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use bytes::Bytes;
use serde::Deserialize;

pub use event::{Event, EventKind};
use event::{after_in, cut};

use crate::dfi;
use crate::dpe::{ADDRESS, BUILDING};
use crate::dvf::place::{PARCELS, parcel_today};
use crate::rnb;
use crate::rnb::links::{RegisteredBuilding, addresses_won, texts};
use crate::source::cell::day;
use crate::{CursorPosition, Dataset, DatasetSearchRequest, OpenData};
use toise_contract::cursor::{QueryDigest, query_digest};
use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_contract::listings::codes::{ParcelId, RnbId};
use toise_engine::Error;
use toise_geocode::table as addresses;
use toise_lake as lake;
use toise_lake::schema::TableSchema;

/// Maximum addresses or parcels through which records are linked to a place. If there are more, the first ones by
/// identifier are used.
pub const LINKS_MAX: usize = 1_000;
/// Maximum addresses of a place whose positions are returned.
pub const POSITIONS_MAX: usize = 50;
/// Column with the parcels of an address.
const PARCELS_OF_ADDRESS: &str = "parcel_ids";

/// A place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A cadastral parcel.
    Parcel(ParcelId),
    /// A building of the national register of buildings.
    Building(RnbId),
}

toise_base::named! {
    /// The reason why a record belongs to a place.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Link {
        /// The record names the parcel.
        Parcel = "PARCEL",
        /// The record names a parcel that this one was made from.
        FormerParcel = "FORMER_PARCEL",
        /// The record names the building, or a building on the parcel.
        Building = "BUILDING",
        /// The record names an address, or a parcel of an address, that the national address base or the register of
        /// buildings locates there.
        Address = "ADDRESS",
        /// The diagnostic names no building, the register has no building at its address, and the building is the most
        /// likely one near its position.
        Position = "POSITION",
    }
}

/// A validated request for the history of a place.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryRequest {
    /// The place.
    pub place: Place,
    /// Events per page, 1 to 100.
    pub size: usize,
    /// Position of the last event of the previous page.
    pub after: Option<CursorPosition>,
}

/// A page of the history of a place, oldest event first; events without a date come last.
#[derive(Clone, Debug)]
pub struct History {
    /// Information about the place from other registers.
    pub place: PlaceFacts,
    /// The events.
    pub events: Vec<Event>,
    /// Number of events on all pages.
    pub total: u64,
    /// Position at which the next page continues; `None` on the last page.
    pub next: Option<CursorPosition>,
}

/// Information about a place from other registers. Empty if they were not imported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlaceFacts {
    /// The building, or the buildings on the parcel, by the register of buildings.
    pub buildings: Vec<RegisteredBuilding>,
    /// Parcels that this parcel was made from, directly or not, by the documents of filiation.
    pub former_parcels: Vec<String>,
    /// Parcels that were made from this parcel, directly or not.
    pub later_parcels: Vec<String>,
    /// Latitude and longitude of the addresses of the place, at most [`POSITIONS_MAX`].
    pub positions: Vec<(f64, f64)>,
}

impl PlaceFacts {
    /// Returns whether no register knows the place. An address may still name a parcel that no longer exists.
    pub fn is_unknown(&self) -> bool {
        self.buildings.is_empty() && self.former_parcels.is_empty() && self.later_parcels.is_empty()
    }
}

/// The parts of a record by which events are sorted.
#[derive(Deserialize)]
struct EventKey<'r> {
    #[serde(borrow, alias = "numero_dpe")]
    id: Cow<'r, str>,
    #[serde(
        borrow,
        default,
        alias = "transaction_date",
        alias = "date_etablissement_dpe"
    )]
    date: Option<Cow<'r, str>>,
    #[serde(borrow, default)]
    parcel_ids: Option<Vec<Cow<'r, str>>>,
    #[serde(borrow, default)]
    id_rnb: Option<Cow<'r, str>>,
    #[serde(borrow, default)]
    identifiant_ban: Option<Cow<'r, str>>,
}

/// The records to find in one table, because they belong to a place.
struct Sought {
    dataset: Dataset,
    filter: Filter,
    links: Links,
}

/// Why the records that a filter selects belong to a place.
enum Links {
    /// Records that name one of these parcels have this link; others name a former parcel.
    Parcels { ids: BTreeSet<String>, link: Link },
    /// Records that name one of these buildings are linked by it; others by their position, if they are in `near`, or by
    /// their address. If the place is a building, `scores` are those of addresses, and `near` those of diagnostics.
    Buildings {
        ids: BTreeSet<String>,
        scores: BTreeMap<String, f64>,
        near: BTreeMap<String, f64>,
    },
}

impl Links {
    fn of(&self, key: &EventKey<'_>) -> (Link, Option<f64>) {
        match self {
            Self::Parcels { ids, link } => {
                let mut named = key.parcel_ids.iter().flatten();
                let names_one = named.any(|id| ids.contains(&**id));
                (if names_one { *link } else { Link::FormerParcel }, None)
            }
            Self::Buildings { ids, scores, near } => {
                let names_one = key.id_rnb.as_ref().is_some_and(|id| ids.contains(&**id));
                if names_one {
                    (Link::Building, None)
                } else if let Some(score) = near.get(&*key.id) {
                    (Link::Position, Some(*score))
                } else {
                    let address = key.identifiant_ban.as_deref();
                    let score = address.and_then(|address| scores.get(address));
                    (Link::Address, score.copied())
                }
            }
        }
    }
}

impl Place {
    /// Returns the digest that binds a cursor to the history of the place.
    pub fn digest(&self) -> QueryDigest {
        let table = match self {
            Self::Parcel(_) => "parcels",
            Self::Building(_) => "buildings",
        };
        let id = one_of("id", vec![self.id().to_owned()]);
        query_digest(table, &vec![id], "date", false)
    }

    /// Returns the identifier.
    pub fn id(&self) -> &str {
        match self {
            Self::Parcel(id) => id.as_str(),
            Self::Building(id) => id.as_str(),
        }
    }
}

impl OpenData {
    /// Returns a page of the history of a place. CPU-bound, on the calling thread and its rayon pool.
    ///
    /// # Errors
    /// A table cannot be read, or the engine was opened without the table of addresses.
    pub fn history(&self, request: &HistoryRequest) -> Result<History, Error> {
        let (mut events, mut total, mut has_next) = (Vec::new(), 0, false);
        let (place, sought) = match &request.place {
            Place::Parcel(id) => self.sought_of_parcel(id)?,
            Place::Building(id) => self.sought_of_building(id)?,
        };
        for one in sought {
            let dataset = one.dataset;
            let search = DatasetSearchRequest {
                filter: one.filter,
                sort_by: dataset.schema().date,
                descending: false,
                size: request.size,
                after: request.after.as_ref().map(|after| after_in(dataset, after)),
            };
            let answer = self.search(dataset, &search)?;
            total += answer.total;
            has_next |= answer.next.is_some();
            for record in answer.records {
                events.push(event_of(dataset, &one.links, record)?);
            }
        }
        let next = cut(&mut events, request.size, has_next);
        Ok(History {
            place,
            events,
            total,
            next,
        })
    }

    /// Returns what is known about a parcel, and the records that belong to it.
    fn sought_of_parcel(&self, id: &ParcelId) -> Result<(PlaceFacts, Vec<Sought>), Error> {
        let today = parcel_today(id.as_str().into()).into_owned();
        let mut named = vec![today.clone()];
        if today != id.as_str() {
            named.push(id.as_str().to_owned());
        }
        let on_it = self.texts(addresses::schema(), PARCELS_OF_ADDRESS, named, "id")?;
        let parcel = vec![today];
        let buildings = self.buildings(rnb::PARCELS, &parcel, LINKS_MAX)?;
        let place = PlaceFacts {
            positions: self.positions(&on_it)?,
            buildings,
            former_parcels: self.followed(&parcel, dfi::LATER, dfi::FORMER)?,
            later_parcels: self.followed(&parcel, dfi::FORMER, dfi::LATER)?,
        };
        let buildings = place.buildings.iter();
        let ids: Vec<String> = buildings.map(|one| one.id_rnb.clone()).collect();
        let links = Links::Buildings {
            ids: ids.iter().cloned().collect(),
            scores: BTreeMap::new(),
            near: BTreeMap::new(),
        };
        let texts = vec![(ADDRESS, on_it), (BUILDING, ids)];
        let sales = Sought::sales(parcel, &place.former_parcels, Link::Parcel);
        let diagnostics = Sought::new(Dataset::Dpe, texts, links);
        Ok((place, [sales, diagnostics].into_iter().flatten().collect()))
    }

    /// Returns what is known about a building, and the records that belong to it.
    fn sought_of_building(&self, id: &RnbId) -> Result<(PlaceFacts, Vec<Sought>), Error> {
        let named = vec![id.as_str().to_owned()];
        let buildings = self.buildings(rnb::ID, &named, 1)?;
        let dpe = Dataset::Dpe.schema();
        let (mut scores, mut near, mut attached) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (mut parcels, mut link) = (Vec::new(), Link::Parcel);
        if let Some(building) = buildings.first() {
            let neighbours = self.buildings(rnb::ADDRESSES, &building.address_ids, LINKS_MAX)?;
            scores = addresses_won(building, &neighbours);
            let won = scores.keys().cloned().collect();
            attached = self.texts_without(dpe, ADDRESS, won, dpe.id, Some(BUILDING))?;
            near = self.diagnostics_near(building)?;
            attached.extend(near.keys().cloned());
            attached.truncate(LINKS_MAX);
            parcels.clone_from(&building.parcel_ids);
        }
        let mut addressed = self.texts(dpe, BUILDING, named.clone(), ADDRESS)?;
        if parcels.is_empty() {
            link = Link::Address;
            let mut ids = addressed.clone();
            ids.extend(scores.keys().cloned());
            let found = self.texts(addresses::schema(), "id", ids, PARCELS_OF_ADDRESS)?;
            let found = found.into_iter();
            parcels = found
                .map(|id| parcel_today(id.into()).into_owned())
                .collect();
        }
        addressed.extend(buildings.iter().flat_map(|one| one.address_ids.clone()));
        let place = PlaceFacts {
            former_parcels: self.followed(&parcels, dfi::LATER, dfi::FORMER)?,
            buildings,
            later_parcels: Vec::new(),
            positions: self.positions(&addressed)?,
        };
        let links = Links::Buildings {
            ids: named.iter().cloned().collect(),
            scores,
            near,
        };
        let texts = vec![(BUILDING, named), (dpe.id, attached)];
        let sales = Sought::sales(parcels, &place.former_parcels, link);
        let diagnostics = Sought::new(Dataset::Dpe, texts, links);
        Ok((place, [sales, diagnostics].into_iter().flatten().collect()))
    }

    /// Follows changes of parcels from the given ones, step by step: from the column `from` to the column `to`. Returns
    /// the parcels met without the given ones; about [`LINKS_MAX`] at most.
    fn followed(
        &self,
        parcels: &[String],
        from: &'static str,
        to: &'static str,
    ) -> Result<Vec<String>, Error> {
        let mut known: BTreeSet<String> = parcels.iter().cloned().collect();
        let mut next = parcels.to_vec();
        while !next.is_empty() && known.len() < LINKS_MAX {
            let found = self.texts(dfi::schema(), from, next, to)?.into_iter();
            next = found.filter(|id| known.insert(id.clone())).collect();
        }
        let found = known.into_iter().filter(|id| !parcels.contains(id));
        Ok(found.take(LINKS_MAX).collect())
    }

    /// Returns the positions of addresses.
    fn positions(&self, ids: &[String]) -> Result<Vec<(f64, f64)>, Error> {
        let schema = addresses::schema();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids = ids.iter().take(POSITIONS_MAX).cloned().collect();
        let clause = one_of(schema.id, ids);
        self.read_rows(schema, clause, &["lat", "lon"], |columns, row| {
            let degrees = |at: usize| columns[at].values.as_primitive::<Float64Type>().value(row);
            Some((degrees(0), degrees(1)))
        })
    }

    /// Returns the distinct values of a text column, in order, from the rows where another column has one of `ids`; at
    /// most [`LINKS_MAX`].
    fn texts(
        &self,
        schema: &'static TableSchema,
        by: &'static str,
        ids: Vec<String>,
        column: &str,
    ) -> Result<Vec<String>, Error> {
        self.texts_without(schema, by, ids, column, None)
    }

    /// Like [`Self::texts`], but only for rows where the column `absent`, if given, has no value.
    fn texts_without(
        &self,
        schema: &'static TableSchema,
        by: &'static str,
        ids: Vec<String>,
        column: &str,
        absent: Option<&str>,
    ) -> Result<Vec<String>, Error> {
        if ids.is_empty() {
            return Ok(ids);
        }
        let names: Vec<&str> = std::iter::once(column).chain(absent).collect();
        let found = self.read_rows(schema, one_of(by, ids), &names, |columns, row| {
            let has_absent = columns
                .get(1)
                .is_some_and(|column| column.values.is_valid(row));
            (!has_absent).then(|| texts(&columns[0], row))
        })?;
        let found: BTreeSet<String> = found.into_iter().flatten().collect();
        Ok(found.into_iter().take(LINKS_MAX).collect())
    }
}

impl Sought {
    /// Selects the sales of parcels, with this link, and the sales of the parcels they were made from.
    fn sales(parcels: Vec<String>, former: &[String], link: Link) -> Option<Self> {
        let links = Links::Parcels {
            ids: parcels.iter().cloned().collect(),
            link,
        };
        let all = parcels.into_iter().chain(former.iter().cloned());
        Self::new(Dataset::Dvf, vec![(PARCELS, all.collect())], links)
    }

    /// Selects the records of a table where one of these columns has one of its given values; `None` if there are no
    /// values.
    fn new(
        dataset: Dataset,
        texts: Vec<(&'static str, Vec<String>)>,
        links: Links,
    ) -> Option<Self> {
        let texts = texts.into_iter().filter(|(_, texts)| !texts.is_empty());
        let filters: Vec<Filter> = texts
            .map(|(column, texts)| vec![one_of(column, texts)])
            .collect();
        (!filters.is_empty()).then(|| Self {
            dataset,
            filter: Clause::any(filters),
            links,
        })
    }
}

/// Returns the event of a record.
fn event_of(dataset: Dataset, links: &Links, record: Bytes) -> Result<Event, Error> {
    let key: EventKey<'_> = serde_json::from_slice(&record)
        .map_err(|error| lake::Error::damaged(Path::new(dataset.name()), error))?;
    let (link, score) = links.of(&key);
    Ok(Event {
        kind: EventKind::of(dataset),
        day: key.date.and_then(|date| day(date.get(..10)?)),
        link,
        score,
        id: key.id.into_owned(),
        record,
    })
}

fn one_of(column: &'static str, texts: Vec<String>) -> Clause {
    Clause::new(column, ClauseTest::OneOf(texts))
}
