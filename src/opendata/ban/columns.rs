//! Finds the columns of an address file by name, in any order: current and older columns of the base, columns of named
//! places, and columns of local bases.

use crate::source::cell::plain_name;
use crate::source::{Block, Error, Header, SourceLocation, source_fields};

/// Name of the column of house numbers.
const NUMBER: &str = "numero";

source_fields! {
    /// A value of a row, with its published names: current names first, then older ones, then those of local bases.
    BanField: &[&str] {
        Id = &["id", "id_ban"];
        Number = &[NUMBER];
        Suffix = &["rep", "suffixe"];
        Name = &["nom_voie", "nom_lieu_dit", "voie_nom", "toponyme", "nom"];
        PostalCode = &["code_postal", "code_post"];
        InseeCode = &["code_insee", "commune_insee", "code_commune"];
        City = &["nom_commune", "commune_nom"];
        FormerInseeCode = &["code_insee_ancienne_commune", "commune_deleguee_insee"];
        FormerCity = &["nom_ancienne_commune", "commune_deleguee_nom"];
        Lat = &["lat", "latitude"];
        Lon = &["lon", "long", "longitude"];
        X = &["x"];
        Y = &["y"];
        PositionType = &["type_position", "position"];
        Locality = &["nom_ld", "lieudit_complement_nom"];
        DeliveryLabel = &["libelle_acheminement"];
        Alias = &["alias"];
        Parcels = &["cad_parcelles"];
        Certified = &["certification_commune"];
        Source = &["source_position", "source"];
        // The first part is the code of the commune.
        Key = &["cle_interop"];
        // Local bases of version 1.5 may have no other identifiers.
        AddressId = &["id_ban_adresse"];
        PlaceId = &["id_ban_toponyme"];
        // Up to version 1.4, these identifiers with marks: `@c:… @v:… @a:…`.
        Marked = &["uid_adresse"];
    }
}

/// Prefixes of columns of local bases that hold a name in a regional language, such as `voie_nom_bre`.
const TRANSLATED: [&str; 4] = [
    "voie_nom_",
    "toponyme_",
    "commune_nom_",
    "lieudit_complement_nom_",
];

/// Maximum edit distance at which a column name counts as a misspelling of [`NUMBER`].
const MISSPELT_EDITS_MAX: usize = 2;

/// Maximum characters of a column name in a shapefile, which cuts off the others.
const CUT_CHARS: usize = 10;

/// Published columns that the table does not hold; they are not reported as unknown.
const UNUSED: [&str; 6] = [
    "id_fantoir",
    "nom_afnor",
    "source_nom_voie",
    "date_der_maj",
    "id_ban_commune",
    "commune_deleguee",
];

/// The columns of one file.
#[derive(Clone, Debug)]
pub struct BanColumns {
    positions: [Option<usize>; FIELDS.len()],
    /// Unknown columns.
    pub unknown: Vec<String>,
}

impl BanColumns {
    /// Finds the columns in a header.
    ///
    /// # Errors
    /// A column that every address needs is missing (identifier, name or commune), or the column of house numbers is
    /// misspelt. Without house numbers, every address would become a street.
    pub fn find(header: &Header, file: &str) -> Result<Self, Error> {
        let plain: Vec<String> = header.names.iter().map(|name| plain_name(name)).collect();
        let mut positions = [None; FIELDS.len()];
        for (field, names) in FIELDS {
            let mut found = names
                .iter()
                .filter_map(|name| plain.iter().position(|known| known == name));
            positions[field as usize] = found.next();
        }
        let mut missing = Vec::new();
        for (needed, name) in [
            (
                &[BanField::Id, BanField::Key, BanField::AddressId][..],
                "id",
            ),
            (&[BanField::Name], "nom_voie"),
            // Local bases of version 1.1 have the code in the key only.
            (&[BanField::InseeCode, BanField::Key], "code_insee"),
        ] {
            if needed
                .iter()
                .all(|field| positions[*field as usize].is_none())
            {
                missing.push(name);
            }
        }
        let cut = cut_names(header, &plain);
        if !missing.is_empty() && !cut.is_empty() {
            let reason = format!(
                "the names of columns are cut to {CUT_CHARS} characters, as in a shapefile; rename {}",
                cut.join(", ")
            );
            return Err(Error::malformed(SourceLocation::line(file, 1), reason));
        }
        Error::check_missing(file, &missing, header)?;
        let is_known = |at: usize| {
            let name = plain[at].as_str();
            positions.contains(&Some(at))
                || UNUSED.contains(&name)
                || TRANSLATED.iter().any(|begin| name.starts_with(begin))
        };
        let unknown: Vec<usize> = (0..plain.len()).filter(|at| !is_known(*at)).collect();
        let is_misspelt =
            |at: &&usize| strsim::levenshtein(&plain[**at], NUMBER) <= MISSPELT_EDITS_MAX;
        if positions[BanField::Number as usize].is_none()
            && let Some(at) = unknown.iter().find(is_misspelt)
        {
            let place = SourceLocation::line(file, 1).column(&header.names[*at]);
            let reason = format!("is this {NUMBER:?}, the house number? rename the column");
            return Err(Error::malformed(place, reason));
        }
        Ok(Self {
            unknown: unknown.iter().map(|at| header.names[*at].clone()).collect(),
            positions,
        })
    }

    /// Returns the position of a field in the file.
    pub fn position(&self, field: BanField) -> Option<usize> {
        self.positions[field as usize]
    }

    /// Returns the cell of a field without spaces around it; empty if the file has no such column.
    pub fn cell<'b>(&self, block: &'b Block, row: usize, field: BanField) -> &'b str {
        self.position(field)
            .map_or("", |at| block.cell(row, at).trim())
    }
}

/// Returns each name that is cut to [`CUT_CHARS`], with the whole name; `plain` are the normalised names of the header.
fn cut_names(header: &Header, plain: &[String]) -> Vec<String> {
    let mut cut = Vec::new();
    let known = || FIELDS.iter().flat_map(|(_, names)| names.iter());
    for (name, plain) in header.names.iter().zip(plain) {
        // `code_insee` is whole, although a longer name begins with it.
        if plain.len() != CUT_CHARS || known().any(|known| known == plain) {
            continue;
        }
        if let Some(whole) = known().find(|known| known.starts_with(plain.as_str())) {
            cut.push(format!("{name} to {whole}"));
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &str) -> BanColumns {
        let names = names.split(';').map(str::to_owned).collect();
        BanColumns::find(&Header::new(names), "f.csv").unwrap()
    }

    #[test]
    fn columns_of_every_form_are_found() {
        for names in [
            "id;id_fantoir;numero;rep;nom_voie;code_postal;code_insee;nom_commune;lon;lat",
            "id;nom_voie;id_fantoir;numero;rep;code_insee;code_post;alias;nom_ld;nom_afnor;x;y;lon;lat;nom_commune",
            "id;nom_lieu_dit;code_postal;code_insee;nom_commune;x;y;lon;lat",
            "uid_adresse;cle_interop;commune_insee;commune_nom;voie_nom;numero;suffixe;position;x;y;long;lat;source",
            "id_ban_commune;id_ban_toponyme;id_ban_adresse;cle_interop;commune_insee;commune_nom;toponyme;toponyme_bre;\
             numero;suffixe;position;x;y;long;lat;cad_parcelles;source;date_der_maj;certification_commune",
            // From R, where the identifier was renamed.
            "id_ban;id_fantoir;numero;rep;nom_voie;code_postal;code_insee;nom_commune;code_insee_ancienne_commune;lon;lat",
            // Local bases of versions 1.1 and 1.5.
            "cle_interop;uid_adresse;voie_nom;numero;suffixe;commune_nom;position;x;y;long;lat;source;date_der_maj",
            "id_ban_commune;id_ban_toponyme;id_ban_adresse;commune_insee;toponyme;numero;suffixe;commune_nom;position;\
             long;lat;x;y;source;date_der_maj",
        ] {
            let columns = found(names);
            assert_eq!(columns.unknown, [""; 0], "{names}");
            for field in [BanField::Name, BanField::Lat, BanField::Lon] {
                assert!(columns.position(field).is_some(), "{field:?} in {names}");
            }
        }
        assert_eq!(found("id;nom_voie;code_insee;extra").unknown, ["extra"]);
    }

    #[test]
    fn a_misspelt_column_of_house_numbers_is_an_error_that_names_it() {
        let names = "cle_interop;commune_insee;voie_nom;nulmero;long;lat".split(';');
        let names = names.map(str::to_owned).collect();
        let error = BanColumns::find(&Header::new(names), "bal.csv").unwrap_err();
        assert!(error.to_string().contains("nulmero"), "{error}");
        // A file of named places has no numbers.
        found("id;nom_lieu_dit;code_postal;code_insee;nom_commune;x;y;lon;lat");
    }

    #[test]
    fn names_cut_by_a_shapefile_are_an_error_that_names_the_whole_ones() {
        let names = "cle_intero;uid_adress;voie_nom;numero;suffixe;commune_no;commune_in;position";
        let names = names.split(';').map(str::to_owned).collect();
        let error = BanColumns::find(&Header::new(names), "bal.csv").unwrap_err();
        let renamed = "rename cle_intero to cle_interop, uid_adress to uid_adresse, commune_no to commune_nom, \
            commune_in to commune_insee";
        assert!(error.to_string().ends_with(renamed), "{error}");
    }

    #[test]
    fn a_file_without_an_identifier_is_an_error_that_names_the_column() {
        // `code_insee` has as many characters as a shapefile leaves of a name, and is whole.
        for names in ["numero;nom_voie", "nom;numero;nom_voie;code_insee"] {
            let header = Header::new(names.split(';').map(str::to_owned).collect());
            let error = BanColumns::find(&header, "f.csv").unwrap_err().to_string();
            assert!(
                error.contains("f.csv") && error.contains("column \"id\": column missing"),
                "{error}"
            );
        }
    }
}
