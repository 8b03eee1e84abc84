//! Maps portfolio columns to body fields and builds the match body of a row.
//!
//! A body field is a column of the same name: `code_insee_ban`, `surface_habitable_logement_min` and `_max`,
//! `date_etablissement_dpe_from` and `_to`, `lat`, `lon` and `distance`, each scoring target, `size`. [`parse_match`]
//! validates the body, so a row is rejected for the same reasons and with the same messages as at the endpoint. Cells
//! are text in every container; the field decides how a cell is parsed. An empty cell means an absent field.
//!
//! A row may also give an address in the columns `address`, `postcode` (or `postal_code`) and `city`. It becomes a
//! condition like the filter `address`, unless the row has a position, or has no street and names its commune by code.
//! A position without a distance has [`DEFAULT_DISTANCE`].

use serde_json::{Map, Number, Value};

use super::MatchJob;
use crate::portfolio::{
    ADDRESS_COLUMNS, AddressColumns, BlockAddresses, COMMUNE_CODE, Error, INSEE_CODE,
    PortfolioColumns, RowFault,
};
use crate::request::address::{ADDRESS, PLACE_PATH, commune_column};
use crate::request::bodies::{AREA, LAYER, bodies};
use crate::request::parse_match;
use crate::source::Block;
use crate::source::cell::{listed_value, place_code};
use crate::{Dataset, MatchRequest};
use toise_contract::fields::FieldKind;
use toise_geocode::resolve::PostalAddress;
use toise_input::day;
use toise_input::number::{self, LoneSeparator};
use toise_input::words;

/// Columns of a position, which is also read under its usual names.
const POSITION: [&str; 2] = ["lat", "lon"];
/// The column of the distance from a position within which candidates lie.
pub(super) const DISTANCE: &str = "distance";
/// The distance for a row that has a position and no distance. It is larger than the differences between geocoders for
/// one house, and smaller than a block of houses.
pub(super) const DEFAULT_DISTANCE: &str = "100m";

/// How to parse a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    /// An INSEE or postal code, which may have lost its zero or got decimals.
    PlaceCode,
    Text,
    Number,
    Flag,
    Day,
}

/// Where a cell's value goes in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodySlot {
    /// `filters.<name>`.
    Filter(&'static str),
    /// `filters.<name>.<bound>`.
    Bound(&'static str, &'static str),
    /// `scoring_targets.<name>`.
    Target(&'static str),
    /// A part of an address; not part of the body.
    Address,
    Size,
}

impl BodySlot {
    /// Returns the path in the body, as faults name it; empty outside the body.
    fn path(self) -> String {
        match self {
            Self::Filter(name) => format!("filters.{name}"),
            Self::Bound(name, bound) => format!("filters.{name}.{bound}"),
            Self::Target(name) => format!("scoring_targets.{name}"),
            Self::Size => "size".to_owned(),
            Self::Address => String::new(),
        }
    }
}

/// A body field with its column name.
#[derive(Clone, Debug)]
struct BodyField {
    name: String,
    slot: BodySlot,
    cell: CellKind,
    /// The values that the field may have, if they are few.
    allowed: &'static [&'static str],
}

/// Converts portfolio rows to match requests.
#[derive(Clone, Debug)]
pub(super) struct PortfolioPlan {
    /// The table to match against.
    pub(super) dataset: Dataset,
    size: Option<usize>,
    /// The mapping of its columns.
    pub(super) columns: PortfolioColumns,
    /// Input columns that hold fields.
    fields: Vec<(usize, BodyField)>,
    /// Input columns that give an address; `None` if there is only `postal_code`, which is a filter too.
    addresses: Option<AddressColumns>,
}

/// Returns all fields of a match body, as columns.
fn fields(dataset: Dataset) -> Vec<BodyField> {
    let bodies = bodies(dataset);
    let mut fields = Vec::new();
    let mut add = |name: String, slot, cell, allowed| {
        fields.push(BodyField {
            name,
            slot,
            cell,
            allowed,
        });
    };
    let filters = bodies.match_filters.iter();
    // An area or a layer does not fit into a cell.
    for filter in filters.filter(|filter| ![ADDRESS, AREA, LAYER].contains(&filter.name)) {
        let name = filter.name;
        let is_place_code = name.contains("insee") || name.contains("postal");
        match filter.kind {
            FieldKind::Place => {
                for (bound, cell) in [
                    ("lat", CellKind::Number),
                    ("lon", CellKind::Number),
                    (DISTANCE, CellKind::Text),
                ] {
                    add(bound.into(), BodySlot::Bound(name, bound), cell, &[]);
                }
            }
            FieldKind::Range | FieldKind::Dates => {
                let (bounds, cell) = match filter.kind {
                    FieldKind::Range => (["min", "max"], CellKind::Number),
                    _ => (["from", "to"], CellKind::Day),
                };
                for bound in bounds {
                    let column = format!("{name}_{bound}");
                    add(column, BodySlot::Bound(name, bound), cell, &[]);
                }
            }
            FieldKind::Flag => add(name.into(), BodySlot::Filter(name), CellKind::Flag, &[]),
            FieldKind::OneOf(allowed) | FieldKind::AnyOf(allowed) => {
                add(name.into(), BodySlot::Filter(name), CellKind::Text, allowed);
            }
            _ => {
                let cell = if is_place_code {
                    CellKind::PlaceCode
                } else {
                    CellKind::Text
                };
                add(name.into(), BodySlot::Filter(name), cell, &[]);
            }
        }
    }
    for target in bodies.targets {
        let (cell, allowed): (_, &'static [_]) = match target.kind {
            FieldKind::Number | FieldKind::Between(..) | FieldKind::Integer(..) => {
                (CellKind::Number, &[])
            }
            FieldKind::Flag => (CellKind::Flag, &[]),
            FieldKind::OneOf(allowed) | FieldKind::AnyOf(allowed) => (CellKind::Text, allowed),
            _ => (CellKind::Text, &[]),
        };
        let name = target.name;
        add(name.into(), BodySlot::Target(name), cell, allowed);
    }
    add("size".into(), BodySlot::Size, CellKind::Number, &[]);
    // The postal code of a sale is a filter, and also part of the address. A column that only means its INSEE code is
    // part of the address: a filter would refuse codes that are not those of communes.
    let commune_code = (commune_column(dataset) == INSEE_CODE).then_some(COMMUNE_CODE);
    for name in ADDRESS_COLUMNS.into_iter().chain(commune_code) {
        if !fields.iter().any(|field| field.name == name) {
            fields.push(BodyField {
                name: name.into(),
                slot: BodySlot::Address,
                cell: CellKind::Text,
                allowed: &[],
            });
        }
    }
    fields
}

impl PortfolioPlan {
    /// Maps the columns of a portfolio to fields.
    pub(super) fn new(job: &MatchJob, columns: PortfolioColumns) -> Result<Self, Error> {
        let dataset = job.dataset;
        if let Some(size) = job.size {
            parse_match(dataset, &serde_json::json!({ "size": size }))
                .map_err(|fault| Error::Option(format!("--{fault}")))?;
        }
        let known = fields(dataset);
        let found = columns.fields.iter();
        let fields: Vec<(usize, BodyField)> = found
            .map(|(index, field)| (*index, known[*field].clone()))
            .collect();
        let of_address = |(_, field): &(usize, BodyField)| field.slot == BodySlot::Address;
        let addresses = fields.iter().any(of_address).then(|| {
            let mut named = fields.iter().map(|(column, field)| (*column, &*field.name));
            let mut columns = AddressColumns::find(named.clone());
            let commune = named.find(|(_, name)| *name == commune_column(dataset));
            columns.insee_code = commune.map(|(column, _)| column).or(columns.insee_code);
            columns
        });
        Ok(Self {
            dataset,
            size: job.size,
            fields,
            addresses,
            columns,
        })
    }

    /// Returns whether rows may give an address.
    pub(super) fn has_addresses(&self) -> bool {
        self.addresses.is_some()
    }

    /// Returns whether the portfolio has columns that select records.
    pub(super) fn has_conditions(&self) -> bool {
        let mut slots = self.fields.iter().map(|(_, field)| field.slot);
        slots.any(|slot| !matches!(slot, BodySlot::Target(_) | BodySlot::Size))
    }

    /// Prepares the addresses of a block; `None` if rows give none.
    pub(super) fn addresses<'b>(&self, block: &'b Block) -> Option<BlockAddresses<'b>> {
        Some(self.addresses?.of_block(block))
    }

    /// Returns the address by which a row is to be located. `None` if the row has a position, or if the address has no
    /// street and adds nothing to a filter on the commune or the postal code.
    pub(super) fn address<'a>(
        &self,
        given: &'a BlockAddresses<'_>,
        row: usize,
        request: &MatchRequest,
    ) -> Option<PostalAddress<'a>> {
        let address = given.of_row(row);
        let has = |column: &str| request.filter.iter().any(|clause| clause.column == column);
        let adds_nothing = address.address.is_empty()
            && (has(commune_column(self.dataset)) || address.city.is_empty() && has("postal_code"));
        (!address.is_empty() && !adds_nothing && !has("location")).then_some(address)
    }

    /// Returns the cells of a row that say that a diagnostic has no class, each with the name of its field.
    pub(super) fn without_class<'b>(
        &'b self,
        block: &'b Block,
        row: usize,
    ) -> impl Iterator<Item = (&'b str, &'b str)> {
        self.fields.iter().filter_map(move |(column, field)| {
            let cell = block.cell(row, *column);
            let is_class = field.allowed == words::ENERGY_CLASSES;
            (is_class && words::energy_class(cell) == Some("")).then_some((&*field.name, cell))
        })
    }

    /// Returns the names of the columns that a fault is about, and their cells; empty if the fault is not about a
    /// column.
    pub(super) fn at_fault(&self, block: &Block, row: usize, fault: &RowFault) -> (String, String) {
        let reason = fault.to_string();
        let is_about = |field: &BodyField| match (fault, field.slot) {
            (RowFault::Position { .. }, slot) => {
                matches!(slot, BodySlot::Bound("location", part) if POSITION.contains(&part))
            }
            (RowFault::Other(_), slot) => {
                let after = reason.strip_prefix(slot.path().as_str());
                after.is_some_and(|after| after.starts_with([':', '.', '[']))
            }
        };
        let columns = self.fields.iter().filter(|(_, field)| is_about(field));
        let (names, cells): (Vec<&str>, Vec<&str>) = columns
            .map(|(column, field)| (field.name.as_str(), block.cell(row, *column)))
            .unzip();
        (names.join(", "), cells.join(", "))
    }

    /// Returns the match request of a row, or why the row is invalid.
    pub(super) fn request(&self, block: &Block, row: usize) -> Result<MatchRequest, RowFault> {
        let request = parse_match(self.dataset, &self.body(block, row));
        let request = request.map_err(|fault| RowFault::Other(fault.to_string()))?;
        match request.check_place() {
            Ok(()) => Ok(request),
            Err(fault) => Err(RowFault::Position {
                path: PLACE_PATH,
                fault,
            }),
        }
    }

    fn body(&self, block: &Block, row: usize) -> Value {
        let mut filters = Map::new();
        let mut targets = Map::new();
        let mut size = self.size.map(Value::from);
        for (column, field) in &self.fields {
            let cell = allowed_value(block.cell(row, *column).trim(), field.allowed);
            if cell.is_empty() {
                continue;
            }
            let value = value(cell, field.cell);
            match field.slot {
                BodySlot::Filter(name) => {
                    filters.insert(name.into(), value);
                }
                BodySlot::Bound(name, bound) => {
                    let range = filters
                        .entry(name)
                        .or_insert_with(|| Value::Object(Map::new()));
                    if let Value::Object(range) = range {
                        range.insert(bound.into(), value);
                    }
                }
                BodySlot::Target(name) => {
                    targets.insert(name.into(), value);
                }
                BodySlot::Size => size = Some(value),
                BodySlot::Address => {}
            }
        }
        if let Some(Value::Object(place)) = filters.get_mut("location") {
            if POSITION.iter().any(|part| place.contains_key(*part)) {
                let distance = place.entry(DISTANCE);
                distance.or_insert_with(|| DEFAULT_DISTANCE.into());
            } else {
                // A radius that was set for all rows means nothing for a row without a position.
                filters.remove("location");
            }
        }
        let mut body = Map::new();
        body.insert("filters".into(), Value::Object(filters));
        body.insert("scoring_targets".into(), Value::Object(targets));
        if let Some(size) = size {
            body.insert("size".into(), size);
        }
        Value::Object(body)
    }
}

/// Returns the allowed value that a cell means: the value itself in any case and with or without accents, or otherwise
/// the value of the same class, such as `Appartement` for `Appt` or `T2`. Empty for a diagnostic without a class. A
/// cell that means no allowed value is returned unchanged.
fn allowed_value<'c>(cell: &'c str, allowed: &[&'static str]) -> &'c str {
    let of_class = || {
        let class = words::asset_class(cell)?;
        let mut allowed = allowed.iter().copied();
        allowed.find(|value| words::asset_class(value) == Some(class))
    };
    listed_value(cell, allowed)
        .or_else(of_class)
        .unwrap_or(cell)
}

/// Converts a cell to the type of its field; a cell that cannot be converted stays text, which validation rejects.
fn value(cell: &str, kind: CellKind) -> Value {
    let text = || Value::String(cell.to_owned());
    match kind {
        CellKind::Text => text(),
        CellKind::PlaceCode => Value::String(place_code(cell)),
        CellKind::Number => number::read(cell, LoneSeparator::Decimals)
            .and_then(Number::from_f64)
            .map_or_else(text, Value::Number),
        CellKind::Flag => words::flag(cell).map_or_else(text, Value::Bool),
        CellKind::Day => day::iso(cell).map_or_else(text, Value::String),
    }
}

/// Returns the column names of some body fields.
fn names(dataset: Dataset, are_listed: impl Fn(&BodyField) -> bool) -> Vec<String> {
    let listed = fields(dataset).into_iter().filter(are_listed);
    listed.map(|field| field.name).collect()
}

/// Returns the column names of all body fields.
pub(super) fn field_names(dataset: Dataset) -> Vec<String> {
    names(dataset, |_| true)
}

/// Returns the column names of the fields that hold numbers.
pub(super) fn number_names(dataset: Dataset) -> Vec<String> {
    names(dataset, |field| field.cell == CellKind::Number)
}

/// Returns the column names of the fields that are also read under other usual names: the parts of an address and the
/// position. Reading a filter or a target that the caller did not ask for would change the candidates.
pub(super) fn inferable_names(dataset: Dataset) -> Vec<String> {
    let mut names = address_names(dataset);
    names.extend(POSITION.map(str::to_owned));
    names
}

/// Returns the column names of the parts of an address.
pub(super) fn address_names(dataset: Dataset) -> Vec<String> {
    names(dataset, |field| field.slot == BodySlot::Address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dpe::{BUILDING_TYPES, CLASSES};
    use crate::dvf::PROPERTY_TYPES;
    use crate::source::Header;
    use std::path::PathBuf;
    use std::sync::Arc;

    /// The plan of a portfolio with these columns, and an empty block of its rows.
    fn planned(dataset: Dataset, names: &[&str]) -> (PortfolioPlan, Block) {
        let job = MatchJob {
            dataset,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            renames: Vec::new(),
            keys: Vec::new(),
            size: None,
            columns: None,
        };
        let portfolio = super::super::portfolio_of(&job, PathBuf::new());
        let columns = PortfolioColumns::new(&portfolio, &job.names).unwrap();
        let plan = PortfolioPlan::new(&job, columns).unwrap();
        (plan, Block::new(Arc::new(Header::new(job.names))))
    }

    #[test]
    fn the_code_of_a_commune_is_read_under_its_usual_names() {
        for dataset in [Dataset::Dvf, Dataset::Dpe] {
            for name in ["INSEE", "code_insee", "Code INSEE"] {
                let (plan, mut block) = planned(dataset, &["id", name]);
                block.start_row(1);
                block.push_cell("a");
                block.push_cell("1053.0");
                let given = plan.addresses(&block).unwrap();
                let request = plan.request(&block, 0).unwrap();
                let address = plan.address(&given, 0, &request).unwrap();
                assert_eq!(address.insee_code, "01053", "{name}");
            }
        }
    }

    #[test]
    fn the_cell_at_fault_is_found_by_the_path_of_the_fault() {
        let (plan, mut block) = planned(Dataset::Dpe, &["id", "type_batiment"]);
        block.start_row(1);
        block.push_cell("a");
        block.push_cell("palais");
        let fault = plan.request(&block, 0).err().unwrap();
        let expected = ("type_batiment".to_owned(), "palais".to_owned());
        assert_eq!(plan.at_fault(&block, 0, &fault), expected);
    }

    #[test]
    fn a_position_is_read_under_its_usual_names_with_a_default_distance() {
        for (names, distance) in [
            (["Latitude", "Longitude", "notes"], DEFAULT_DISTANCE),
            (["lat", "lng", "notes"], DEFAULT_DISTANCE),
            (["lat", "lon", "distance"], "2km"),
        ] {
            let (plan, mut block) = planned(Dataset::Dvf, &names);
            for cells in [["44.5", "3.5", "2km"], ["", "", "2km"]] {
                block.start_row(1);
                cells.iter().for_each(|cell| block.push_cell(cell));
            }
            let filters = plan.body(&block, 0)["filters"].clone();
            let location = serde_json::json!({"lat": 44.5, "lon": 3.5, "distance": distance});
            assert_eq!(filters, serde_json::json!({ "location": location }));
            let filters = plan.body(&block, 1)["filters"].clone();
            assert_eq!(filters, serde_json::json!({}), "{names:?}");
        }
    }

    #[test]
    fn cells_without_a_class_are_found() {
        let names = ["etiquette_dpe", "etiquette_ges", "type_batiment"];
        let (plan, mut block) = planned(Dataset::Dpe, &names);
        block.start_row(1);
        ["N", "D", "H"]
            .iter()
            .for_each(|cell| block.push_cell(cell));
        let found: Vec<_> = plan.without_class(&block, 0).collect();
        assert_eq!(found, [("etiquette_dpe", "N")]);
    }

    #[test]
    fn classes_are_read_in_every_usual_spelling() {
        for cell in ["Appartement", "appartement", "APPT", "Apt.", "T2", "studio"] {
            assert_eq!(
                allowed_value(cell, &PROPERTY_TYPES),
                "Appartement",
                "{cell}"
            );
            assert_eq!(
                allowed_value(cell, &BUILDING_TYPES),
                "appartement",
                "{cell}"
            );
        }
        assert_eq!(allowed_value("Villa", &PROPERTY_TYPES), "Maison");
        assert_eq!(allowed_value("dependance", &PROPERTY_TYPES), "Dépendance");
        assert_eq!(allowed_value("terrain à bâtir", &PROPERTY_TYPES), "Terrain");
        assert_eq!(allowed_value("Yourte", &PROPERTY_TYPES), "Yourte");
        assert_eq!(allowed_value("T2", &[]), "T2");
        assert_eq!(allowed_value("d (180)", &CLASSES), "D");
        assert_eq!(allowed_value("Vierge", &CLASSES), "");
        assert_eq!(allowed_value("H", &CLASSES), "");
        assert_eq!(allowed_value("HH", &CLASSES), "HH");
    }
}
