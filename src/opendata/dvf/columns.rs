//! Finds the columns of a DVF file, by name in any spelling and order. Reads the 40-column geo-dvf format, also as
//! GeoParquet with a column of points, and the tax office's 43-column format.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::place::department;
use crate::source::cell::{code, padded, plain_name};
use crate::source::{Error, GeometryColumn, Header, SourceLocation, source_fields};

source_fields! {
    /// A value of a DVF row, with its name in geo-dvf and its name in the tax office's format.
    DvfField: [&str; 2] {
        Mutation = ["id_mutation", ""];
        Date = ["date_mutation", "date_mutation"];
        Disposition = ["numero_disposition", "no_disposition"];
        Nature = ["nature_mutation", "nature_mutation"];
        Price = ["valeur_fonciere", "valeur_fonciere"];
        StreetNumber = ["adresse_numero", "no_voie"];
        StreetSuffix = ["adresse_suffixe", "b_t_q"];
        StreetType = ["", "type_de_voie"];
        StreetName = ["adresse_nom_voie", "voie"];
        PostalCode = ["code_postal", "code_postal"];
        CommuneCode = ["code_commune", "code_commune"];
        CommuneName = ["nom_commune", "commune"];
        DepartmentCode = ["code_departement", "code_departement"];
        FormerCommune = ["ancien_code_commune", ""];
        Parcel = ["id_parcelle", ""];
        FormerParcel = ["ancien_id_parcelle", ""];
        ParcelPrefix = ["", "prefixe_de_section"];
        ParcelSection = ["", "section"];
        ParcelPlan = ["", "no_plan"];
        Volume = ["numero_volume", "no_volume"];
        Lot1 = ["lot1_numero", "1er_lot"];
        Lot2 = ["lot2_numero", "2eme_lot"];
        Lot3 = ["lot3_numero", "3eme_lot"];
        Lot4 = ["lot4_numero", "4eme_lot"];
        Lot5 = ["lot5_numero", "5eme_lot"];
        Carrez1 = ["lot1_surface_carrez", "surface_carrez_du_1er_lot"];
        Carrez2 = ["lot2_surface_carrez", "surface_carrez_du_2eme_lot"];
        Carrez3 = ["lot3_surface_carrez", "surface_carrez_du_3eme_lot"];
        Carrez4 = ["lot4_surface_carrez", "surface_carrez_du_4eme_lot"];
        Carrez5 = ["lot5_surface_carrez", "surface_carrez_du_5eme_lot"];
        LotCount = ["nombre_lots", "nombre_de_lots"];
        LocalCode = ["code_type_local", "code_type_local"];
        Local = ["type_local", "type_local"];
        BuiltSurface = ["surface_reelle_bati", "surface_reelle_bati"];
        Rooms = ["nombre_pieces_principales", "nombre_pieces_principales"];
        CultureCode = ["code_nature_culture", "nature_culture"];
        Culture = ["nature_culture", ""];
        SpecialCulture = ["code_nature_culture_speciale", "nature_culture_speciale"];
        LandSurface = ["surface_terrain", "surface_terrain"];
        Longitude = ["longitude", ""];
        Latitude = ["latitude", ""];
        Geometry = ["geometry", "geometry"];
        // Not published, but common in files from other programs: metres in Lambert-93 or in the overseas projection.
        X = ["x", "x"];
        Y = ["y", "y"];
    }
}

/// Published columns that records do not use; they are not reported as unknown.
#[rustfmt::skip]
const UNUSED: [&str; 13] = [
    "adresse_code_voie", "ancien_nom_commune", "nature_culture_speciale", "identifiant_de_document",
    "reference_document", "1_articles_cgi", "2_articles_cgi", "3_articles_cgi", "4_articles_cgi",
    "5_articles_cgi", "code_voie", "identifiant_local", "code_service_ch",
];

/// Columns that only geo-dvf has.
const GEO_ONLY: [&str; 6] = [
    "id_parcelle",
    "id_mutation",
    "numero_disposition",
    "adresse_numero",
    "adresse_nom_voie",
    "nom_commune",
];
/// Columns that only the tax office's format has.
const RAW_ONLY: [&str; 7] = [
    "no_disposition",
    "no_voie",
    "voie",
    "prefixe_de_section",
    "section",
    "no_plan",
    "1er_lot",
];
/// Other names of columns, in files that people changed.
const ALIASES: [(&str, &str); 9] = [
    ("date_de_mutation", "date_mutation"),
    ("nature_de_mutation", "nature_mutation"),
    ("surface_reelle_batie", "surface_reelle_bati"),
    ("surface_du_terrain", "surface_terrain"),
    ("nombre_de_pieces_principales", "nombre_pieces_principales"),
    ("lon", "longitude"),
    ("long", "longitude"),
    ("lng", "longitude"),
    ("lat", "latitude"),
];

/// Returns the normalised name of a column. R puts an `X` before a digit; people add units and write `N°` for `No`.
fn column_name(name: &str) -> String {
    let mut plain = plain_name(name);
    if plain
        .strip_prefix('x')
        .is_some_and(|rest| rest.starts_with(|character: char| character.is_ascii_digit()))
    {
        plain.remove(0);
    }
    if let Some(rest) = plain.strip_prefix("n_") {
        plain = format!("no_{rest}");
    }
    let units: &[&str] = match plain.as_str() {
        surface if surface.starts_with("surface") => &["_m2"],
        price if price.starts_with("valeur_fonciere") => &["_eur", "_euros"],
        _ => &[],
    };
    let without_unit = units.iter().find_map(|unit| plain.strip_suffix(unit));
    let plain = without_unit.unwrap_or(&plain);
    let alias = ALIASES.iter().find(|(other, _)| *other == plain);
    alias.map_or(plain, |(_, name)| name).to_owned()
}

/// The two published formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DvfForm {
    /// geo-dvf: with mutation numbers, parcel numbers and coordinates.
    Geo,
    /// The tax office's original format: without these, and with parcels in four columns.
    Raw,
}

/// The columns of one file.
#[derive(Clone, Debug)]
pub struct DvfColumns {
    /// Format of the file.
    pub form: DvfForm,
    positions: [Option<usize>; FIELDS.len()],
    /// Unknown columns.
    pub unknown: Vec<String>,
}

impl DvfColumns {
    /// Finds the columns in a header.
    ///
    /// # Errors
    ///
    /// A column that every sale needs is missing: date, nature, price, commune or type of building.
    pub fn find(header: &Header, file: &str) -> Result<Self, Error> {
        let plain: Vec<String> = header.names.iter().map(|name| plain_name(name)).collect();
        let loose: Vec<String> = header.names.iter().map(|name| column_name(name)).collect();
        let has_any = |names: &[&str]| {
            names
                .iter()
                .any(|name| loose.iter().any(|known| known == name))
        };
        let form = if has_any(&RAW_ONLY) && !has_any(&GEO_ONLY) {
            DvfForm::Raw
        } else {
            DvfForm::Geo
        };
        let mut positions = [None; FIELDS.len()];
        let mut used = vec![false; plain.len()];
        for (field, [geo, raw]) in FIELDS {
            let name = if form == DvfForm::Geo { geo } else { raw };
            let of = |names: &[String]| names.iter().position(|known| known == name);
            // Published names take precedence over those that people derive from them.
            let at = match &header.geometry {
                Some(named) if field == DvfField::Geometry => {
                    named.system.is_ok().then_some(named.index)
                }
                _ => of(&plain).or_else(|| of(&loose).filter(|at| !used[*at])),
            };
            if let Some(at) = at.filter(|_| !name.is_empty()) {
                positions[field as usize] = Some(at);
                used[at] = true;
            }
        }
        let columns = Self {
            form,
            positions,
            unknown: (0..plain.len())
                .filter(|at| !used[*at] && !UNUSED.contains(&loose[*at].as_str()))
                .map(|at| header.names[at].clone())
                .collect(),
        };
        columns.check(header, file)?;
        Ok(columns)
    }

    fn check(&self, header: &Header, file: &str) -> Result<(), Error> {
        let mut missing = Vec::new();
        for field in [
            DvfField::Date,
            DvfField::Nature,
            DvfField::Price,
            DvfField::CommuneCode,
        ] {
            if !self.has(field) {
                missing.push(FIELDS[field as usize].1[0]);
            }
        }
        if self.form == DvfForm::Raw && !self.has(DvfField::DepartmentCode) {
            missing.push("code_departement");
        }
        if !self.has(DvfField::Local) && !self.has(DvfField::LocalCode) {
            missing.push("type_local");
        }
        Error::check_missing(file, &missing, header)
    }

    /// Checks that the positions of the file can be read.
    ///
    /// # Errors
    ///
    /// They are only in geometries, in a reference system that is not read.
    pub fn check_geometry(&self, header: &Header, file: &str) -> Result<(), Error> {
        let others = [
            [DvfField::Longitude, DvfField::Latitude],
            [DvfField::X, DvfField::Y],
        ];
        let has_others = others
            .iter()
            .any(|pair| pair.iter().all(|it| self.has(*it)));
        match &header.geometry {
            Some(GeometryColumn {
                index,
                system: Err(reason),
            }) if !has_others => {
                let place = SourceLocation::file(file).column(&header.names[*index]);
                Err(Error::malformed(place, reason))
            }
            _ => Ok(()),
        }
    }

    /// Returns a note about a file without the columns that separate the sales of one day and price; `None` if it has one.
    pub fn separation_note(&self) -> Option<String> {
        if self.has(DvfField::Mutation) || self.has(DvfField::Disposition) {
            return None;
        }
        let disposition = self.name(DvfField::Disposition);
        let columns = match self.form {
            DvfForm::Geo => format!("id_mutation and {disposition}"),
            DvfForm::Raw => disposition.to_owned(),
        };
        Some(format!(
            "no column {columns}: several sales of one day, price and section may have become one; export the column if \
             the source has it"
        ))
    }

    /// Returns a note about a raw file with the rows of one commune only, given the communes and years of its rows. The tax
    /// office publishes no such file, so other rows were removed.
    pub fn commune_note(&self, places: &BTreeSet<(String, i32)>) -> Option<String> {
        let (commune, _) = places.first().filter(|_| self.form == DvfForm::Raw)?;
        let is_only = places.iter().all(|(other, _)| other == commune);
        is_only.then(|| {
            format!(
                "all rows are of the commune {commune}, and the tax office publishes the rows of all communes: sales that \
                 span communes lack rows, and rows that others separated may have become one sale; import the whole file, \
                 with --departments {}",
                department(commune)
            )
        })
    }

    /// Returns the position of a field's column in the file; `None` if the file has no such column.
    pub fn position(&self, field: DvfField) -> Option<usize> {
        self.positions[field as usize]
    }

    /// Returns the positions of the columns of all fields, in the order of the file.
    pub fn known_positions(&self) -> Vec<usize> {
        let mut known: Vec<usize> = self.positions.iter().copied().flatten().collect();
        known.sort_unstable();
        known
    }

    /// Returns whether the file has the column of a field.
    pub fn has(&self, field: DvfField) -> bool {
        self.position(field).is_some()
    }

    /// Returns the published name of a field's column in this file's format, for messages.
    pub fn name(&self, field: DvfField) -> &'static str {
        let (_, [geo, raw]) = FIELDS[field as usize];
        if self.form == DvfForm::Raw && !raw.is_empty() {
            raw
        } else {
            geo
        }
    }
}

/// Builds the INSEE code of a commune from the department (2 or 3 characters) and the commune number, with leading
/// zeros restored. Overseas departments have three characters, which leaves two for the commune number.
pub fn commune_code<'a>(form: DvfForm, department: &str, commune: &'a str) -> Cow<'a, str> {
    let commune = commune.trim();
    if form == DvfForm::Geo && (commune.len() > 3 || department.trim().is_empty()) {
        return code(commune, 5);
    }
    let department = code(department, 2);
    if department.is_empty() || commune.is_empty() {
        return Cow::Borrowed("");
    }
    let width = 5usize.saturating_sub(department.len());
    let commune = padded(commune, width);
    let tail = commune.len().saturating_sub(width);
    Cow::Owned(format!(
        "{department}{}",
        commune.get(tail..).unwrap_or_default()
    ))
}

/// Builds the 14-character parcel code from the tax office's parts; empty without a plan number or a full commune code.
pub fn parcel_code(commune: &str, prefix: &str, section: &str, plan: &str) -> String {
    let (prefix, section, plan) = (padded(prefix, 3), padded(section, 2), padded(plan, 4));
    if plan.is_empty() || commune.len() != 5 {
        return String::new();
    }
    format!("{commune}{prefix:0>3}{section:0>2}{plan:0>4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_under_the_names_that_people_and_programs_give_them() {
        for (name, expected) in [
            ("Valeur fonciere", "valeur_fonciere"),
            ("X1er.lot", "1er_lot"),
            ("x2eme_lot", "2eme_lot"),
            ("x", "x"),
            ("N° voie", "no_voie"),
            ("Surface réelle bâtie (m²)", "surface_reelle_bati"),
            ("Nombre de pièces principales", "nombre_pieces_principales"),
            ("lon", "longitude"),
            ("valeur_fonciere_m2", "valeur_fonciere_m2"),
        ] {
            assert_eq!(column_name(name), expected, "{name}");
        }
        let form = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let header = Header::new(names);
            DvfColumns::find(&header, "x.csv").unwrap().form
        };
        let raw = [
            "Date mutation",
            "Nature mutation",
            "Valeur fonciere",
            "Code departement",
            "Code commune",
            "Type local",
        ];
        assert_eq!(form(&[&raw[..], &["Section"]].concat()), DvfForm::Raw);
        assert_eq!(form(&[&raw[..], &["id_parcelle"]].concat()), DvfForm::Geo);
        assert_eq!(
            form(&[&raw[..], &["section", "adresse_numero"]].concat()),
            DvfForm::Geo
        );
    }

    #[test]
    fn a_file_without_the_columns_that_separate_sales_has_a_note() {
        let note = |names: &str| {
            let geo = format!(
                "date_mutation,nature_mutation,valeur_fonciere,code_commune,type_local,{names}"
            );
            let header = Header::new(geo.split(',').map(str::to_owned).collect());
            DvfColumns::find(&header, "x.csv")
                .unwrap()
                .separation_note()
        };
        let missing = note("id_parcelle").unwrap();
        assert!(
            missing.contains("id_mutation and numero_disposition"),
            "{missing}"
        );
        let missing = note("section,code_departement").unwrap();
        assert!(
            missing.starts_with("no column no_disposition:"),
            "{missing}"
        );
        for names in [
            "id_mutation",
            "numero_disposition",
            "no_disposition,code_departement",
        ] {
            assert_eq!(note(names), None, "{names}");
        }
    }

    #[test]
    fn commune_and_parcel_codes_are_built_from_their_parts() {
        assert_eq!(commune_code(DvfForm::Raw, "83", "137"), "83137");
        assert_eq!(commune_code(DvfForm::Raw, "1", "53"), "01053");
        assert_eq!(commune_code(DvfForm::Raw, "2A", "4"), "2A004");
        assert_eq!(commune_code(DvfForm::Raw, "971", "1"), "97101");
        assert_eq!(commune_code(DvfForm::Raw, "974", "411"), "97411");
        assert_eq!(commune_code(DvfForm::Geo, "1", "1053"), "01053");
        assert_eq!(commune_code(DvfForm::Geo, "", "75113"), "75113");
        assert_eq!(commune_code(DvfForm::Geo, "83", "83137"), "83137");
        assert_eq!(parcel_code("83137", "", "CY", "616"), "83137000CY0616");
        assert_eq!(parcel_code("01053", "12", "A", "7"), "010530120A0007");
        assert_eq!(parcel_code("67482", "", "1.0", "23.0"), "67482000010023");
        assert_eq!(parcel_code("01053", "", "A", ""), "");
    }

    #[test]
    fn all_missing_needed_columns_are_named() {
        let message = |names: &[&str]| {
            let header = Header::new(names.iter().map(|name| (*name).to_owned()).collect());
            DvfColumns::find(&header, "f.csv").unwrap_err().to_string()
        };
        assert_eq!(
            message(&["id_mutation", "date_mutation"]),
            "f.csv, line 1, column \"nature_mutation\": column missing, and valeur_fonciere, code_commune, type_local; \
             the header has id_mutation, date_mutation"
        );
        let row = message(&["2023-1", "2023-01-05", "Vente", "208000", "83137", "78,46"]);
        assert!(row.contains("; it looks like a row:"), "{row}");
    }
}
