//! Parses one DVF row into values, for both published formats and for files altered by a spreadsheet.

use std::borrow::Cow;

use super::columns::{DvfColumns, DvfField, DvfForm, commune_code, parcel_code};
use super::place::{department, parcel_today, row_place};
use crate::conversion::{FAR_FROM_COMMUNE, distance_shown};
use crate::report::{ConversionFindings, unreadable_date};
use crate::source::cell::{code, day, decimal, euros, square_metres, whole};
use crate::source::{Block, SourceLocation, geometry};
use toise_contract::listings::codes::is_parcel_id;
use toise_geo::plausible::far_from_commune_m;
use toise_geo::projection::{in_france, to_degrees};

/// End of a parcel code without a plan number.
const NO_PLAN: &str = "0000";
/// Official values of `nature_mutation`.
const NATURES: [&str; 6] = [
    "Vente",
    "Vente en l'état futur d'achèvement",
    "Vente terrain à bâtir",
    "Echange",
    "Adjudication",
    "Expropriation",
];
/// Columns of the number and the Carrez surface of each lot.
const LOTS: [(DvfField, DvfField); 5] = [
    (DvfField::Lot1, DvfField::Carrez1),
    (DvfField::Lot2, DvfField::Carrez2),
    (DvfField::Lot3, DvfField::Carrez3),
    (DvfField::Lot4, DvfField::Carrez4),
    (DvfField::Lot5, DvfField::Carrez5),
];
/// Official values of `code_type_local`.
const LOCAL_CODES: [&str; 4] = ["1", "2", "3", "4"];
/// Official values of `code_nature_culture`.
const CULTURE_CODES: [&str; 27] = [
    "AB", "AG", "B", "BF", "BM", "BO", "BP", "BR", "BS", "BT", "CA", "CH", "E", "J", "L", "LB",
    "P", "PA", "PC", "PE", "PH", "PP", "S", "T", "TP", "VE", "VI",
];

/// Reason of a value that is a number where the register has a name, such as the codes of a factor in R.
const NOT_A_NAME: &str = "number in place of a name";
/// Why a file with such numbers as its only types of buildings is refused.
const TYPES_ARE_NUMBERS: &str = "is a number in place of Appartement, Maison, Dépendance or Local, and there is no \
    code_type_local: export the column as text";

/// Type of building in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Local {
    /// Maison.
    House,
    /// Appartement.
    Flat,
    /// Dépendance.
    Outbuilding,
    /// Local industriel, commercial ou assimilé.
    Premises,
}

/// The values of one row.
#[derive(Clone, Debug)]
pub struct DvfRow<'a> {
    /// Line in the source, from 1.
    pub line: u64,
    /// Identifier of the mutation, as published; empty in the tax office's format.
    pub mutation: &'a str,
    /// Day of the deed, days since 1970-01-01.
    pub day: i32,
    /// Disposition number within the deed, from 1; a missing one counts as the first.
    pub disposition: u32,
    /// Nature of the mutation, as published; a number says nothing about it.
    pub nature: &'a str,
    /// Price of the disposition, in cents.
    pub price_cents: Option<i64>,
    /// House number, suffix, type of street and name of street.
    pub street: [&'a str; 4],
    /// Postal code: five characters, or empty.
    pub postal_code: Cow<'a, str>,
    /// Current INSEE code of the commune.
    pub commune: Cow<'a, str>,
    /// INSEE code of the former commune in which the sale was; empty if there is none.
    pub former_commune: Cow<'a, str>,
    /// Current name of the commune; as published if its code is unknown.
    pub city: &'a str,
    /// Parcel under its current code: 14 characters, or empty.
    pub parcel: Cow<'a, str>,
    /// Whether the row has a volume number.
    pub volume: bool,
    /// Lot numbers without leading zeros, with their Carrez surfaces in m².
    pub lots: [(&'a str, Option<f64>); 5],
    /// Number of lots sold; only the first five have numbers.
    pub lot_count: u32,
    /// Type of building, if the row describes one.
    pub local: Option<Local>,
    /// Built surface, m²; `None` if it is missing or 0.
    pub built_m2: Option<f64>,
    /// Number of main rooms.
    pub rooms: Option<f64>,
    /// Code of the land use, and of its special use.
    pub culture: (&'a str, &'a str),
    /// Land surface, m².
    pub land_m2: Option<f64>,
    /// Latitude and longitude, degrees.
    pub position: Option<(f64, f64)>,
}

impl DvfRow<'_> {
    /// Returns the column and the value by which a report shows the row: the parcel, otherwise the price.
    pub fn report_value(&self) -> (&'static str, String) {
        if !self.parcel.is_empty() {
            return ("id_parcelle", self.parcel.to_string());
        }
        let price = self.price_cents.map(|cents| cents as f64 / 100.0);
        let price = price.map(|price| price.to_string());
        ("valeur_fonciere", price.unwrap_or_default())
    }
}

/// Parses one row of a file.
pub struct RowReader<'c, 'b> {
    /// Columns of the file.
    pub columns: &'c DvfColumns,
    /// Name of the file.
    pub file: &'c str,
    /// The block that contains the row.
    pub block: &'b Block,
    /// Index of the row in the block.
    pub row: usize,
}

impl<'b> RowReader<'_, 'b> {
    fn cell(&self, field: DvfField) -> &'b str {
        match self.columns.position(field) {
            Some(position) => self.block.cell(self.row, position).trim(),
            None => "",
        }
    }

    fn place(&self, field: DvfField) -> SourceLocation {
        SourceLocation::line(self.file, self.block.line(self.row)).column(self.columns.name(field))
    }

    /// Counts the row as rejected for the value of a field.
    fn reject(&self, reason: &'static str, field: DvfField, findings: &mut ConversionFindings) {
        findings.reject(reason, &self.place(field), self.cell(field));
    }

    /// Parses a number of at least 0; an invalid one is counted in `findings` and dropped.
    fn number(&self, field: DvfField, findings: &mut ConversionFindings) -> Option<f64> {
        let cell = self.cell(field);
        if cell.is_empty() {
            return None;
        }
        let number = square_metres(cell).filter(|number| *number >= 0.0);
        if number.is_none() {
            findings.drop_value("number unreadable or negative", &self.place(field), cell);
        }
        number
    }

    /// Parses a row; returns `None` and adds to `findings` if the row is rejected.
    ///
    /// A row is rejected for an unreadable date or price, or if neither its code nor its parcel names the commune. A
    /// missing price is accepted: exchanges and old deeds have none, and the sale still took place.
    pub fn read(&self, findings: &mut ConversionFindings) -> Option<DvfRow<'b>> {
        let cell = |field| self.cell(field);
        let date = cell(DvfField::Date);
        let Some(day) = day(date) else {
            let reason = if date.is_empty() {
                "date missing"
            } else {
                unreadable_date(date)
            };
            self.reject(reason, DvfField::Date, findings);
            return None;
        };
        let mut commune = commune_code(
            self.columns.form,
            cell(DvfField::DepartmentCode),
            cell(DvfField::CommuneCode),
        );
        if commune.is_empty() {
            commune = self.commune_of_parcel();
        }
        if commune.len() != 5 {
            let reason = if commune.is_empty() {
                "commune missing"
            } else {
                "commune code unreadable"
            };
            self.reject(reason, DvfField::CommuneCode, findings);
            return None;
        }
        let price = cell(DvfField::Price);
        let euros = euros(price).filter(|euros| (0.0..1e13).contains(euros));
        if euros.is_none() && !price.is_empty() {
            self.reject("price unreadable", DvfField::Price, findings);
            return None;
        }
        let type_local = cell(DvfField::Local);
        if is_number(type_local) && !self.columns.has(DvfField::LocalCode) {
            // Without types, all sales would be of other kinds and have other identifiers.
            let reason = format!("{type_local:?} {TYPES_ARE_NUMBERS}");
            findings.refuse(self.place(DvfField::Local), reason);
            return None;
        }
        self.check_lists(findings);
        let parcel = self.parcel(&commune, findings);
        let mut number = |field| self.number(field, findings);
        let lots = LOTS.map(|(lot, carrez)| (without_zeros(cell(lot)), number(carrez)));
        let numbered = lots.iter().filter(|(lot, _)| !lot.is_empty()).count() as u32;
        let former_commune = code(cell(DvfField::FormerCommune), 5);
        let place = row_place(commune, former_commune, &parcel);
        let lot_count = number(DvfField::LotCount).unwrap_or(0.0) as u32;
        let built_m2 = number(DvfField::BuiltSurface).filter(|surface| *surface > 0.0);
        let rooms = number(DvfField::Rooms);
        let land_m2 = number(DvfField::LandSurface).filter(|surface| *surface > 0.0);
        Some(DvfRow {
            line: self.block.line(self.row),
            mutation: cell(DvfField::Mutation),
            day,
            disposition: decimal(cell(DvfField::Disposition)).unwrap_or(0.0).max(1.0) as u32,
            nature: cell(DvfField::Nature),
            price_cents: euros.map(|euros| (euros * 100.0).round() as i64),
            street: [
                whole(cell(DvfField::StreetNumber)),
                cell(DvfField::StreetSuffix),
                cell(DvfField::StreetType),
                cell(DvfField::StreetName),
            ],
            postal_code: code(cell(DvfField::PostalCode), 5),
            city: match place.name {
                "" => cell(DvfField::CommuneName),
                name => name,
            },
            parcel,
            volume: !cell(DvfField::Volume).is_empty(),
            lots,
            lot_count: lot_count.max(numbered),
            local: local(cell(DvfField::LocalCode), type_local),
            built_m2,
            rooms,
            culture: (
                culture_code(cell(DvfField::CultureCode), cell(DvfField::Culture)),
                cell(DvfField::SpecialCulture),
            ),
            land_m2,
            position: self.position_in(&place.commune, findings),
            commune: place.commune,
            former_commune: place.former,
        })
    }

    /// Returns the commune at the start of the parcel, for a row without one; empty if there is no parcel. A program that
    /// takes `code_commune` for a number leaves out the codes of Corsica.
    fn commune_of_parcel(&self) -> Cow<'b, str> {
        let parcel = code(self.cell(DvfField::Parcel), 14);
        match parcel.get(..5) {
            Some(commune) if is_parcel_id(&parcel) => Cow::Owned(commune.to_owned()),
            _ => Cow::Borrowed(""),
        }
    }

    /// Returns the parcel of a row under its current code; empty if the row names none that can be read. The code before
    /// a merger is preferred, because earlier editions have it too.
    fn parcel(&self, commune: &str, findings: &mut ConversionFindings) -> Cow<'b, str> {
        let cell = |field| self.cell(field);
        let mut known = |field, parcel: Cow<'b, str>| {
            // geo-dvf writes zeros where the tax office names no parcel.
            if parcel.is_empty() || parcel.ends_with(NO_PLAN) {
                return None;
            }
            let parcel = if parcel.bytes().any(|byte| byte.is_ascii_lowercase()) {
                Cow::Owned(parcel.to_ascii_uppercase())
            } else {
                parcel
            };
            if is_parcel_id(&parcel) {
                return Some(parcel);
            }
            findings.drop_value("parcel unreadable", &self.place(field), &parcel);
            None
        };
        let parcel = match self.columns.form {
            DvfForm::Geo => [DvfField::FormerParcel, DvfField::Parcel]
                .into_iter()
                .find_map(|field| known(field, code(cell(field), 14))),
            DvfForm::Raw => {
                let built = parcel_code(
                    commune,
                    cell(DvfField::ParcelPrefix),
                    cell(DvfField::ParcelSection),
                    cell(DvfField::ParcelPlan),
                );
                known(DvfField::ParcelPlan, Cow::Owned(built))
            }
        };
        parcel.map_or(Cow::Borrowed(""), parcel_today)
    }

    /// Counts the values of a row that are not in the official list of their column.
    fn check_lists(&self, findings: &mut ConversionFindings) {
        let lists: [(DvfField, &[&str]); 3] = [
            (DvfField::Nature, &NATURES),
            (DvfField::LocalCode, &LOCAL_CODES),
            (DvfField::CultureCode, &CULTURE_CODES),
        ];
        for (field, list) in lists {
            let value = self.cell(field);
            if value.is_empty() || list.contains(&value) {
                continue;
            }
            if field == DvfField::Nature && is_number(value) {
                findings.drop_value(NOT_A_NAME, &self.place(field), value);
                continue;
            }
            // A spreadsheet adds decimals to codes; a word processor makes apostrophes curly.
            let plain = whole(value).replace('’', "'");
            if !list.contains(&&*plain) {
                findings.count_unlisted(self.columns.name(field), value);
            }
        }
        let value = self.cell(DvfField::Local);
        if !value.is_empty() && local("", value).is_none() {
            findings.count_unlisted(self.columns.name(DvfField::Local), value);
        }
    }

    /// Returns the position of a row, unless it is far from the commune.
    fn position_in(&self, commune: &str, findings: &mut ConversionFindings) -> Option<(f64, f64)> {
        let (lat, lon) = self.position(commune, findings)?;
        let Some(metres) = far_from_commune_m(commune, lat, lon) else {
            return Some((lat, lon));
        };
        let fields = [DvfField::Latitude, DvfField::Geometry, DvfField::X];
        let field = fields
            .into_iter()
            .find(|field| !self.cell(*field).is_empty());
        let place = self.place(field.unwrap_or(DvfField::Latitude));
        findings.drop_value(
            FAR_FROM_COMMUNE,
            &place,
            &distance_shown((lat, lon), metres, commune),
        );
        None
    }

    fn position(&self, commune: &str, findings: &mut ConversionFindings) -> Option<(f64, f64)> {
        let (lat, lon) = (
            self.cell(DvfField::Latitude),
            self.cell(DvfField::Longitude),
        );
        let geometry = self.cell(DvfField::Geometry);
        let mut leave_out = |reason, field, value: &str| {
            findings.drop_value(reason, &self.place(field), value);
        };
        let (position, field) = if !lat.is_empty() && !lon.is_empty() {
            (decimal(lat).zip(decimal(lon)), DvfField::Latitude)
        } else if geometry.is_empty() {
            return self.projected_position(commune, findings);
        } else if let Some(point) = geometry::parse(geometry) {
            (Some(point), DvfField::Geometry)
        } else {
            if self.cell(DvfField::X).is_empty() {
                let reason = "geometry not read: not one point";
                leave_out(reason, DvfField::Geometry, geometry);
            }
            return self.projected_position(commune, findings);
        };
        let position = position.filter(|(lat, lon)| lat.abs() <= 90.0 && lon.abs() <= 180.0);
        in_france_or_why(position, "position unreadable")
            .map_err(|reason| match field {
                DvfField::Geometry => leave_out(reason, field, geometry),
                _ => leave_out(reason, field, &format!("{lat}, {lon}")),
            })
            .ok()
    }

    /// Returns the position in the columns `x` and `y`: metres in the official projection of the department, or degrees.
    fn projected_position(
        &self,
        commune: &str,
        findings: &mut ConversionFindings,
    ) -> Option<(f64, f64)> {
        let (x, y) = (self.cell(DvfField::X), self.cell(DvfField::Y));
        if x.is_empty() || y.is_empty() {
            return None;
        }
        let position = decimal(x).zip(decimal(y)).and_then(|(x, y)| {
            if x.abs() <= 180.0 && y.abs() <= 90.0 {
                return Some((y, x));
            }
            to_degrees(department(commune), x, y).filter(|(lat, lon)| in_france(*lat, *lon))
        });
        in_france_or_why(
            position,
            "position unreadable: neither Lambert-93 nor degrees",
        )
        .map_err(|reason| {
            let place = self.place(DvfField::X);
            findings.drop_value(reason, &place, &format!("{x}, {y}"));
        })
        .ok()
    }
}

/// Returns a position if it is in France, otherwise the reason why it is left out; `unreadable` if there is none.
fn in_france_or_why(
    position: Option<(f64, f64)>,
    unreadable: &'static str,
) -> Result<(f64, f64), &'static str> {
    let (lat, lon) = position.ok_or(unreadable)?;
    if in_france(lat, lon) {
        Ok((lat, lon))
    } else if in_france(lon, lat) {
        Err("position outside France: latitude and longitude swapped?")
    } else {
        Err("position outside France")
    }
}

/// Returns whether a cell holds a number instead of a name.
pub(super) fn is_number(cell: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',');
    !cell.is_empty() && cell.bytes().all(is_sign)
}

/// Removes leading zeros: lot numbers with and without them mean the same lot.
fn without_zeros(lot: &str) -> &str {
    let trimmed = lot.trim_start_matches('0');
    let trimmed = whole(trimmed);
    if trimmed.is_empty() && !lot.is_empty() {
        "0"
    } else {
        trimmed
    }
}

fn local(local_code: &str, name: &str) -> Option<Local> {
    match local_code
        .split(['.', ','])
        .next()
        .map(str::trim)
        .unwrap_or_default()
    {
        "1" => return Some(Local::House),
        "2" => return Some(Local::Flat),
        "3" => return Some(Local::Outbuilding),
        "4" => return Some(Local::Premises),
        _ => {}
    }
    let first: String = name.chars().take(3).flat_map(char::to_lowercase).collect();
    match first.as_str() {
        "mai" => Some(Local::House),
        "app" => Some(Local::Flat),
        "dép" | "dep" => Some(Local::Outbuilding),
        "loc" => Some(Local::Premises),
        _ => None,
    }
}

/// Returns the code of the land use. Without a code, derives it from the name for the uses that a record distinguishes.
fn culture_code<'a>(culture_code: &'a str, name: &'a str) -> &'a str {
    if !culture_code.is_empty() {
        return culture_code;
    }
    match name {
        "sols" => "S",
        "jardins" => "J",
        "terrains d'agrément" | "terrains d'agrement" => "AG",
        other => other,
    }
}
